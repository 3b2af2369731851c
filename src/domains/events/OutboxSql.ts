/** SQL that stores an event in the outbox along with the event itself. */
import { Context } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/**
 * The condition under which an event of an organization enters the outbox, in SQL; without it all events do. The
 * webhooks domain knows the subscribers, so the app provides it.
 */
export const OutboxCondition = Context.Reference<((sql: SqlClient, organizationId: string) => Fragment) | undefined>(
  "keyshelf.reference/events/OutboxCondition",
  { defaultValue: () => undefined },
)

/** The statement that inserts the event of the CTE `event` into the outbox, if its organization meets the condition. */
export const outboxInsertion =
  (sql: SqlClient, condition: typeof OutboxCondition.Service) =>
  (organizationId: string): Fragment =>
    sql`
    INSERT INTO webhook_outbox (organization_id, event_id, due_at)
    SELECT organization_id, id, occurred_at FROM event
    ${condition === undefined ? sql`` : sql`WHERE ${condition(sql, organizationId)}`}`
