/** SQL of the outbox: events that committed and still wait to be handed to a provider. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { EventRecord } from "../../kernel/contract/Event.ts"
import { column, eventRecords, records } from "../../kernel/database/Statements.ts"

/** Names an event of the outbox. */
export interface OutboxKey {
  readonly organizationId: string
  readonly eventId: string
}

/** An event that waits, without its content. */
export interface OutboxEntry extends OutboxKey {
  /** Where its row is, as long as that is locked. */
  readonly place: string
  /** `null` if the event is no longer kept. */
  readonly type: string | null
  readonly occurredAt: Date | null
}

/** A claimed entry of an external provider; `claims` counts the tries, this one included. */
export type OutboxClaim = OutboxKey & { readonly claims: number; readonly dueAt: Date }

/**
 * Which events enter the outbox: a condition of SQL on the row `event`. Without one all events do. Another domain knows who
 * subscribes, so the app provides it.
 */
export const OutboxCondition = Context.Reference<string | undefined>("keyshelf.reference/events/OutboxCondition", {
  defaultValue: () => undefined,
})

/** The statement that stores the outbox row of the event in the CTE `event`, if it meets the condition. */
export const outboxInsertion = (condition: string | undefined): string =>
  `INSERT INTO webhook_outbox (organization_id, event_id, due_at)
    SELECT organization_id, id, occurred_at FROM event${condition === undefined ? "" : ` WHERE ${condition}`}`

const MOST_ORGANIZATIONS = 64

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const keyRows = (keys: ReadonlyArray<OutboxKey>) => sql`
    unnest(
      (SELECT ${column("uuid", keys, ({ organizationId }) => organizationId)}),
      ${column("uuid", keys, ({ eventId }) => eventId)}
    ) AS key ("organizationId", "eventId")`

  return {
    /** Organizations with waiting events, in turns: those behind the given one, at most 64. */
    organizationsAfter: (organizationId: string) =>
      Effect.map(
        records<{ organizationId: string }>()(sql`
          WITH RECURSIVE waiting AS (
            SELECT first.organization_id, 1 AS number FROM (
              SELECT organization_id FROM webhook_outbox WHERE organization_id > ${organizationId}
              ORDER BY organization_id LIMIT 1) AS first
            UNION ALL
            SELECT (SELECT next.organization_id FROM webhook_outbox next
              WHERE next.organization_id > waiting.organization_id ORDER BY next.organization_id LIMIT 1), number + 1
            FROM waiting WHERE waiting.organization_id IS NOT NULL AND number < ${MOST_ORGANIZATIONS}
          )
          SELECT organization_id AS "organizationId" FROM waiting WHERE organization_id IS NOT NULL`),
        (rows) => rows.map((row) => row.organizationId),
      ),

    /** Locks due events of these organizations, the oldest of each, passing over what another node has. */
    lockDue: (organizationIds: ReadonlyArray<string>, at: Date, perOrganization: number) =>
      records<OutboxEntry>()(sql`
        SELECT due.organization_id AS "organizationId", due.event_id AS "eventId", due.place::text AS place, event.type,
          event.occurred_at AS "occurredAt"
        FROM unnest(${organizationIds}::uuid[]) AS waiting (organization_id)
        CROSS JOIN LATERAL (
          SELECT organization_id, event_id, ctid AS place FROM webhook_outbox
          WHERE webhook_outbox.organization_id = waiting.organization_id AND webhook_outbox.due_at <= ${at}
          ORDER BY event_id LIMIT ${perOrganization} FOR UPDATE SKIP LOCKED
        ) AS due
        LEFT JOIN events event ON event.organization_id = due.organization_id AND event.id = due.event_id`),

    /**
     * Deletes events that this transaction locked. By their places: of a table that was empty a moment ago the planner expects
     * so little that it would compare all rows with all keys.
     */
    deleteLocked: (entries: ReadonlyArray<OutboxEntry>) =>
      Effect.asVoid(
        Effect.orDie(
          sql`DELETE FROM webhook_outbox WHERE ctid = ANY(${entries.map(({ place }) => place)}::text[]::tid[])`,
        ),
      ),

    delete: ({ eventId, organizationId }: OutboxKey) =>
      Effect.asVoid(
        Effect.orDie(
          sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId} AND event_id = ${eventId}`,
        ),
      ),

    /** Claims due events of these organizations until the given time. */
    claimDue: (
      organizationIds: ReadonlyArray<string>,
      claim: { readonly at: Date; readonly until: Date; readonly perOrganization: number },
    ) =>
      records<OutboxClaim>()(sql`
        WITH due AS MATERIALIZED (
          SELECT chosen.place FROM unnest(${organizationIds}::uuid[]) AS waiting (organization_id)
          CROSS JOIN LATERAL (
            SELECT webhook_outbox.ctid AS place FROM webhook_outbox
            WHERE webhook_outbox.organization_id = waiting.organization_id AND webhook_outbox.due_at <= ${claim.at}
            ORDER BY event_id LIMIT ${claim.perOrganization} FOR UPDATE SKIP LOCKED
          ) AS chosen
        )
        UPDATE webhook_outbox SET due_at = ${claim.until}, claims = least(claims + 1, 30000)
        WHERE ctid = ANY(ARRAY(SELECT place FROM due))
        RETURNING organization_id AS "organizationId", event_id AS "eventId", claims, due_at AS "dueAt"`),

    /** Lets a claimed event wait until then, unless another claim has it now. */
    postpone: ({ dueAt, eventId, organizationId }: OutboxClaim, until: Date) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_outbox SET due_at = ${until}
          WHERE organization_id = ${organizationId} AND event_id = ${eventId} AND due_at = ${dueAt}`),
      ),

    /** The events themselves; those no longer kept are missing. */
    events: (keys: ReadonlyArray<OutboxKey>) =>
      eventRecords<EventRecord>()(sql`
        SELECT event.id, event.type, event.occurred_at AS "timestamp", event.organization_id AS "organizationId",
          event.actor, event.data::text AS data
        FROM ${keyRows(keys)}
        JOIN events event ON event.organization_id = key."organizationId" AND event.id = key."eventId"`),
  }
})

/** Rows of the outbox. */
export class OutboxRepo extends Context.Service<OutboxRepo, Effect.Success<typeof make>>()(
  "keyshelf/events/OutboxRepo",
) {
  static readonly layer = Layer.effect(OutboxRepo, make)
}
