/** SQL that stores an event, and in the outbox along with it. */
import type { PgClient } from "@effect/sql-pg"
import { Context } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { storedActor } from "./log/EventText.ts"
import { ownerOf, resourceOf } from "./Rules.ts"

/**
 * The condition under which an event of an organization enters the outbox, in SQL; without it all events do. The
 * webhooks domain knows the subscribers, so the app provides it.
 */
export const OutboxCondition = Context.Reference<
  ((sql: SqlClient, organizationId: OrganizationId) => Fragment) | undefined
>("keyshelf.reference/events/OutboxCondition", { defaultValue: () => undefined })

/** The table of the outbox, for its vacuum. */
export const OUTBOX = "webhook_outbox"

/** Selects when the first event in the outbox is due. */
export const firstDueInOutbox = "SELECT min(due_at) FROM webhook_outbox"

/** The statement that inserts the event of the CTE `event` into the outbox, if its organization meets the condition. */
export const outboxInsertion =
  (sql: SqlClient, condition: typeof OutboxCondition.Service) =>
  (organizationId: OrganizationId): Fragment =>
    sql`
    INSERT INTO webhook_outbox (organization_id, event_id, due_at)
    SELECT organization_id, id, occurred_at FROM event
    ${condition === undefined ? sql`` : sql`WHERE ${condition(sql, organizationId)}`}`

/** The statement that stores the event, once for each row of `from`. */
export const insertEvent = (sql: PgClient.PgClient, event: EventRecord, from: Fragment = sql.literal("")) => sql`
  INSERT INTO events (organization_id, id, type, occurred_at, actor, resource, owner, data, previous)
  SELECT ${event.organizationId}::uuid, ${event.id}::uuid, ${event.type}, ${event.timestamp}::timestamptz,
    ${sql.json(storedActor(event))}::jsonb, ${resourceOf(event.data)}, ${ownerOf(event.type, event.data)}, ${JSON.stringify(event.data)}::text::json,
    ${event.previous === undefined ? null : JSON.stringify(event.previous)}::text::json ${from}`
