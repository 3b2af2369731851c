/**
 * Inserts 500 usage events per INSERT ... ON CONFLICT, by several connections, for some seconds: the upper bound. Reads and prints
 * JSON like `load.mjs`.
 */
import { createHash, randomInt, randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"
import { Pool } from "pg"

const { connections, seconds, world } = JSON.parse(await text(process.stdin))
const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: connections })
// Stores the same rows of a batch as the service, without lookups, totals or results.
const INSERT = {
  name: "insert",
  text: `WITH sent AS (
      SELECT * FROM jsonb_to_recordset($3::jsonb)
        AS sent (id text, instance uuid, entitlement uuid, ordinal bigint, value numeric)
    ), ids AS (
      INSERT INTO usage_event_ids (organization_id, source, event_id, created_at, expires_at)
      SELECT $1::uuid, 'bench', id, $2::timestamptz, $2::timestamptz + interval '35 days' FROM sent
      ON CONFLICT DO NOTHING
    )
    INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior,
      value, reported_at, reported_by)
    SELECT $1::uuid, instance, entitlement, date_trunc('month', $2::timestamptz), ordinal, $2::timestamptz, 'append', value,
      $2::timestamptz, '{"id":"00000000-0000-7000-8000-000000000001","name":"bench"}'
    FROM sent ON CONFLICT DO NOTHING`,
}

// Uses the service's tables, because empty tables accept rows faster, and an organization without other load.
let ordinal = Date.now() * 1000
const uuid = (text) =>
  createHash("md5")
    .update(text)
    .digest("hex")
    .replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
const organization = world.organizations
const organizationId = uuid(`o${organization}`)
const meters = Array.from({ length: world.instances * 10 }, (_, n) => [
  uuid(`i${organization}-${1 + Math.floor(n / 10)}`),
  uuid(`e${organization}-${1 + (n % 10)}`),
])
const batch = () =>
  Array.from({ length: 500 }, () => {
    const [instance, entitlement] = meters[randomInt(meters.length)]
    return { id: randomUUID(), instance, entitlement, ordinal: ordinal++, value: 1 }
  })

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
