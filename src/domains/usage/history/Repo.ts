/** SQL of the events of an entitlement, and of what voids one. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { decodedOne, executed, records } from "../../../kernel/database/Statements.ts"
import { zero } from "../../../kernel/values/Decimal.ts"
import type { ReportAggregation } from "../../entitlements/Model.ts"
import type { Meter } from "../ledger/Model.ts"
import { summaryOf, SummaryRow } from "../ledger/SummaryRow.ts"
import { valueOf } from "../rules/Aggregation.ts"
import type { Total } from "../rules/Aggregation.ts"
import { UsageEventRecord } from "./Model.ts"
import type { UsageEventFilters } from "./Model.ts"
import { paidByCredits } from "../terms/CreditsSql.ts"
import { sumsUntil, wasDropped } from "../partitions/DaysSql.ts"
import { ofTotal } from "./TotalSql.ts"
import type { StoredTotalKey } from "./TotalSql.ts"

/** An event as it is stored. The value is a decimal. */
const EventRow = Schema.Struct({
  ...Struct.omit(UsageEventRecord.fields, ["id", "credits"]),
  periodStart: Schema.Date,
  ordinal: Schema.Int,
  behavior: Schema.Literals(["append", "set"]),
  value: Schema.String,
  /** What credits paid of it, as decimals; `null` if nothing. */
  credits: Schema.NullOr(Schema.Array(Schema.Struct({ id: Schema.String, quantity: Schema.String }))),
})
export type EventRow = typeof EventRow.Type

const Summed = Schema.Struct({
  ...SummaryRow.fields,
  setAt: Schema.NullOr(Schema.Date),
  latestAt: Schema.NullOr(Schema.Date),
  lastAt: Schema.NullOr(Schema.Date),
})

/** Stores and reads events of usage. */
export class UsageEventsRepo extends Context.Service<
  UsageEventsRepo,
  {
    /**
     * Events of a meter, newest first. Totals show which periods have events, so that the index finds the times in
     * each.
     */
    readonly list: (
      meter: Meter,
      filters: UsageEventFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<EventRow>>
    /** An event that is not voided. */
    readonly find: (key: StoredTotalKey, ordinal: number) => Effect.Effect<Option.Option<EventRow>>
    /**
     * A locked total without one of its events, recomputed from the others, and from the sums of those that were
     * dropped.
     */
    readonly totalWithout: (
      key: StoredTotalKey,
      ordinal: number,
      method: ReportAggregation,
      total: Total,
    ) => Effect.Effect<Total>
    /** Marks an event of a locked total as voided. Forgets its unique key, if no other event has it. */
    readonly markVoided: (key: StoredTotalKey, ordinal: number, by: ActorReference, at: Date) => Effect.Effect<void>
  }
>()("keyshelf/usage/history/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(UsageEventsRepo, make))
}

const reads = (sql: PgClient.PgClient) => {
  const columns =
    sql.literal(`e.period_start AS "periodStart", e.ordinal::float8 AS ordinal, behavior, e.value::text AS value,
    unique_key AS "uniqueKey", transaction_id AS "transactionId", source, e.timestamp, reported_at AS "reportedAt",
    reported_by AS "reportedBy", metadata, voided_at AS "voidedAt", voided_by AS "voidedBy", ${paidByCredits} AS credits`)

  return {
    list: (
      { entitlementId, instanceId, organizationId }: Meter,
      { since, until }: UsageEventFilters,
      after: Position | null,
      count: number,
    ) => {
      const [period, timestamp, ordinal] = after ?? []
      const position = sql`${new Date(Number(period))}, ${new Date(Number(timestamp))}, ${Number(ordinal)}::bigint`
      return records<EventRow>()(sql`
        SELECT ${columns} FROM usage_totals t CROSS JOIN LATERAL (
          SELECT * FROM usage_events
          WHERE ${sql.and([
            sql`organization_id = ${organizationId} AND instance_id = t.instance_id
              AND entitlement_id = t.entitlement_id AND period_start = t.period_start`,
            ...(since === undefined ? [] : [sql`timestamp >= ${since}`]),
            ...(until === undefined ? [] : [sql`timestamp < ${until}`]),
            ...(after === null ? [] : [sql`(period_start, timestamp, ordinal) < (${position})`]),
          ])}
          ORDER BY timestamp DESC, ordinal DESC LIMIT ${count}
        ) e
        WHERE ${sql.and([
          sql`t.organization_id = ${organizationId} AND t.instance_id = ${instanceId} AND t.entitlement_id = ${entitlementId}`,
          ...(until === undefined ? [] : [sql`t.period_start < ${until}`]),
          ...(after === null ? [] : [sql`t.period_start <= ${new Date(Number(period))}`]),
        ])}
        ORDER BY e.period_start DESC, e.timestamp DESC, e.ordinal DESC LIMIT ${count}`)
    },

    find: (key: StoredTotalKey, ordinal: number) =>
      decodedOne(EventRow)(
        sql`SELECT ${columns} FROM usage_events e WHERE ${ofTotal(sql)(key)} AND ordinal = ${ordinal} AND voided_at IS NULL`,
      ),
  }
}

/** What voids an event of a locked total. */
const corrections = (sql: PgClient.PgClient) => {
  const of = ofTotal(sql)
  const dropped = sql.literal(wasDropped("'infinity'::timestamptz"))

  return {
    totalWithout: (
      key: StoredTotalKey,
      ordinal: number,
      method: ReportAggregation,
      total: Total,
    ): Effect.Effect<Total> =>
      Effect.map(
        decodedOne(Summed)(sql`
          WITH left_over AS MATERIALIZED (
            SELECT timestamp, ordinal, behavior, value, unique_key FROM usage_events
            WHERE ${of(key)} AND ordinal <> ${ordinal} AND voided_at IS NULL
          ), newest_set AS MATERIALIZED (
            SELECT timestamp, ordinal, value FROM left_over WHERE behavior = 'set'
            ORDER BY timestamp DESC, ordinal DESC LIMIT 1
          ), counting AS MATERIALIZED (
            SELECT * FROM left_over WHERE NOT EXISTS (SELECT 1 FROM newest_set)
              OR (timestamp, ordinal) >= (SELECT timestamp, ordinal FROM newest_set)
          )
          SELECT coalesce((SELECT timestamp FROM newest_set), before.set_at) AS "setAt",
            coalesce((SELECT value FROM newest_set), before.replaced_by)::text AS "replacedBy",
            (count(c.value) + before.count)::float8 AS count, (count(DISTINCT c.unique_key) FILTER (WHERE k.unique_key IS NULL) + (
              SELECT count(*) FROM usage_unique_keys k WHERE ${of(key, "k.")} AND ${dropped}))::float8 AS keys,
            CASE WHEN before.sum IS NULL THEN sum(c.value) ELSE before.sum + coalesce(sum(c.value), 0) END::text AS sum,
            least(min(c.value), before.minimum)::text AS minimum, greatest(max(c.value), before.maximum)::text AS maximum,
            coalesce((SELECT value FROM counting ORDER BY timestamp DESC, ordinal DESC LIMIT 1), before.latest)::text AS latest,
            greatest(max(c.timestamp), before.latest_at) AS "latestAt",
            greatest((SELECT max(timestamp) FROM left_over), before.last_at) AS "lastAt"
          FROM (
            SELECT past.set_at, past.replaced_by, past.count, past.sum, past.minimum, past.maximum, past.latest,
              past.latest_at, past.last_at
            FROM (SELECT * FROM usage_totals WHERE ${of(key)}) t
            ${sumsUntil(sql, sql`${key.organizationId}`, "'infinity'::timestamptz")}
            WHERE NOT EXISTS (SELECT 1 FROM newest_set)
            UNION ALL
            SELECT NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT 1 FROM newest_set)
          ) before
          LEFT JOIN counting c ON true
          LEFT JOIN usage_unique_keys k ON ${of(key, "k.")} AND k.unique_key = c.unique_key AND ${dropped}
          GROUP BY before.set_at, before.replaced_by, before.count, before.sum, before.minimum, before.maximum, before.latest,
            before.latest_at, before.last_at`),
        (found) => {
          const row = Option.getOrThrow(found)
          const summary = summaryOf(row)
          return {
            ...total,
            value: valueOf(method, summary),
            sum: summary.sum ?? zero,
            valueCount: row.count,
            setAt: row.setAt,
            latestAt: row.latestAt,
            lastAt: row.lastAt,
          }
        },
      ),

    markVoided: (key: StoredTotalKey, ordinal: number, by: ActorReference, at: Date) =>
      executed(sql`
        WITH voided AS (
          UPDATE usage_events SET voided_at = ${at}, voided_by = ${sql.json(by)}
          WHERE ${of(key)} AND ordinal = ${ordinal} RETURNING unique_key
        ), forgotten AS (
          DELETE FROM usage_unique_keys k USING voided
          WHERE ${of(key)} AND k.unique_key = voided.unique_key AND NOT ${dropped} AND NOT EXISTS (
            SELECT 1 FROM usage_events other
            WHERE ${of(key)} AND other.unique_key = voided.unique_key AND other.ordinal <> ${ordinal}
              AND other.voided_at IS NULL)
        ), counted AS (
          UPDATE usage_totals SET voided_count = voided_count + 1 WHERE ${of(key)}
        )
        SELECT 1`),
  }
}

const make = Effect.map(PgClient.PgClient, (sql) => ({ ...reads(sql), ...corrections(sql) }))
