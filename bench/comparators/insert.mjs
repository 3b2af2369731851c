/**
 * The ceiling of usage events: 500 rows in one INSERT ... ON CONFLICT, several connections, for some seconds. Takes and answers
 * JSON like `load.mjs`.
 */
import { randomInt, randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"
import { Pool } from "pg"

const { connections, seconds, world } = JSON.parse(await text(process.stdin))
const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: connections })
await pool.query(`CREATE TABLE IF NOT EXISTS bench_usage_events (
  organization_id uuid NOT NULL, source text NOT NULL, event_id text NOT NULL, instance text NOT NULL,
  entitlement text NOT NULL, at timestamptz NOT NULL, value numeric NOT NULL,
  PRIMARY KEY (organization_id, source, event_id))`)

const INSERT = {
  name: "insert",
  text: `INSERT INTO bench_usage_events
    SELECT $1::uuid, 'bench', id, instance, entitlement, $2::timestamptz, value
    FROM jsonb_to_recordset($3::jsonb) AS sent (id text, instance text, entitlement text, value numeric)
    ON CONFLICT DO NOTHING`,
}

const batch = () =>
  Array.from({ length: 500 }, () => ({
    id: randomUUID(),
    instance: `instance-${1 + randomInt(world.instances)}`,
    entitlement: `entitlement-${1 + randomInt(10)}`,
    value: 1,
  }))

const deadline = Date.now() + seconds * 1000
const latencies = []
const work = async () => {
  while (Date.now() < deadline) {
    const started = performance.now()
    await pool.query({ ...INSERT, values: [randomUUID(), new Date(), JSON.stringify(batch())] })
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
