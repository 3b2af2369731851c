/** SQL that sums the events of a partition before it is dropped: by day, and the unique keys of buckets. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { decodedOne, executed, planByIndex, records } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { LEDGER_SOURCE } from "../cloudevents/Model.ts"
import { droppedUntil } from "./DaysSql.ts"

/** Names an instance of any organization. */
export const InstanceId = Schema.Struct({ organizationId: OrganizationId, instanceId: Schema.String })
export type InstanceId = typeof InstanceId.Type

/** The number of events that one transaction sums. If an instance has more, it sums all of them. */
const EVENTS_AT_ONCE = 50_000

/** Sums of events that are dropped. */
export class SumsRepo extends Context.Service<
  SumsRepo,
  {
    /** Lifts the transaction's statement timeout, and makes it use indexes whatever the partition's statistics say. Call it first. */
    readonly prepare: Effect.Effect<void>
    /** The last instance of the next part of a partition; none if the part reaches to its end. */
    readonly partEnd: (partition: string, after: InstanceId) => Effect.Effect<Option.Option<InstanceId>>
    /**
     * Sums the events of the instances after one, up to another one. It deletes the hours of earlier drops, because their days are stored.
     */
    readonly sumPart: (partition: string, after: InstanceId, end: InstanceId | null) => Effect.Effect<void>
    /** Sums some totals again whose events changed after they were summed. Returns how many. */
    readonly sumChanged: (partition: string, count: number) => Effect.Effect<number>
  }
>()("keyshelf/usage/partitions/SumsRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(SumsRepo, make))
}

/** Sums events of a partition. Earlier sums are replaced. */
const summing = (sql: PgClient.PgClient) => {
  const isUnique = sql`JOIN ${entitlementsSql.on("unique_count", "e.entitlement_id")}
    AND unique_count.aggregation_method = 'UNIQUE_COUNT'`

  return Effect.fnUntraced(function* (partition: string, where: Fragment) {
    yield* executed(sql`
      INSERT INTO usage_days (organization_id, instance_id, entitlement_id, period_start, day, at_start, stored_count, event_count,
        first_at, last_at, counted, sum, minimum, maximum, latest, latest_at, latest_ordinal, set_at, set_value, brought_count,
        brought_sum)
      SELECT organization_id, instance_id, entitlement_id, period_start, day, timestamp = day, count(*), count(*) FILTER (WHERE is_valid),
        min(timestamp) FILTER (WHERE is_valid), max(timestamp) FILTER (WHERE is_valid), count(*) FILTER (WHERE counts),
        sum(value) FILTER (WHERE counts), min(value) FILTER (WHERE counts), max(value) FILTER (WHERE counts),
        (array_agg(value ORDER BY timestamp DESC, ordinal DESC) FILTER (WHERE counts))[1],
        max(timestamp) FILTER (WHERE counts),
        (array_agg(ordinal ORDER BY timestamp DESC, ordinal DESC) FILTER (WHERE counts))[1],
        max(timestamp) FILTER (WHERE counts AND is_set),
        max(value) FILTER (WHERE counts AND is_set),
        count(*) FILTER (WHERE counts AND is_brought), coalesce(sum(value) FILTER (WHERE counts AND is_brought), 0)
      FROM (
        SELECT *, is_valid AND later_sets = CASE WHEN is_set THEN 1 ELSE 0 END AS counts FROM (
          SELECT *, count(*) FILTER (WHERE is_set) OVER (
            PARTITION BY organization_id, instance_id, entitlement_id, period_start, day, timestamp = day
            ORDER BY timestamp DESC, ordinal DESC ROWS UNBOUNDED PRECEDING) AS later_sets
          FROM (
            SELECT *, date_trunc('day', timestamp, 'UTC') AS day, voided_at IS NULL AS is_valid,
              behavior = 'set' AND voided_at IS NULL AS is_set,
              coalesce(starts_with(source, ${LEDGER_SOURCE}), false) AS is_brought
            FROM ${sql(partition)} e WHERE ${where}
          ) events
        ) ranked
      ) known
      GROUP BY organization_id, instance_id, entitlement_id, period_start, day, timestamp = day
      ON CONFLICT (organization_id, instance_id, entitlement_id, period_start, day, at_start) DO UPDATE SET
        stored_count = excluded.stored_count, event_count = excluded.event_count, first_at = excluded.first_at,
        last_at = excluded.last_at, counted = excluded.counted, sum = excluded.sum, minimum = excluded.minimum,
        maximum = excluded.maximum, latest = excluded.latest, latest_at = excluded.latest_at,
        latest_ordinal = excluded.latest_ordinal, set_at = excluded.set_at, set_value = excluded.set_value,
        brought_count = excluded.brought_count, brought_sum = excluded.brought_sum`)
    yield* executed(sql`
      INSERT INTO usage_key_buckets (organization_id, instance_id, entitlement_id, size, start, keys, event_count)
      SELECT e.organization_id, e.instance_id, e.entitlement_id, size, date_trunc(lower(size), e.timestamp, 'UTC'),
        count(DISTINCT e.unique_key), count(*)
      FROM ${sql(partition)} e ${isUnique} CROSS JOIN (VALUES ('DAY'), ('MONTH')) AS sizes (size)
      WHERE ${where} AND e.voided_at IS NULL
      GROUP BY 1, 2, 3, 4, 5
      ON CONFLICT (organization_id, instance_id, entitlement_id, size, start) DO UPDATE SET
        keys = excluded.keys, event_count = excluded.event_count`)
    yield* executed(sql`
      UPDATE usage_unique_keys k SET first_at = found.first_at FROM (
        SELECT e.organization_id, e.instance_id, e.entitlement_id, e.period_start, e.unique_key, min(e.timestamp) AS first_at
        FROM ${sql(partition)} e ${isUnique} WHERE ${where} AND e.voided_at IS NULL AND e.unique_key IS NOT NULL
        GROUP BY 1, 2, 3, 4, 5
      ) found
      WHERE k.organization_id = found.organization_id AND k.instance_id = found.instance_id
        AND k.entitlement_id = found.entitlement_id AND k.period_start = found.period_start
        AND k.unique_key = found.unique_key AND coalesce(k.first_at > found.first_at, true)`)
  })
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const notYet = sql.literal(droppedUntil)
  const sum = summing(sql)

  return SumsRepo.of({
    prepare: Effect.andThen(planByIndex(sql), executed(sql`SELECT set_config('statement_timeout', '0', true)`)),

    partEnd: (partition, after) =>
      decodedOne(InstanceId)(sql`
        SELECT organization_id AS "organizationId", instance_id AS "instanceId" FROM ${sql(partition)}
        WHERE (organization_id, instance_id) > (${after.organizationId}::uuid, ${after.instanceId}::uuid)
        ORDER BY organization_id, instance_id OFFSET ${EVENTS_AT_ONCE} LIMIT 1`),

    sumPart: Effect.fnUntraced(function* (partition, after, end) {
      const upper =
        end === null
          ? sql`true`
          : sql`(organization_id, instance_id) <= (${end.organizationId}::uuid, ${end.instanceId}::uuid)`
      const lower = sql`(organization_id, instance_id) > (${after.organizationId}::uuid, ${after.instanceId}::uuid)`
      yield* executed(sql`DELETE FROM usage_hours WHERE ${lower} AND ${upper} AND hour < ${notYet}`)
      const ofEvents =
        end === null
          ? sql`true`
          : sql`(e.organization_id, e.instance_id) <= (${end.organizationId}::uuid, ${end.instanceId}::uuid)`
      yield* sum(
        partition,
        sql`(e.organization_id, e.instance_id) > (${after.organizationId}::uuid, ${after.instanceId}::uuid) AND ${ofEvents}`,
      )
    }),

    sumChanged: Effect.fnUntraced(function* (partition, count) {
      const changes = yield* records<object>()(sql`
        DELETE FROM usage_drop_changes WHERE ctid = ANY (ARRAY (SELECT ctid FROM usage_drop_changes LIMIT ${count}))
        RETURNING organization_id, instance_id, entitlement_id, period_start`)
      if (changes.length === 0) return 0
      const changed = sql`jsonb_to_recordset(${sql.json(changes)}) AS changed
        (organization_id uuid, instance_id uuid, entitlement_id uuid, period_start timestamptz)`
      // Begins with the changes. A join could begin with all days, and compare each with each change.
      const areOf = (table: string, further: Fragment) => sql`ctid = ANY (ARRAY (
        SELECT found.location FROM ${changed} CROSS JOIN LATERAL (
          SELECT ctid AS location FROM ${sql(table)}
          WHERE organization_id = changed.organization_id AND instance_id = changed.instance_id
            AND entitlement_id = changed.entitlement_id AND ${further} OFFSET 0
        ) AS found))`
      const ofPeriod = sql`period_start = changed.period_start`
      yield* executed(sql`DELETE FROM usage_days WHERE ${areOf("usage_days", sql`${ofPeriod} AND day >= ${notYet}`)}`)
      yield* executed(sql`DELETE FROM usage_key_buckets WHERE ${areOf("usage_key_buckets", sql`start >= ${notYet}`)}`)
      yield* executed(sql`
        UPDATE usage_unique_keys SET first_at = NULL
        WHERE ${areOf("usage_unique_keys", sql`${ofPeriod} AND first_at >= ${notYet}`)}`)
      // All periods of a changed meter, because a bucket of unique keys can touch several.
      const meters = sql`(SELECT DISTINCT organization_id, instance_id, entitlement_id FROM ${changed})`
      yield* sum(partition, sql`(e.organization_id, e.instance_id, e.entitlement_id) IN ${meters}`)
      return changes.length
    }),
  })
})
