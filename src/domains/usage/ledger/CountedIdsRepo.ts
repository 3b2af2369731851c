/** SQL of the ids by which a request is counted once: transaction ids of reports, and ids of CloudEvents. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { column, hasCitus, record, records, returnedRow } from "../../../kernel/database/Statements.ts"
import type { Meter } from "./Model.ts"

/** Identifies an event that is counted once. */
interface EventId {
  readonly source: string
  readonly id: string
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)
  // On Citus only the end of it runs on the worker, which must not name parameters then.
  const taking = (organizationId: string, ids: ReadonlyArray<EventId>, at: Date, expiresAt: Date) => sql`
            INSERT INTO usage_event_ids AS t (organization_id, source, event_id, created_at, expires_at)
            SELECT ${organizationId}::uuid, source, id, ${at}::timestamptz, ${expiresAt}::timestamptz
            FROM unnest((SELECT ${column("text", ids, ({ source }) => source)}), ${column("text", ids, ({ id }) => id)})
              AS sent (source, id)
            ORDER BY source COLLATE "C", id COLLATE "C"
            ON CONFLICT (organization_id, source, event_id) DO UPDATE
              SET created_at = excluded.created_at, expires_at = excluded.expires_at
              WHERE t.expires_at <= excluded.created_at`

  return {
    /**
     * Takes a transaction id for a report, if it is free. Returns whether it was. Waits for another transaction that
     * takes it.
     */
    takeTransaction: (
      organizationId: string,
      meter: Meter,
      row: {
        readonly transactionId: string
        readonly report: object
        readonly timestamp: Date
        readonly at: Date
        readonly expiresAt: Date
      },
    ) =>
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

    /** The timestamp of the report that took this transaction id; no row if the id belongs to another report. */
    findTransaction: (organizationId: string, meter: Meter, transactionId: string, report: object) =>
      records<{ readonly timestamp: Date }>()(sql`
        SELECT timestamp FROM usage_transactions
        WHERE organization_id = ${organizationId} AND instance_id = ${meter.instanceId}
          AND entitlement_id = ${meter.entitlementId} AND transaction_id = ${transactionId}
          AND report = ${sql.json(report)}::jsonb`),

    /** Frees the transaction id of a report that was rejected. */
    releaseTransaction: (organizationId: string, meter: Meter, transactionId: string) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM usage_transactions
          WHERE organization_id = ${organizationId} AND instance_id = ${meter.instanceId}
            AND entitlement_id = ${meter.entitlementId} AND transaction_id = ${transactionId}`),
      ),

    /**
     * Takes those of the event ids that are free, in their order, and returns them, or `"all"` in the common case.
     * Waits for other transactions that take one of them.
     */
    takeEventIds: (organizationId: string, ids: ReadonlyArray<EventId>, at: Date, expiresAt: Date) =>
      isSharded
        ? // Citus would send what a WITH query has inserted to all workers.
          Effect.map(
            records<EventId>()(sql`${taking(organizationId, ids, at, expiresAt)} RETURNING source, event_id AS id`),
            (free) => (free.length === ids.length ? ("all" as const) : free),
          )
        : Effect.map(
            record<{ readonly free: ReadonlyArray<EventId> | null }>()(sql`
          WITH taken AS (${taking(organizationId, ids, at, expiresAt)} RETURNING source, event_id)
          SELECT CASE WHEN (SELECT count(*) FROM taken) < ${ids.length}::int THEN
            (SELECT coalesce(json_agg(json_build_object('source', source, 'id', event_id)), '[]') FROM taken) END AS free`),
            (row) => Option.getOrThrow(row).free ?? ("all" as const),
          ),

    /** Frees the ids of events that were rejected. */
    releaseEventIds: (organizationId: string, ids: ReadonlyArray<EventId>) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM usage_event_ids t
          USING jsonb_to_recordset(${sql.json(ids)}) AS sent (source text, id text)
          WHERE t.organization_id = ${organizationId} AND t.source = sent.source AND t.event_id = sent.id`),
      ),
  }
})

/** Rows of ids that are counted once. */
export class CountedIdsRepo extends Context.Service<CountedIdsRepo, Effect.Success<typeof make>>()(
  "keyshelf/usage/ledger/CountedIdsRepo",
) {
  static readonly layer = Layer.effect(CountedIdsRepo, make)
}
