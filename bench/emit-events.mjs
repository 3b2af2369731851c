/**
 * Commits events of one organization at once, as a busy minute would, each with its outbox row. Each is subscribed to by one of
 * the endpoints. Usage: node emit-events.mjs <database url> <organization id> <count> <event name>...
 */
import { randomUUID } from "node:crypto"
import { Client } from "pg"

const [url, organizationId, count, ...names] = process.argv.slice(2)
// Ordered by time, as the service makes them.
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
    FROM unnest($2::uuid[]) WITH ORDINALITY AS made (id, n)
    RETURNING organization_id, id, occurred_at
  )
  INSERT INTO webhook_outbox (organization_id, event_id, due_at) SELECT organization_id, id, occurred_at FROM event`,
  [organizationId, Array.from({ length: Number(count) }, newId), names],
)
await client.query("NOTIFY keyshelf_signals, 'webhooks'")
await client.end()
