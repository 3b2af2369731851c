/** SQL of the hours of totals: it adds events to them, corrects them, and reads a history. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { BigDecimal } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { decoded, decodedOne, decodedValue, executed, record } from "../../../kernel/database/Statements.ts"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import { HOUR_MS } from "../../../kernel/values/Timestamp.ts"
import type { Meter } from "../ledger/Model.ts"
import type { BucketSize } from "./Model.ts"
import { droppedUntil } from "../partitions/DaysSql.ts"
import { periodsOf } from "./HistoryRows.ts"
import type { HistoryRow } from "./HistoryRows.ts"
import type { PeriodHours } from "./Rules.ts"
import { ofTotal, StoredTotalKey } from "./TotalSql.ts"

/** Totals with fewer events have no hours: reading their events is as fast. */
const MIN_EVENTS = 500

/** How long after its last event a total is over, so that all its events are added. */
const OVER_AFTER_MS = 2 * HOUR_MS

/** The most events that one statement adds: a report in the past of the same total waits for it. */
const MAX_ADDED = 20_000

/** How many distinct unique keys and events a bucket has. */
const KeyBucket = Schema.Struct({
  start: Schema.Date,
  keys: Schema.Int,
  events: Schema.Int,
  /** Whether the events are no longer stored. */
  isDropped: Schema.Boolean,
})
type KeyBucket = typeof KeyBucket.Type

/** The lowest and the highest value; decimals. */
const Extremes = Schema.Struct({ minimum: Schema.NullOr(Schema.String), maximum: Schema.NullOr(Schema.String) })

/** Stores and reads the hours of totals. */
export class RollupsRepo extends Context.Service<
  RollupsRepo,
  {
    /** Up to `count` totals with many events that their hours do not contain, of all organizations. */
    readonly findLate: (at: Date, count: number) => Effect.Effect<ReadonlyArray<StoredTotalKey>>
    /** Locks the hours of a total until the transaction ends, and returns up to which event they contain its usage. */
    readonly lock: (rollup: StoredTotalKey) => Effect.Effect<number>
    /** Adds the next events of a total to its locked hours. Returns whether more are left. */
    readonly addNext: (rollup: StoredTotalKey, rolledTo: number) => Effect.Effect<boolean>
    /** Takes an event out of its hour. Only the count and the sum are right then. */
    readonly subtract: (rollup: StoredTotalKey, at: Date, value: string) => Effect.Effect<void>
    /** Recomputes an hour of a total from its events, up to the last one that the hours include. */
    readonly recompute: (rollup: StoredTotalKey, at: Date, rolledTo: number) => Effect.Effect<void>
    /**
     * The totals that have events in a range, each with its hours: those that are stored, and those of the events that they do not
     * contain yet, and its days of dropped events. All in one statement, so that an event is in exactly one of them.
     */
    readonly periods: (meter: Meter, from: Date, to: Date) => Effect.Effect<ReadonlyArray<PeriodHours>>
    /** The lowest and the highest value of a total from its newest `set` on, in the hour of the set. */
    readonly sinceSet: (
      rollup: StoredTotalKey,
      setAt: Date,
    ) => Effect.Effect<{
      readonly minimum: BigDecimal.BigDecimal | null
      readonly maximum: BigDecimal.BigDecimal | null
    }>
    /**
     * The distinct unique keys and the events of each bucket: from the events themselves, and of dropped ones as they were counted then.
     */
    readonly uniqueKeys: (
      meter: Meter,
      bucket: BucketSize,
      from: Date,
      to: Date,
    ) => Effect.Effect<ReadonlyArray<KeyBucket>>
  }
>()("keyshelf/usage/history/RollupsRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(RollupsRepo, make))
}

/** The aggregates of events that an hour stores. */
const eventSums = (sql: PgClient.PgClient) =>
  sql.literal(`count(*) AS event_count, sum(value) AS sum, min(value) AS minimum, max(value) AS maximum,
  (array_agg(value ORDER BY timestamp DESC, ordinal DESC))[1] AS latest, max(timestamp) AS latest_at,
  (array_agg(ordinal ORDER BY timestamp DESC, ordinal DESC))[1] AS latest_ordinal`)

const keyValues = (
  sql: PgClient.PgClient,
  { entitlementId, instanceId, organizationId, periodStart }: StoredTotalKey,
) => sql`${organizationId}::uuid, ${instanceId}::uuid, ${entitlementId}::uuid, ${periodStart}::timestamptz`

const rolledToIn = decodedValue("rolledTo", Schema.Int)

/** Which totals are rolled up, and up to which event. */
const progress = (sql: PgClient.PgClient) => ({
  findLate: (at: Date, count: number) =>
    decoded(StoredTotalKey)(sql`
      SELECT t.organization_id AS "organizationId", t.instance_id AS "instanceId", t.entitlement_id AS "entitlementId",
        t.period_start AS "periodStart"
      FROM usage_totals t
      LEFT JOIN LATERAL (
        SELECT rolled_to FROM usage_rollups
        WHERE organization_id = t.organization_id AND instance_id = t.instance_id AND entitlement_id = t.entitlement_id
          AND period_start = t.period_start OFFSET 0
      ) r ON true
      WHERE t.event_count > ${MIN_EVENTS} AND t.event_count > coalesce(r.rolled_to, 0)
        + CASE WHEN t.last_at < ${new Date(at.getTime() - OVER_AFTER_MS)} THEN 0 ELSE ${MIN_EVENTS} END
      LIMIT ${count}`),

  lock: Effect.fnUntraced(function* (rollup: StoredTotalKey) {
    yield* executed(sql`
      INSERT INTO usage_rollups (organization_id, instance_id, entitlement_id, period_start, rolled_to)
      VALUES (${keyValues(sql, rollup)}, 0) ON CONFLICT DO NOTHING`)
    const locked = yield* rolledToIn(sql`
      SELECT rolled_to::float8 AS "rolledTo" FROM usage_rollups WHERE ${ofTotal(sql)(rollup)} FOR UPDATE`)
    return Option.getOrThrow(locked)
  }),
})

const isBehindIn = decodedValue("isBehind", Schema.Boolean)

/** The hours of a total whose rollup is locked. */
const hours = (sql: PgClient.PgClient) => {
  const of = ofTotal(sql)
  const sums = eventSums(sql)

  return {
    addNext: (rollup: StoredTotalKey, rolledTo: number) =>
      Effect.map(
        isBehindIn(sql`
          WITH target AS MATERIALIZED (
            SELECT event_count, least(event_count, ${rolledTo + MAX_ADDED}) AS rolled_to FROM usage_totals WHERE ${of(rollup)}
          ), part AS (
            SELECT date_trunc('hour', timestamp, 'UTC') AS hour, ${sums} FROM usage_events
            WHERE ${of(rollup)} AND ordinal > ${rolledTo} AND ordinal <= (SELECT rolled_to FROM target)
              AND voided_at IS NULL
            GROUP BY 1
          ), added AS (
            INSERT INTO usage_hours AS h (organization_id, instance_id, entitlement_id, period_start, hour, event_count, sum,
              minimum, maximum, latest, latest_at, latest_ordinal)
            SELECT ${keyValues(sql, rollup)}, part.* FROM part
            ON CONFLICT (organization_id, instance_id, entitlement_id, period_start, hour) DO UPDATE SET
              event_count = h.event_count + excluded.event_count, sum = h.sum + excluded.sum,
              minimum = least(h.minimum, excluded.minimum), maximum = greatest(h.maximum, excluded.maximum),
              latest = CASE WHEN (excluded.latest_at, excluded.latest_ordinal) > (h.latest_at, h.latest_ordinal)
                THEN excluded.latest ELSE h.latest END,
              latest_ordinal = CASE WHEN (excluded.latest_at, excluded.latest_ordinal) > (h.latest_at, h.latest_ordinal)
                THEN excluded.latest_ordinal ELSE h.latest_ordinal END,
              latest_at = greatest(h.latest_at, excluded.latest_at)
          )
          UPDATE usage_rollups r SET rolled_to = target.rolled_to FROM target WHERE ${of(rollup, "r.")}
          RETURNING target.event_count > target.rolled_to AS "isBehind"`),
        Option.getOrElse(() => false),
      ),

    subtract: (rollup: StoredTotalKey, at: Date, value: string) =>
      executed(sql`
        UPDATE usage_hours SET event_count = event_count - 1, sum = sum - ${value}::text::numeric
        WHERE ${of(rollup)} AND hour = date_trunc('hour', ${at}::timestamptz, 'UTC')`),

    recompute: (rollup: StoredTotalKey, at: Date, rolledTo: number) =>
      executed(sql`
        WITH part AS (
          SELECT ${sums} FROM usage_events
          WHERE ${of(rollup)} AND ordinal <= ${rolledTo} AND voided_at IS NULL
            AND timestamp >= date_trunc('hour', ${at}::timestamptz, 'UTC')
            AND timestamp < date_trunc('hour', ${at}::timestamptz, 'UTC') + interval '1 hour'
        )
        UPDATE usage_hours h SET event_count = part.event_count, sum = coalesce(part.sum, 0), minimum = part.minimum,
          maximum = part.maximum, latest = part.latest, latest_at = part.latest_at, latest_ordinal = part.latest_ordinal
        FROM part WHERE ${of(rollup, "h.")} AND h.hour = date_trunc('hour', ${at}::timestamptz, 'UTC')`),
  }
}

const readPeriods = (sql: PgClient.PgClient, dropped: Fragment): RollupsRepo["Service"]["periods"] => {
  const sums = eventSums(sql)
  return (
    { entitlementId, instanceId, organizationId }: Meter,
    from: Date,
    to: Date,
  ): Effect.Effect<ReadonlyArray<PeriodHours>> =>
    Effect.map(
      record<HistoryRow>()(sql`
      WITH t AS MATERIALIZED (
        SELECT t.*, coalesce(r.rolled_to, 0) AS rolled_to FROM usage_totals t
        LEFT JOIN usage_rollups r ON r.organization_id = t.organization_id AND r.instance_id = t.instance_id
          AND r.entitlement_id = t.entitlement_id AND r.period_start = t.period_start
        WHERE t.organization_id = ${organizationId} AND t.instance_id = ${instanceId}
          AND t.entitlement_id = ${entitlementId} AND t.last_at >= ${from} AND t.period_start < ${to}
      ), hours AS (
        SELECT h.period_start, h.hour, h.event_count, h.sum, h.minimum, h.maximum, h.latest, h.latest_at, h.latest_ordinal
        FROM t JOIN usage_hours h ON h.organization_id = ${organizationId} AND h.instance_id = t.instance_id
          AND h.entitlement_id = t.entitlement_id AND h.period_start = t.period_start
        WHERE h.hour >= greatest(${from}, ${dropped}) AND (h.hour < ${to} OR t.set_at IS NOT NULL) AND h.event_count > 0
        UNION ALL
        SELECT t.period_start, later.* FROM t CROSS JOIN LATERAL (
          SELECT date_trunc('hour', timestamp, 'UTC') AS hour, ${sums} FROM usage_events e
          WHERE e.organization_id = ${organizationId} AND e.instance_id = t.instance_id
            AND e.entitlement_id = t.entitlement_id AND e.period_start = t.period_start AND e.ordinal > t.rolled_to
            AND e.voided_at IS NULL AND e.timestamp >= ${from} AND (e.timestamp < ${to} OR t.set_at IS NOT NULL)
          GROUP BY 1
        ) later WHERE t.event_count > t.rolled_to
      ), days AS (
        SELECT d.* FROM t JOIN usage_days d ON d.organization_id = ${organizationId} AND d.instance_id = t.instance_id
          AND d.entitlement_id = t.entitlement_id AND d.period_start = t.period_start
        WHERE d.day >= ${from} AND d.day < least(${to}, ${dropped}) AND d.event_count > 0
      )
      SELECT (
        SELECT coalesce(json_agg(json_build_object('periodStart', period_start, 'value', value::text, 'sum', sum::text,
          'valueCount', value_count, 'setAt', set_at)), '[]') FROM t
      ) AS totals, (
        SELECT coalesce(json_agg(json_build_object('periodStart', period_start, 'hour', hour, 'count', event_count,
          'sum', sum::text, 'minimum', minimum::text, 'maximum', maximum::text, 'latest', latest::text,
          'latestAt', latest_at, 'latestOrdinal', latest_ordinal)), '[]') FROM hours
      ) AS hours, (
        SELECT coalesce(json_agg(json_build_object('periodStart', period_start, 'day', day, 'eventCount', event_count,
          'count', counted, 'sum', coalesce(sum, 0)::text, 'minimum', minimum::text, 'maximum', maximum::text,
          'latest', latest::text, 'latestAt', latest_at, 'lastAt', last_at, 'setAt', set_at,
          'setValue', set_value::text)), '[]') FROM days
      ) AS days`),
      (found) => periodsOf(Option.getOrThrow(found)),
    )
}

/** What a history reads besides the hours. */
const exactValues = (sql: PgClient.PgClient, dropped: Fragment) => ({
  sinceSet: (rollup: StoredTotalKey, setAt: Date) =>
    Effect.map(
      decodedOne(Extremes)(sql`
        WITH hour AS MATERIALIZED (
          SELECT timestamp, ordinal, behavior, value FROM usage_events
          WHERE ${ofTotal(sql)(rollup)} AND voided_at IS NULL AND timestamp >= ${setAt}
            AND timestamp < date_trunc('hour', ${setAt}::timestamptz, 'UTC') + interval '1 hour'
        ), newest_set AS MATERIALIZED (
          SELECT timestamp, ordinal FROM hour WHERE behavior = 'set' ORDER BY timestamp DESC, ordinal DESC LIMIT 1
        )
        SELECT min(value)::text AS minimum, max(value)::text AS maximum FROM hour
        WHERE (timestamp, ordinal) >= (SELECT timestamp, ordinal FROM newest_set)`),
      (found) => {
        const { maximum, minimum } = Option.getOrThrow(found)
        return {
          minimum: minimum === null ? null : storedDecimal(minimum),
          maximum: maximum === null ? null : storedDecimal(maximum),
        }
      },
    ),

  uniqueKeys: ({ entitlementId, instanceId, organizationId }: Meter, bucket: BucketSize, from: Date, to: Date) => {
    const meter = sql`organization_id = ${organizationId} AND instance_id = ${instanceId} AND entitlement_id = ${entitlementId}`
    return decoded(KeyBucket)(sql`
      SELECT date_trunc(${bucket.toLowerCase()}, timestamp, 'UTC') AS start, count(DISTINCT unique_key)::float8 AS keys,
        count(*)::float8 AS events, false AS "isDropped"
      FROM usage_events
      WHERE ${meter} AND period_start < ${to} AND timestamp >= ${from} AND timestamp < ${to} AND voided_at IS NULL
      GROUP BY 1
      UNION ALL
      SELECT start, keys::float8, event_count::float8, true FROM usage_key_buckets
      WHERE ${meter} AND size = ${bucket === "MONTH" ? "MONTH" : "DAY"} AND start >= date_trunc('day', ${from}::timestamptz, 'UTC')
        AND start < least(${to}, ${dropped})`)
  },
})

const make = Effect.map(PgClient.PgClient, (sql) => {
  const dropped = sql.literal(droppedUntil)
  return {
    ...progress(sql),
    ...hours(sql),

    periods: readPeriods(sql, dropped),
    ...exactValues(sql, dropped),
  }
})
