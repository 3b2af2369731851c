/** Writes thousands of events as the service's transactions do. */
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import type { Installation, Tenant } from "./Installation.ts"

/** Events to write. */
interface BulkEvents {
  readonly count: number
  /** Prefix of the `name` in the events' data, followed by a number. */
  readonly marker: string
  /** Time of the first event; each further event is one millisecond later. */
  readonly from: Date
  /** Whether webhook endpoints receive them. */
  readonly isPending: boolean
}

/** Writes the events in one transaction. */
export const writeEvents = (
  { sql }: Installation,
  { organizationId }: Tenant,
  { count, from, isPending, marker }: BulkEvents,
) =>
  Effect.orDie(sql`
    WITH made AS (
      INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
      SELECT ${organizationId}, one.id, 'COMPONENT_CREATED', one.at, ${sql.json({ id: randomUUID(), name: "bulk" })},
        json_build_object('id', one.id, 'name', ${marker}::text || '-' || one.number)
      FROM (
        SELECT number, moment.at, (lpad(to_hex((extract(epoch FROM moment.at) * 1000)::bigint), 12, '0') || '7'
          || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid AS id
        FROM generate_series(1, ${count}::int) AS number
        CROSS JOIN LATERAL (SELECT ${from}::timestamptz + number * interval '1 millisecond' AS at) AS moment
      ) AS one
      RETURNING organization_id, id, occurred_at
    )
    INSERT INTO webhook_outbox (organization_id, event_id, due_at)
    SELECT organization_id, id, ${new Date()}::timestamptz FROM made WHERE ${isPending}::boolean`)

/** Signals all nodes that there is work, as a commit of events does. */
export const notifyNodes = ({ sql }: Pick<Installation, "sql">) =>
  Effect.orDie(sql`SELECT pg_notify('keyshelf_signals', 'tests webhooks')`)
