/** SQL of the outbox: committed events that wait for a provider to publish them. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import type { StoredEvent } from "./log/EventText.ts"
import { inEachOrganization } from "../../kernel/database/DueOrganizations.ts"
import { column, executed, hasCitus, records } from "../../kernel/database/Statements.ts"

/** Identifies an event of the outbox. */
interface OutboxKey {
  readonly organizationId: string
  readonly eventId: string
}

/** A waiting event, without its content. */
export interface OutboxEntry extends OutboxKey {
  /** The location of the row, valid while the row is locked. */
  readonly rowLocation: string
  /** `null` if the event is no longer stored. */
  readonly type: string | null
  readonly occurredAt: Date | null
}

/** An entry that an external provider has claimed. `claims` counts its claims, this one included. */
export type OutboxClaim = OutboxKey & { readonly claims: number; readonly dueAt: Date }

type LockedKey = Omit<OutboxEntry, "type" | "occurredAt">

/** The time in milliseconds after which an event that was not visible yet is due again. */
const UNCOMMITTED_DELAY_MS = 250

// Bounds the lists of organizations in the statements that follow.
const MAX_ORGANIZATIONS = 64

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)
  const keyRows = (keys: ReadonlyArray<OutboxKey>) => sql`
    unnest(
      (SELECT ${column("uuid", keys, ({ organizationId }) => organizationId)}),
      ${column("uuid", keys, ({ eventId }) => eventId)}
    ) AS key ("organizationId", "eventId")`

  /** The oldest due rows of each organization, locked, as `due`. Skips rows that another node has locked. */
  const dueRows = (organizationIds: ReadonlyArray<string>, at: Date, perOrganization: number) => sql`
    unnest(${organizationIds}::uuid[]) AS waiting (organization_id)
    CROSS JOIN LATERAL (
      SELECT organization_id, event_id, ctid AS location FROM webhook_outbox
      WHERE webhook_outbox.organization_id = waiting.organization_id AND webhook_outbox.due_at <= ${at}
      ORDER BY event_id LIMIT ${perOrganization} FOR UPDATE SKIP LOCKED
    ) AS due`

  /**
   * Of events that were not found, those that may still become visible. Citus commits their outbox rows on the coordinator first, and
   * the events themselves a moment later, or when their worker is back. Those of a removed organization are not waited for.
   */
  const findUncommitted = Effect.fnUntraced(function* <Key extends OutboxKey>(missing: ReadonlyArray<Key>) {
    if (!isSharded || missing.length === 0) return []
    const ids = [...new Set(missing.map(({ organizationId }) => organizationId))]
    const rows = yield* records<{ id: string }>()(
      sql`SELECT id FROM organizations WHERE id = ANY(${ids}::uuid[]) AND removed_at IS NULL`,
    )
    const existing = new Set(rows.map(({ id }) => id))
    return missing.filter(({ organizationId }) => existing.has(organizationId))
  })

  const lockDueByShard = Effect.fnUntraced(function* (
    organizationIds: ReadonlyArray<string>,
    at: Date,
    perOrganization: number,
  ) {
    const due = yield* records<LockedKey>()(sql`
      SELECT due.organization_id AS "organizationId", due.event_id AS "eventId", due.location::text AS "rowLocation"
      FROM ${dueRows(organizationIds, at, perOrganization)}`)
    const events = yield* inEachOrganization(
      due,
      (key) => key.organizationId,
      (organizationId, own) =>
        records<{ id: string; type: string; occurredAt: Date }>()(sql`
          SELECT id, type, occurred_at AS "occurredAt" FROM events
          WHERE organization_id = ${organizationId} AND id = ANY(${own.map(({ eventId }) => eventId)}::uuid[])`),
    )
    const found = new Map(
      events.map(({ id, ...event }): [string, Pick<OutboxEntry, "type" | "occurredAt">] => [id, event]),
    )
    const uncommitted = new Set(yield* findUncommitted(due.filter(({ eventId }) => !found.has(eventId))))
    if (uncommitted.size > 0) {
      const locations = [...uncommitted].map(({ rowLocation }) => rowLocation)
      yield* executed(sql`
        UPDATE webhook_outbox SET due_at = ${new Date(at.getTime() + UNCOMMITTED_DELAY_MS)}
        WHERE ctid = ANY(${locations}::text[]::tid[])`)
    }
    return due
      .filter((key) => !uncommitted.has(key))
      .map((key): OutboxEntry => ({ ...key, ...(found.get(key.eventId) ?? { type: null, occurredAt: null }) }))
  })

  /** Reads events with their content. */
  const contents = (from: Fragment, condition: Fragment) => sql`
    SELECT event.id, event.type, event.occurred_at AS "timestamp", event.organization_id AS "organizationId",
      event.actor, event.data::text AS data, event.previous::text AS previous
    FROM ${from} WHERE ${condition}`

  const findByShard = (keys: ReadonlyArray<OutboxKey>) =>
    inEachOrganization(
      keys,
      (key) => key.organizationId,
      (organizationId, own) =>
        records<StoredEvent>()(
          contents(
            sql`events event`,
            sql`event.organization_id = ${organizationId} AND event.id = ANY(${own.map(({ eventId }) => eventId)}::uuid[])
            AND NOT ${sql.literal(isRemoved("event.organization_id"))}`,
          ),
        ),
    )

  return {
    findUncommitted,

    /** Finds up to 64 organizations with waiting events, by id, after the given one. */
    findOrganizationsAfter: (organizationId: string) =>
      Effect.map(
        records<{ organizationId: string }>()(sql`
          WITH RECURSIVE waiting AS (
            SELECT first.organization_id, 1 AS number FROM (
              SELECT organization_id FROM webhook_outbox WHERE organization_id > ${organizationId}
              ORDER BY organization_id LIMIT 1) AS first
            UNION ALL
            SELECT (SELECT next.organization_id FROM webhook_outbox next
              WHERE next.organization_id > waiting.organization_id ORDER BY next.organization_id LIMIT 1), number + 1
            FROM waiting WHERE waiting.organization_id IS NOT NULL AND number < ${MAX_ORGANIZATIONS}
          )
          SELECT organization_id AS "organizationId" FROM waiting WHERE organization_id IS NOT NULL`),
        (rows) => rows.map((row) => row.organizationId),
      ),

    /** Locks the oldest due events of each organization. Skips events that another node has locked. */
    lockDue: (organizationIds: ReadonlyArray<string>, at: Date, perOrganization: number) =>
      isSharded
        ? lockDueByShard(organizationIds, at, perOrganization)
        : records<OutboxEntry>()(sql`
        SELECT due.organization_id AS "organizationId", due.event_id AS "eventId", due.location::text AS "rowLocation", event.type,
          event.occurred_at AS "occurredAt"
        FROM ${dueRows(organizationIds, at, perOrganization)}
        LEFT JOIN events event ON event.organization_id = due.organization_id AND event.id = due.event_id`),

    /**
     * Deletes events that this transaction locked, by the locations of their rows. By its keys, a table that was empty
     * a moment ago would be compared row by row with every key.
     */
    deleteLocked: (entries: ReadonlyArray<OutboxEntry>) =>
      Effect.asVoid(
        Effect.orDie(
          sql`DELETE FROM webhook_outbox WHERE ctid = ANY(${entries.map(({ rowLocation }) => rowLocation)}::text[]::tid[])`,
        ),
      ),

    /** Deletes a published event. */
    delete: ({ eventId, organizationId }: OutboxKey) =>
      Effect.asVoid(
        Effect.orDie(
          sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId} AND event_id = ${eventId}`,
        ),
      ),

    /** Claims the oldest due events of each organization until the given time. */
    claimDue: (
      organizationIds: ReadonlyArray<string>,
      claim: { readonly at: Date; readonly until: Date; readonly perOrganization: number },
    ) =>
      records<OutboxClaim>()(sql`
        WITH due AS MATERIALIZED (
          SELECT chosen.location FROM unnest(${organizationIds}::uuid[]) AS waiting (organization_id)
          CROSS JOIN LATERAL (
            SELECT webhook_outbox.ctid AS location FROM webhook_outbox
            WHERE webhook_outbox.organization_id = waiting.organization_id AND webhook_outbox.due_at <= ${claim.at}
            ORDER BY event_id LIMIT ${claim.perOrganization} FOR UPDATE SKIP LOCKED
          ) AS chosen
        )
        UPDATE webhook_outbox SET due_at = ${claim.until}, claims = least(claims + 1, 30000)
        WHERE ctid = ANY(ARRAY(SELECT location FROM due))
        RETURNING organization_id AS "organizationId", event_id AS "eventId", claims, due_at AS "dueAt"`),

    /** Postpones a claimed event, unless another claim has it by now. */
    postpone: ({ dueAt, eventId, organizationId }: OutboxClaim, until: Date) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE webhook_outbox SET due_at = ${until}
          WHERE organization_id = ${organizationId} AND event_id = ${eventId} AND due_at = ${dueAt}`),
      ),

    /** Reads the events with their content. Events that are no longer stored, and those of removed organizations, are missing. */
    findEvents: (keys: ReadonlyArray<OutboxKey>) =>
      isSharded
        ? findByShard(keys)
        : records<StoredEvent>()(
            contents(
              sql`${keyRows(keys)}
                JOIN events event ON event.organization_id = key."organizationId" AND event.id = key."eventId"`,
              sql`NOT ${sql.literal(isRemoved("event.organization_id"))}`,
            ),
          ),
  }
})

/** Events that wait for a provider. */
export class Outbox extends Context.Service<Outbox, Effect.Success<typeof make>>()("keyshelf/events/Outbox") {
  static readonly layer = Layer.effect(Outbox, make)
}
