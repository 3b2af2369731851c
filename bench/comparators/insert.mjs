/**
 * The ceiling of usage events: 500 rows in one INSERT ... ON CONFLICT, several connections, for some seconds. Takes and answers
 * JSON like `load.mjs`.
 */
import { randomInt, randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"
import { Pool } from "pg"

const { connections, seconds, world } = JSON.parse(await text(process.stdin))
const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: connections })
// The tables of the service, by other names: their columns and indexes.
for (const table of ["usage_event_ids", "usage_events"]) {
  await pool.query(`CREATE TABLE IF NOT EXISTS bench_copy_of_${table} (LIKE ${table} INCLUDING ALL)`)
}

// What the service stores of a batch, without looking anything up, adding anything up or answering anything.
const INSERT = {
  name: "insert",
  text: `WITH sent AS (
      SELECT * FROM jsonb_to_recordset($3::jsonb)
        AS sent (id text, instance uuid, entitlement uuid, ordinal bigint, value numeric)
    ), ids AS (
      INSERT INTO bench_copy_of_usage_event_ids (organization_id, source, event_id, created_at, expires_at)
      SELECT $1::uuid, 'bench', id, $2::timestamptz, $2::timestamptz + interval '35 days' FROM sent
      ON CONFLICT DO NOTHING
    )
    INSERT INTO bench_copy_of_usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior,
      value, reported_at, reported_by)
    SELECT $1::uuid, instance, entitlement, date_trunc('month', $2::timestamptz), ordinal, $2::timestamptz, 'append', value,
      $2::timestamptz, '{"id":"00000000-0000-7000-8000-000000000001","name":"bench"}'
    FROM sent ON CONFLICT DO NOTHING`,
}

let ordinal = Date.now() * 1000
const things = Array.from({ length: world.instances * 10 }, () => [randomUUID(), randomUUID()])
const batch = () =>
  Array.from({ length: 500 }, () => {
    const [instance, entitlement] = things[randomInt(things.length)]
    return { id: randomUUID(), instance, entitlement, ordinal: ordinal++, value: 1 }
  })

const organizationId = randomUUID()
const deadline = Date.now() + seconds * 1000
const latencies = []
const work = async () => {
  while (Date.now() < deadline) {
    const started = performance.now()
    await pool.query({ ...INSERT, values: [organizationId, new Date(), JSON.stringify(batch())] })
    latencies.push(performance.now() - started)
  }
}
await Promise.all(Array.from({ length: connections }, work))
await pool.end()
latencies.sort((a, b) => a - b)
const at = (part) => Math.round(latencies[Math.floor(latencies.length * part)])
process.stdout.write(
  JSON.stringify({ perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), failures: 0 }),
)
