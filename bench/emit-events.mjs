/**
 * Commits events of organizations in a single transaction, each with its outbox row. One endpoint subscribes to each
 * event: the names are assigned to the organizations round robin.
 * Prints the time when the last outcome was stored, in milliseconds since 1970.
 * Usage: node emit-events.mjs <database url> <receiver> <organization ids> <count> <event name>...
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"

const [url, receiver, organizationIds, count, ...names] = process.argv.slice(2)
const organizations = organizationIds.split(",")
// Ordered by time, like the ids of the service.
const time = Date.now().toString(16).padStart(12, "0")
const newId = () => `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`

const client = new Client({ connectionString: url })
await client.connect()
const ids = Array.from({ length: Number(count) }, newId)
const types = ids.map((_, n) => names[n % names.length])
const owners = ids.map((_, n) => organizations[(n % names.length) % organizations.length])
// A statement for each table: Citus stores the events on its workers, and the outbox on the coordinator.
await client.query("BEGIN")
await client.query(
  `INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
  SELECT organization, id, type, now(), '{"id":"00000000-0000-7000-8000-000000000001","name":"system:platform"}',
    json_build_object('id', id, 'name', 'Customer ' || n, 'slug', 'customer-' || n)
  FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS new (organization, id, type, n)`,
  [owners, ids, types],
)
await client.query(
  `INSERT INTO event_arrivals (organization_id, event_id)
  SELECT organization, id FROM unnest($1::uuid[], $2::uuid[]) AS new (organization, id)`,
  [owners, ids],
)
await client.query(
  `INSERT INTO webhook_outbox (organization_id, event_id, due_at)
  SELECT organization, id, now() FROM unnest($1::uuid[], $2::uuid[]) AS new (organization, id)`,
  [owners, ids],
)
await client.query("COMMIT")
await client.query("NOTIFY keyshelf_signals, 'webhooks'")

// Poll the queue only after all requests arrived, so that polling does not slow down the deliveries.
const sent = async () => (await (await fetch(`${receiver}/stats`)).json()).count
while ((await sent()) < Number(count)) await sleep(20)
const hasPending = async () => {
  const { rows } = await client.query(
    "SELECT EXISTS (SELECT FROM webhook_queue WHERE organization_id = ANY($1)) AS pending",
    [organizations],
  )
  return rows[0].pending
}
while (await hasPending()) await sleep(5)
console.log(Date.now())
await client.end()
