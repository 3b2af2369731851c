/** SQL of the ids by which a request is counted once: transaction ids of reports, and ids of CloudEvents. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { column, decoded, decodedValue, executed, returnedRow } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { Meter } from "./Model.ts"

/** Identifies an event that is counted once. */
export const EventId = Schema.Struct({ source: Schema.String, id: Schema.String })
export type EventId = typeof EventId.Type

/** A report with a transaction id. */
const TakenTransaction = Schema.Struct({ timestamp: Schema.Date })

interface CountedIdQueries {
  /**
   * Takes a transaction id for a report, if it is free. Returns whether it was. Waits for another transaction that
   * takes it.
   */
  readonly takeTransaction: (
    organizationId: OrganizationId,
    meter: Meter,
    row: {
      readonly transactionId: string
      readonly report: object
      readonly timestamp: Date
      readonly at: Date
      readonly expiresAt: Date
    },
  ) => Effect.Effect<boolean>
  /** The timestamp of the report that took this transaction id; no row if the id belongs to another report. */
  readonly findTransaction: (
    organizationId: OrganizationId,
    meter: Meter,
    transactionId: string,
    report: object,
  ) => Effect.Effect<ReadonlyArray<typeof TakenTransaction.Type>>
  /** Frees the transaction id of a report that was rejected. */
  readonly releaseTransaction: (
    organizationId: OrganizationId,
    meter: Meter,
    transactionId: string,
  ) => Effect.Effect<void>
  /**
   * Takes those of the event ids that are free, in their order, and returns them, or `"all"` in the common case.
   * Waits for other transactions that take one of them.
   */
  readonly takeEventIds: (
    organizationId: OrganizationId,
    ids: ReadonlyArray<EventId>,
    at: Date,
    expiresAt: Date,
  ) => Effect.Effect<ReadonlyArray<EventId> | "all">
  /** Frees the ids of events that were rejected. */
  readonly releaseEventIds: (organizationId: OrganizationId, ids: ReadonlyArray<EventId>) => Effect.Effect<void>
}

/** The statement that takes those of the ids that are free. Its last part, after the `SELECT`, has no parameters. */
export const takingIds = (
  sql: SqlClient,
  organizationId: OrganizationId,
  ids: ReadonlyArray<EventId>,
  at: Date,
  expiresAt: Date,
): Fragment => sql`
            INSERT INTO usage_event_ids AS t (organization_id, source, event_id, created_at, expires_at)
            SELECT ${organizationId}::uuid, source, id, ${at}::timestamptz, ${expiresAt}::timestamptz
            FROM unnest((SELECT ${column("text", ids, ({ source }) => source)}), ${column("text", ids, ({ id }) => id)})
              AS sent (source, id)
            ORDER BY source COLLATE "C", id COLLATE "C"
            ON CONFLICT (organization_id, source, event_id) DO UPDATE
              SET created_at = excluded.created_at, expires_at = excluded.expires_at
              WHERE t.expires_at <= excluded.created_at`

const freeIn = decodedValue("free", Schema.NullOr(Schema.Array(EventId)))

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    takeTransaction: (organizationId, meter, row) =>
      returnedRow(sql`
        INSERT INTO usage_transactions AS t (organization_id, instance_id, entitlement_id, transaction_id, report,
          timestamp, created_at, expires_at)
        VALUES (${organizationId}, ${meter.instanceId}, ${meter.entitlementId}, ${row.transactionId},
          ${sql.json(row.report)}, ${row.timestamp}, ${row.at}, ${row.expiresAt})
        ON CONFLICT (organization_id, instance_id, entitlement_id, transaction_id) DO UPDATE
          SET report = excluded.report, timestamp = excluded.timestamp, created_at = excluded.created_at,
            expires_at = excluded.expires_at
          WHERE t.expires_at <= ${row.at}
        RETURNING transaction_id`),

    findTransaction: (organizationId, meter, transactionId, report) =>
      decoded(TakenTransaction)(sql`
        SELECT timestamp FROM usage_transactions
        WHERE organization_id = ${organizationId} AND instance_id = ${meter.instanceId}
          AND entitlement_id = ${meter.entitlementId} AND transaction_id = ${transactionId}
          AND report = ${sql.json(report)}::jsonb`),

    releaseTransaction: (organizationId, meter, transactionId) =>
      executed(sql`
        DELETE FROM usage_transactions
        WHERE organization_id = ${organizationId} AND instance_id = ${meter.instanceId}
          AND entitlement_id = ${meter.entitlementId} AND transaction_id = ${transactionId}`),

    takeEventIds: (organizationId, ids, at, expiresAt) =>
      Effect.map(
        freeIn(sql`
          WITH taken AS (${takingIds(sql, organizationId, ids, at, expiresAt)} RETURNING source, event_id)
          SELECT CASE WHEN (SELECT count(*) FROM taken) < ${ids.length}::int THEN
            (SELECT coalesce(json_agg(json_build_object('source', source, 'id', event_id)), '[]') FROM taken) END AS free`),
        Option.getOrElse(() => "all" as const),
      ),

    releaseEventIds: (organizationId, ids) =>
      executed(sql`
        DELETE FROM usage_event_ids t
        USING jsonb_to_recordset(${sql.json(ids)}) AS sent (source text, id text)
        WHERE t.organization_id = ${organizationId} AND t.source = sent.source AND t.event_id = sent.id`),
  } satisfies CountedIdQueries
})

/** Rows of ids that are counted once. */
export class CountedIdsRepo extends Context.Service<CountedIdsRepo, CountedIdQueries>()(
  "keyshelf/usage/ledger/CountedIdsRepo",
) {
  static readonly layer = Layer.effect(CountedIdsRepo, make)
}
