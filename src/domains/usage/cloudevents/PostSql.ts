/**
 * SQL that adds a batch to its totals and stores its events.
 *
 * Tallies are in the lock order of totals. Events find their tally by its index in an array: PostgreSQL does not know the
 * lengths of the arrays, and would join them row by row.
 */
import type { PgClient } from "@effect/sql-pg"
import { BigDecimal, Effect, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { column, decodedValue } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import type { Thresholds } from "../rules/Limits.ts"
import type { BatchTotals, TalliedEvent, Tally } from "./BatchTotals.ts"

/** When a batch arrived, and who sent it. */
export interface Reception {
  readonly at: Date
  readonly reportedBy: ActorReference
}

// Nearly all are whole numbers, which need no formatting.
const digits = (amount: BigDecimal.BigDecimal) =>
  amount.scale === 0 ? amount.value.toString() : BigDecimal.format(amount)

const amounts = <Row>(rows: ReadonlyArray<Row>, amountOf: (row: Row) => BigDecimal.BigDecimal | null) =>
  column("text", rows, (row) => {
    const amount = amountOf(row)
    return amount && digits(amount)
  })

/** The different thresholds of tallies. There are few, because many tallies share the grants of a license. */
const thresholdsAmong = (tallies: ReadonlyArray<Tally>) => {
  const places = new Map<Thresholds | null, number>()
  for (const { thresholds } of tallies) if (!places.has(thresholds)) places.set(thresholds, places.size + 1)
  return { all: [...places.keys()], placeOf: ({ thresholds }: Tally) => places.get(thresholds) ?? null }
}

/** The WITH queries `given` and `tallied`: the tallies with their thresholds. */
export const tallied = (sql: PgClient.PgClient, tallies: ReadonlyArray<Tally>): Fragment => {
  const thresholds = thresholdsAmong(tallies)
  return sql`given AS MATERIALIZED (
            SELECT ${column("uuid", tallies, ({ instanceId }) => instanceId)} AS instances,
              ${column("uuid", tallies, ({ entitlementId }) => entitlementId)} AS entitlements,
              ${column("timestamptz", tallies, ({ periodStart }) => periodStart)} AS periods,
              ${amounts(thresholds.all, (these) => these && these.warning)}::numeric[] AS warnings,
              ${amounts(thresholds.all, (these) => these && these.limit)}::numeric[] AS limits,
              ${amounts(thresholds.all, (these) => these && these.cap)}::numeric[] AS caps
          ), tallied AS MATERIALIZED (
            SELECT sent.*, coalesce(amount, sum) AS added, ((SELECT warnings FROM given))[thresholds] AS warning_at,
              ((SELECT limits FROM given))[thresholds] AS limit_at, ((SELECT caps FROM given))[thresholds] AS cap
            FROM unnest(
              (SELECT instances FROM given),
              (SELECT entitlements FROM given),
              (SELECT periods FROM given),
              ${amounts(tallies, ({ added, sum }) => (added === sum ? null : added))}::numeric[],
              ${column("int4", tallies, ({ count }) => count)},
              ${amounts(tallies, ({ sum }) => sum)}::numeric[],
              ${column("timestamptz", tallies, ({ firstAt }) => firstAt)},
              ${column("timestamptz", tallies, ({ lastAt }) => lastAt)},
              ${column("int4", tallies, thresholds.placeOf)}
            ) WITH ORDINALITY AS sent (instance_id, entitlement_id, period_start, amount, count, sum, first_at, last_at,
              thresholds, place)
          )`
}

/** The statement that raises the totals of `tallied` that exist. */
export const raising = (sql: PgClient.PgClient, organizationId: OrganizationId, at: Date): Fragment => sql`
            UPDATE usage_totals t SET value = t.value + tallied.added, event_count = t.event_count + tallied.count,
              sum = t.sum + tallied.sum, value_count = t.value_count + tallied.count,
              latest_at = greatest(t.latest_at, tallied.last_at), last_at = greatest(t.last_at, tallied.last_at),
              decided_at = greatest(t.decided_at, ${at}::timestamptz)
            FROM tallied
            WHERE t.organization_id = ${organizationId} AND t.instance_id = tallied.instance_id
              AND t.entitlement_id = tallied.entitlement_id AND t.period_start = tallied.period_start
              AND coalesce(t.set_at <= tallied.first_at, true)
              AND t.warned = coalesce(t.value - t.burned + tallied.added >= tallied.warning_at, false)
              AND t.limit_reached = coalesce(t.value - t.burned + tallied.added >= tallied.limit_at, false)
              AND coalesce(t.value - t.burned + tallied.added <= tallied.cap, NOT t.cap_exceeded)
            RETURNING tallied.place, t.event_count - tallied.count AS before`

/** Those of `rows`, which are like `tallied`, whose instance and entitlement exist and are not locked. */
export const keeping = (
  sql: PgClient.PgClient,
  organizationId: OrganizationId,
  rows: "tallied" | "others",
): Fragment => sql`
            SELECT others.* FROM ${sql.literal(rows)} others
            CROSS JOIN LATERAL (
              SELECT FROM ${instancesSql.rows} WHERE organization_id = ${organizationId} AND id = others.instance_id
              FOR KEY SHARE SKIP LOCKED
            ) i
            CROSS JOIN LATERAL (
              SELECT FROM ${entitlementsSql.rows} WHERE organization_id = ${organizationId} AND id = others.entitlement_id
              FOR KEY SHARE SKIP LOCKED
            ) e`

/** The statement that inserts totals from the rows of `kept`. */
export const beginning = (
  sql: PgClient.PgClient,
  organizationId: OrganizationId,
  kept: Fragment,
  at: Date,
): Fragment => sql`
            INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count, sum,
              value_count, latest_at, last_at, decided_at)
            SELECT ${organizationId}::uuid, instance_id, entitlement_id, period_start, added, count, sum, count, last_at,
              last_at, ${at}::timestamptz
            FROM ${kept}
            WHERE coalesce(added < warning_at, true) AND coalesce(added < limit_at, true)
              AND coalesce(added <= cap, true)
            ON CONFLICT (organization_id, instance_id, entitlement_id, period_start) DO NOTHING
            RETURNING 1`

/** The columns of the events of a batch. */
export const eventColumns = `(organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp,
              behavior, value, unique_key, metadata, reported_at, reported_by, transaction_id, source)`

/** The contents of events, as arrays. */
export const eventArrays = (sql: PgClient.PgClient, events: ReadonlyArray<TalliedEvent>): Fragment => sql`
              ${column("timestamptz", events, ({ event }) => event.timestamp)},
              ${amounts(events, ({ event }) => event.value)}::numeric[],
              ${column("text", events, ({ event }) => event.uniqueKey)},
              ${column("text", events, ({ event }) => event.id)},
              ${column("text", events, ({ event }) => event.source)}`

const takenIn = decodedValue("taken", Schema.Int)

/** Posts a batch in one statement, and returns how many totals were raised. */
export const postAtOnce =
  (sql: PgClient.PgClient) =>
  (
    organizationId: OrganizationId,
    { events, tallies }: BatchTotals,
    { at, reportedBy }: Reception,
  ): Effect.Effect<number> =>
    Effect.map(
      takenIn(sql`
          WITH ${tallied(sql, tallies)}, posted AS (${raising(sql, organizationId, at)}
          ), others AS MATERIALIZED (
            SELECT * FROM tallied WHERE place NOT IN (SELECT place FROM posted)
          ), kept AS MATERIALIZED (${keeping(sql, organizationId, "others")}
          ), begun AS (${beginning(sql, organizationId, sql.literal("kept"), at)}
          ), stored AS (
            INSERT INTO usage_events ${sql.literal(eventColumns)}
            SELECT ${organizationId}::uuid, ((SELECT instances FROM given))[sent.tally],
              ((SELECT entitlements FROM given))[sent.tally], ((SELECT periods FROM given))[sent.tally],
              ((SELECT array_agg(before ORDER BY place) FROM (
                SELECT place, before FROM posted UNION ALL SELECT place, 0 FROM others
              ) begins))[sent.tally] + sent.rank,
              sent.timestamp, 'append', sent.value, sent.unique_key, NULL, ${at}::timestamptz,
              ${sql.json(reportedBy)}, sent.id, sent.source
            FROM unnest(
              (SELECT ${column("int4", events, ({ tally }) => tally)}),
              ${column("int4", events, ({ rank }) => rank)},${eventArrays(sql, events)}
            ) AS sent (tally, rank, timestamp, value, unique_key, id, source)
            WHERE (SELECT count(*) FROM posted) + (SELECT count(*) FROM begun) = ${tallies.length}::int
          )
          SELECT ((SELECT count(*) FROM posted) + (SELECT count(*) FROM begun))::int AS taken`),
      Option.getOrThrow,
    )
