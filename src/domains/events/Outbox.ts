/** SQL of the outbox: committed events that wait for a provider to publish them. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import type { StoredEvent } from "./log/EventText.ts"
import { column, decoded, decodedColumn, executed, records } from "../../kernel/database/Statements.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Identifies an event of the outbox. */
const OutboxKey = Schema.Struct({ organizationId: OrganizationId, eventId: Schema.String })
export type OutboxKey = typeof OutboxKey.Type

/** A waiting event, without its content. */
export const OutboxEntry = Schema.Struct({
  ...OutboxKey.fields,
  /** The location of the row, valid while the row is locked. */
  rowLocation: Schema.String,
  /** `null` if the event is no longer stored. */
  type: Schema.NullOr(Schema.String),
  occurredAt: Schema.NullOr(Schema.Date),
})
export type OutboxEntry = typeof OutboxEntry.Type

/** An entry that an external provider has claimed. `claims` counts its claims, this one included. */
const OutboxClaim = Schema.Struct({ ...OutboxKey.fields, claims: Schema.Int, dueAt: Schema.Date })
export type OutboxClaim = typeof OutboxClaim.Type

interface OutboxQueries {
  /**
   * Of events that were not found, those that may still become visible. On one server there are none: an event commits together with
   * its outbox row.
   */
  readonly findUncommitted: <Key extends OutboxKey>(missing: ReadonlyArray<Key>) => Effect.Effect<ReadonlyArray<Key>>
  /** Finds up to 64 organizations with waiting events, by id, after the given one. */
  readonly findOrganizationsAfter: (organizationId: OrganizationId) => Effect.Effect<ReadonlyArray<OrganizationId>>
  /** Locks the oldest due events of each organization. Skips events that another node has locked. */
  readonly lockDue: (
    organizationIds: ReadonlyArray<OrganizationId>,
    at: Date,
    perOrganization: number,
  ) => Effect.Effect<ReadonlyArray<OutboxEntry>>
  /**
   * Deletes events that this transaction locked, by the locations of their rows. By its keys, a table that was empty
   * a moment ago would be compared row by row with every key.
   */
  readonly deleteLocked: (entries: ReadonlyArray<OutboxEntry>) => Effect.Effect<void>
  /** Deletes a published event. */
  readonly delete: (key: OutboxKey) => Effect.Effect<void>
  /** Claims the oldest due events of each organization until the given time. */
  readonly claimDue: (
    organizationIds: ReadonlyArray<OrganizationId>,
    claim: { readonly at: Date; readonly until: Date; readonly perOrganization: number },
  ) => Effect.Effect<ReadonlyArray<OutboxClaim>>
  /** Postpones a claimed event, unless another claim has it by now. */
  readonly postpone: (claim: OutboxClaim, until: Date) => Effect.Effect<void>
  /** Reads the events with their content. Events that are no longer stored, and those of removed organizations, are missing. */
  readonly findEvents: (keys: ReadonlyArray<OutboxKey>) => Effect.Effect<ReadonlyArray<StoredEvent>>
}

// Bounds the lists of organizations in the statements that follow.
const MAX_ORGANIZATIONS = 64

/** The oldest due rows of each organization, locked, as `due`. Skips rows that another node has locked. */
export const dueRows = (
  sql: SqlClient,
  organizationIds: ReadonlyArray<OrganizationId>,
  at: Date,
  perOrganization: number,
) => sql`
  unnest(${organizationIds}::uuid[]) AS waiting (organization_id)
  CROSS JOIN LATERAL (
    SELECT organization_id, event_id, ctid AS location FROM webhook_outbox
    WHERE webhook_outbox.organization_id = waiting.organization_id AND webhook_outbox.due_at <= ${at}
    ORDER BY event_id LIMIT ${perOrganization} FOR UPDATE SKIP LOCKED
  ) AS due`

/** The statement that reads events with their content. */
export const contents = (sql: SqlClient, from: Fragment, condition: Fragment) => sql`
  SELECT event.id, event.type, event.occurred_at AS "timestamp", event.organization_id AS "organizationId",
    event.actor, event.data::text AS data, event.previous::text AS previous
  FROM ${from} WHERE ${condition}`

const organizationIdsIn = decodedColumn("organization_id", OrganizationId)

const waitingEvents = (sql: PgClient.PgClient) => {
  const keyRows = (keys: ReadonlyArray<OutboxKey>) => sql`
    unnest(
      (SELECT ${column("uuid", keys, ({ organizationId }) => organizationId)}),
      ${column("uuid", keys, ({ eventId }) => eventId)}
    ) AS key ("organizationId", "eventId")`

  return {
    findUncommitted: () => Effect.succeed([]),

    findOrganizationsAfter: (organizationId: OrganizationId) =>
      organizationIdsIn(sql`
        WITH RECURSIVE waiting AS (
          SELECT first.organization_id, 1 AS number FROM (
            SELECT organization_id FROM webhook_outbox WHERE organization_id > ${organizationId}
            ORDER BY organization_id LIMIT 1) AS first
          UNION ALL
          SELECT (SELECT next.organization_id FROM webhook_outbox next
            WHERE next.organization_id > waiting.organization_id ORDER BY next.organization_id LIMIT 1), number + 1
          FROM waiting WHERE waiting.organization_id IS NOT NULL AND number < ${MAX_ORGANIZATIONS}
        )
        SELECT organization_id FROM waiting WHERE organization_id IS NOT NULL`),

    lockDue: (organizationIds: ReadonlyArray<OrganizationId>, at: Date, perOrganization: number) =>
      decoded(OutboxEntry)(sql`
        SELECT due.organization_id AS "organizationId", due.event_id AS "eventId", due.location::text AS "rowLocation", event.type,
          event.occurred_at AS "occurredAt"
        FROM ${dueRows(sql, organizationIds, at, perOrganization)}
        LEFT JOIN events event ON event.organization_id = due.organization_id AND event.id = due.event_id`),

    deleteLocked: (entries: ReadonlyArray<OutboxEntry>) =>
      executed(
        sql`DELETE FROM webhook_outbox WHERE ctid = ANY(${entries.map(({ rowLocation }) => rowLocation)}::text[]::tid[])`,
      ),

    findEvents: (keys: ReadonlyArray<OutboxKey>) =>
      records<StoredEvent>()(
        contents(
          sql,
          sql`${keyRows(keys)}
            JOIN events event ON event.organization_id = key."organizationId" AND event.id = key."eventId"`,
          sql`NOT ${sql.literal(isRemoved("event.organization_id"))}`,
        ),
      ),
  } satisfies Partial<OutboxQueries>
}

/** How an external provider takes events. */
const claims = (sql: PgClient.PgClient) =>
  ({
    claimDue: (
      organizationIds: ReadonlyArray<OrganizationId>,
      claim: { readonly at: Date; readonly until: Date; readonly perOrganization: number },
    ) =>
      decoded(OutboxClaim)(sql`
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

    postpone: ({ dueAt, eventId, organizationId }: OutboxClaim, until: Date) =>
      executed(sql`
        UPDATE webhook_outbox SET due_at = ${until}
        WHERE organization_id = ${organizationId} AND event_id = ${eventId} AND due_at = ${dueAt}`),

    delete: ({ eventId, organizationId }: OutboxKey) =>
      executed(sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId} AND event_id = ${eventId}`),
  }) satisfies Partial<OutboxQueries>

const make = Effect.map(PgClient.PgClient, (sql) => ({ ...waitingEvents(sql), ...claims(sql) }) satisfies OutboxQueries)

/** Events that wait for a provider. */
export class Outbox extends Context.Service<Outbox, OutboxQueries>()("keyshelf/events/Outbox") {
  static readonly layer = Layer.effect(Outbox, make)
}
