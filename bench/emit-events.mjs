/**
 * Commits events of one organization in a single transaction, each with its outbox row. One endpoint subscribes to each event.
 * Prints the time when the last outcome was stored, in milliseconds since 1970.
 * Usage: node emit-events.mjs <database url> <receiver> <organization id> <count> <event name>...
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"

const [url, receiver, organizationId, count, ...names] = process.argv.slice(2)
// Ordered by time, like the ids of the service.
const time = Date.now().toString(16).padStart(12, "0")
const newId = () => `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`

const client = new Client({ connectionString: url })
await client.connect()
await client.query(
  `WITH event AS (
    INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
    SELECT $1::uuid, id, ($3::text[])[1 + n % cardinality($3::text[])], now(),
      '{"id":"00000000-0000-7000-8000-000000000001","name":"system:platform"}',
      json_build_object('id', id, 'name', 'Customer ' || n, 'slug', 'customer-' || n)
    FROM unnest($2::uuid[]) WITH ORDINALITY AS new (id, n)
    RETURNING organization_id, id, occurred_at
  )
  INSERT INTO webhook_outbox (organization_id, event_id, due_at) SELECT organization_id, id, occurred_at FROM event`,
  [organizationId, Array.from({ length: Number(count) }, newId), names],
)
await client.query("NOTIFY keyshelf_signals, 'webhooks'")

// Poll the queue only after all requests arrived, so that polling does not slow down the deliveries.
const sent = async () => (await (await fetch(`${receiver}/stats`)).json()).count
while ((await sent()) < Number(count)) await sleep(20)
const hasPending = async () => {
  const { rows } = await client.query(
    "SELECT EXISTS (SELECT FROM webhook_queue WHERE organization_id = $1) AS pending",
    [organizationId],
  )
  return rows[0].pending
}
while (await hasPending()) await sleep(5)
console.log(Date.now())
await client.end()
