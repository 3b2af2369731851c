/** SQL of what totals have counted: their events, their unique keys, and live leases. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Schema, Struct } from "effect"
import { decoded, executed } from "../../../kernel/database/Statements.ts"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { UsageEvent } from "../rules/Aggregation.ts"
import { TotalKey } from "./Account.ts"

const MeterKey = TotalKey.mapFields(Struct.omit(["periodStart"]))
export type MeterKey = typeof MeterKey.Type

/** How many leases of a meter are live. */
const LiveLeases = Schema.Struct({ ...MeterKey.fields, count: Schema.Int })
export type LiveLeases = typeof LiveLeases.Type

/** A unique key that a total counts. */
const CountedKey = Schema.Struct({ ...TotalKey.fields, uniqueKey: Schema.String })
export type CountedKey = typeof CountedKey.Type

/** A {@link UsageEvent} whose value is the text of a decimal. */
const StoredEvent = Schema.Struct({
  timestamp: Schema.Date,
  behavior: Schema.Literals(["append", "set"]),
  value: Schema.String,
  uniqueKey: Schema.NullOr(Schema.String),
})

/** The columns of a {@link TotalKey} that a statement receives as JSON. */
export const keyColumns = `"instanceId" uuid, "entitlementId" uuid, "periodStart" timestamptz`

export const countedStatements = (sql: PgClient.PgClient) => {
  const key = sql.literal(keyColumns)

  return {
    liveLeases: (organizationId: OrganizationId, among: ReadonlyArray<MeterKey>, at: Date) =>
      decoded(LiveLeases)(sql`
        SELECT lease.instance_id AS "instanceId", lease.entitlement_id AS "entitlementId", count(*)::int AS count
        FROM jsonb_to_recordset(${sql.json(among)}) AS asked ("instanceId" uuid, "entitlementId" uuid)
        JOIN usage_leases lease ON lease.organization_id = ${organizationId} AND lease.instance_id = asked."instanceId"
          AND lease.entitlement_id = asked."entitlementId" AND lease.expires_at > ${at}
        GROUP BY 1, 2`),

    eventsAfter: (organizationId: OrganizationId, key: TotalKey, timestamp: Date) =>
      Effect.map(
        decoded(StoredEvent)(sql`
          SELECT timestamp, behavior, value::text AS value, unique_key AS "uniqueKey" FROM usage_events
          WHERE organization_id = ${organizationId} AND instance_id = ${key.instanceId}
            AND entitlement_id = ${key.entitlementId} AND period_start = ${key.periodStart}
            AND timestamp > ${timestamp} AND voided_at IS NULL
          ORDER BY ordinal`),
        (rows) => rows.map((row): UsageEvent => ({ ...row, value: storedDecimal(row.value) })),
      ),

    countedKeys: (organizationId: OrganizationId, among: ReadonlyArray<CountedKey>) =>
      decoded(CountedKey)(sql`
        SELECT k.instance_id AS "instanceId", k.entitlement_id AS "entitlementId", k.period_start AS "periodStart",
          k.unique_key AS "uniqueKey"
        FROM jsonb_to_recordset(${sql.json(among)}) AS asked (${key}, "uniqueKey" text)
        JOIN usage_unique_keys k ON k.organization_id = ${organizationId} AND k.instance_id = asked."instanceId"
          AND k.entitlement_id = asked."entitlementId" AND k.period_start = asked."periodStart"
          AND k.unique_key = asked."uniqueKey"`),

    storeKeys: (organizationId: OrganizationId, keys: ReadonlyArray<CountedKey>) =>
      executed(sql`
        INSERT INTO usage_unique_keys (organization_id, instance_id, entitlement_id, period_start, unique_key)
        SELECT ${organizationId}::uuid, "instanceId", "entitlementId", "periodStart", "uniqueKey"
        FROM jsonb_to_recordset(${sql.json(keys)}) AS posted (${key}, "uniqueKey" text)`),
  }
}
