/** SQL of meters, totals and usage events. `LockedLedger` states the lock order. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { BigDecimal, Option } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import { decodedColumn, executed, record, records } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { TotalKey } from "./Account.ts"
import type { Total, UsageEvent } from "../rules/Aggregation.ts"
import type { Crossings } from "../rules/Limits.ts"
import { countedStatements, keyColumns } from "./CountedSql.ts"
import type { CountedKey, LiveLeases, MeterKey } from "./CountedSql.ts"
import type { Meter } from "./Model.ts"
import { isAddedOn } from "../../instances/addons/AddOnsSql.ts"
import { isOverridden } from "../../instances/overrides/OverridesSql.ts"
import { allowedOf, heldOf } from "../rules/Held.ts"
import type { HeldParts } from "../rules/Held.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { isLicensed, licenseAndGrantJoin } from "../../licenses/grants/GrantSql.ts"
import { familyJoin } from "../../licenses/LicensesSql.ts"
import { broughtIn, openAllowances, reservedQuantity } from "../terms/HeldSql.ts"
import { meterOf, meterWithAddOns } from "./MeterSql.ts"
import type { MeterRow } from "./MeterSql.ts"
import { explainedColumns } from "../terms/TermsSql.ts"

/** A stored total, with decimals as texts. */
export interface StoredTotal extends TotalKey, Crossings, Omit<Total, "value" | "sum" | "voidedCount"> {
  readonly voidedCount: number
  readonly value: string
  readonly burned: string
  readonly sum: string
  /** The location and the version of the row. Every change gives it another version. */
  readonly location: string
  readonly version: string
}

/** A total that was read. */
export interface TotalRow extends TotalKey {
  readonly total: Total
  /** What credits have paid of it. */
  readonly burned: BigDecimal.BigDecimal
  readonly crossings: Crossings
  readonly location: string
  readonly version: string
}

/** A total, with what reservations hold of its period. */
export interface LockedTotal extends TotalRow {
  readonly held: BigDecimal.BigDecimal
  /** What allowances hold of that. */
  readonly allowed: BigDecimal.BigDecimal
  /** The latest instant of a decision on it. */
  readonly decidedAt: Date
}

/** A total to lock, with the end of its period. */
type LockedKey = TotalKey & { readonly periodEnd: Date | null }

type LockedRow = StoredTotal & HeldParts & { readonly decidedAt: Date }

/** Parses a stored total. */
export const totalRowOf = (row: StoredTotal): TotalRow => ({
  instanceId: row.instanceId,
  entitlementId: row.entitlementId,
  periodStart: row.periodStart,
  location: row.location,
  version: row.version,
  burned: storedDecimal(row.burned),
  total: {
    value: storedDecimal(row.value),
    eventCount: row.eventCount,
    voidedCount: row.voidedCount,
    sum: storedDecimal(row.sum),
    valueCount: row.valueCount,
    setAt: row.setAt,
    latestAt: row.latestAt,
    lastAt: row.lastAt,
  },
  crossings: { warned: row.warned, limitReached: row.limitReached, capExceeded: row.capExceeded },
})

/** Names a meter by slugs. */
interface MeterPair {
  readonly instance: string
  readonly entitlement: string
}

/** The columns of the total `t`, without those of its instance and entitlement. */
export const totalColumns = `t.period_start AS "periodStart", t.value::text AS value, t.burned::text AS burned,
    t.event_count::float8 AS "eventCount", t.voided_count::float8 AS "voidedCount", t.sum::text AS sum, t.value_count::float8 AS "valueCount", t.set_at AS "setAt",
    t.latest_at AS "latestAt", t.last_at AS "lastAt", t.warned, t.limit_reached AS "limitReached",
    t.cap_exceeded AS "capExceeded", t.ctid::text AS location, t.xmin::text AS version`

/** Rows of meters, totals and usage events. They are cast: each report reads some. */
export class LedgerRepo extends Context.Service<
  LedgerRepo,
  {
    /**
     * Locks the instances and entitlements of these pairs, shared: they cannot be deleted until the transaction ends. Returns the
     * meters of those that exist. With `explain`, it reads what only an explanation shows.
     */
    readonly lockShared: (
      organizationId: OrganizationId,
      pairs: ReadonlyArray<MeterPair>,
      at: Date,
      explain?: boolean,
    ) => Effect.Effect<ReadonlyArray<Meter>>
    /** The same for one pair, before it is known at which instant it is decided. */
    readonly lockTermsShared: (
      organizationId: OrganizationId,
      pair: MeterPair,
    ) => Effect.Effect<Option.Option<MeterRow>>
    /** The meter of an instance and an entitlement; no row if one of them does not exist. */
    readonly find: (
      organizationId: OrganizationId,
      instance: string,
      entitlement: string,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<Meter>>
    /** A page of the meters that the instance's license, an add-on or an override grants, by display order. */
    readonly listGranted: (
      organizationId: OrganizationId,
      instance: string,
      after: readonly [displayOrder: number, entitlementId: string],
      count: number,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<Meter>>
    /** The meters of these entitlements, granted or not, by display order. */
    readonly listAmong: (
      organizationId: OrganizationId,
      instance: string,
      entitlements: ReadonlyArray<string>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<Meter>>
    /** Those of the slugs that name an instance. */
    readonly instancesAmong: (
      organizationId: OrganizationId,
      slugs: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<string>>
    /** How many leases of these meters are live at an instant. A meter without one is absent. */
    readonly liveLeases: (
      organizationId: OrganizationId,
      among: ReadonlyArray<MeterKey>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<LiveLeases>>
    /** The totals of these keys that exist. */
    readonly totals: (
      organizationId: OrganizationId,
      among: ReadonlyArray<TotalKey>,
    ) => Effect.Effect<ReadonlyArray<TotalRow>>
    /**
     * Locks the totals of these keys until the transaction ends, in key order. Missing ones start at zero. A second statement reads
     * them and what is held of them, so that it sees what was committed while the first waited.
     */
    readonly lockTotals: (
      organizationId: OrganizationId,
      among: ReadonlyArray<LockedKey>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<LockedTotal>>
    /** The events of a total after an instant, in the order of arrival. */
    readonly eventsAfter: (
      organizationId: OrganizationId,
      key: TotalKey,
      timestamp: Date,
    ) => Effect.Effect<ReadonlyArray<UsageEvent>>
    /** Those of the unique keys that their totals have counted. */
    readonly countedKeys: (
      organizationId: OrganizationId,
      among: ReadonlyArray<CountedKey>,
    ) => Effect.Effect<ReadonlyArray<CountedKey>>
    /** Stores unique keys that locked totals count for the first time. */
    readonly storeKeys: (organizationId: OrganizationId, keys: ReadonlyArray<CountedKey>) => Effect.Effect<void>
  }
>()("keyshelf/usage/ledger/LedgerRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(LedgerRepo, make))
}

const metersAt =
  (at: Date) =>
  (statement: Effect.Effect<ReadonlyArray<unknown>, SqlError>): Effect.Effect<ReadonlyArray<Meter>> =>
    Effect.map(records<MeterRow>()(statement), (rows) => rows.map((row) => meterOf(row, at)))

const slugsIn = decodedColumn("slug", Schema.String)

const meters = (sql: PgClient.PgClient) => {
  const columns = (organizationId: OrganizationId) => meterWithAddOns(sql, sql`${organizationId}`)
  const grants = sql.literal(licenseAndGrantJoin)
  const explained = sql.literal(explainedColumns)
  const family = sql.literal(familyJoin)
  const nothing = sql.literal("")
  const isGranted = sql.literal(`${isLicensed} OR ${isOverridden}`)
  const locked = (organizationId: OrganizationId, pairs: ReadonlyArray<MeterPair>, explain: boolean) => sql`
    SELECT ${columns(organizationId)}${explain ? explained : nothing}
    FROM jsonb_to_recordset(${sql.json(pairs)}) AS asked (instance text, entitlement text)
    JOIN ${instancesSql.as("i")} ON i.organization_id = ${organizationId} AND i.slug = asked.instance
    JOIN ${entitlementsSql.as("e")} ON e.organization_id = ${organizationId} AND e.slug = asked.entitlement
    ${grants} ${explain ? family : nothing}
    FOR KEY SHARE OF i, e`

  return {
    lockShared: (organizationId: OrganizationId, pairs: ReadonlyArray<MeterPair>, at: Date, explain = false) =>
      metersAt(at)(locked(organizationId, pairs, explain)),

    lockTermsShared: (organizationId: OrganizationId, pair: MeterPair) =>
      record<MeterRow>()(locked(organizationId, [pair], false)),

    find: (organizationId: OrganizationId, instance: string, entitlement: string, at: Date) =>
      metersAt(at)(sql`
        SELECT ${columns(organizationId)} FROM ${instancesSql.as("i")} JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id ${grants}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instance} AND e.slug = ${entitlement}`),

    listGranted: (
      organizationId: OrganizationId,
      instance: string,
      [displayOrder, id]: readonly [number, string],
      count: number,
      at: Date,
    ) =>
      metersAt(at)(sql`
        SELECT ${columns(organizationId)} FROM ${instancesSql.as("i")} JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id ${grants}
        CROSS JOIN (SELECT ${at}::timestamptz AS at) asked
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instance} AND (${isGranted} OR ${isAddedOn(sql, sql`${organizationId}`)})
          AND (e.display_order, e.id) > (${displayOrder}, ${id})
        ORDER BY e.display_order, e.id LIMIT ${count}`),

    listAmong: (organizationId: OrganizationId, instance: string, entitlements: ReadonlyArray<string>, at: Date) =>
      metersAt(at)(sql`
        SELECT ${columns(organizationId)} FROM ${instancesSql.as("i")} JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id
          AND e.slug IN (SELECT jsonb_array_elements_text(${sql.json(entitlements)}))
        ${grants}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instance}
        ORDER BY e.display_order, e.id`),

    instancesAmong: (organizationId: OrganizationId, slugs: ReadonlyArray<string>) =>
      slugsIn(sql`
        SELECT slug FROM ${instancesSql.rows} WHERE organization_id = ${organizationId}
          AND slug IN (SELECT jsonb_array_elements_text(${sql.json(slugs)}))`),
  }
}

const totals = (sql: PgClient.PgClient) => {
  const columns = sql.literal(`t.instance_id AS "instanceId", t.entitlement_id AS "entitlementId", ${totalColumns}`)
  const key = sql.literal(keyColumns)
  const askedPeriods = (among: ReadonlyArray<LockedKey>) =>
    sql`jsonb_to_recordset(${sql.json(among)}) AS asked (${key}, "periodEnd" timestamptz)`
  const heldColumns = (organization: Fragment) => {
    const meter = { organization, instance: "t.instance_id", entitlement: "t.entitlement_id" }
    const bounds = { at: "t.decided_at", begins: "t.period_start", ends: `coalesce(asked."periodEnd", 'infinity')` }
    return sql`(${reservedQuantity(sql, meter, { ...bounds, period: "t.period_start" })})::text AS held, (${openAllowances(sql, meter, bounds)}) AS allowances,
        (${broughtIn(sql, meter, "t.period_start")}) AS "broughtIn"`
  }
  const asRows = Effect.map((rows: ReadonlyArray<StoredTotal>) => rows.map(totalRowOf))

  return {
    totals: (organizationId: OrganizationId, among: ReadonlyArray<TotalKey>) =>
      asRows(
        records<StoredTotal>()(sql`
          SELECT ${columns} FROM jsonb_to_recordset(${sql.json(among)}) AS asked (${key})
          JOIN usage_totals t ON t.organization_id = ${organizationId} AND t.instance_id = asked."instanceId"
            AND t.entitlement_id = asked."entitlementId" AND t.period_start = asked."periodStart"`),
      ),

    lockTotals: Effect.fnUntraced(function* (
      organizationId: OrganizationId,
      among: ReadonlyArray<LockedKey>,
      at: Date,
    ): Effect.fn.Return<ReadonlyArray<LockedTotal>> {
      yield* executed(sql`
        INSERT INTO usage_totals AS t (organization_id, instance_id, entitlement_id, period_start, value, event_count, decided_at)
        SELECT DISTINCT ${organizationId}::uuid, asked."instanceId", asked."entitlementId", asked."periodStart", 0::numeric,
          0::bigint, ${at}::timestamptz
        FROM ${askedPeriods(among)} ORDER BY 1, 2, 3, 4
        ON CONFLICT (organization_id, instance_id, entitlement_id, period_start)
          DO UPDATE SET decided_at = greatest(t.decided_at, excluded.decided_at)`)
      const rows = yield* records<LockedRow>()(sql`
        SELECT ${columns}, t.decided_at AS "decidedAt", ${heldColumns(sql`${organizationId}`)}
        FROM ${askedPeriods(among)}
        JOIN usage_totals t ON t.organization_id = ${organizationId} AND t.instance_id = asked."instanceId"
          AND t.entitlement_id = asked."entitlementId" AND t.period_start = asked."periodStart"`)
      return rows.map((row) => ({
        ...totalRowOf(row),
        held: heldOf(row, { start: row.periodStart }),
        allowed: allowedOf(row, { start: row.periodStart }),
        decidedAt: row.decidedAt,
      }))
    }),
  }
}

const make = Effect.map(PgClient.PgClient, (sql) => ({ ...meters(sql), ...totals(sql), ...countedStatements(sql) }))
