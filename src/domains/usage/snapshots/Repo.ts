/** SQL of snapshots in two parts: the catalog, which is cached by its version, and what changes all the time. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { column, decoded, decodedOne } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { catalogVersionJoin, entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { AggregationMethod } from "../../entitlements/Model.ts"
import { hasExtras } from "../../instances/addons/AddOnsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { AppliedOverride } from "../../instances/overrides/Model.ts"
import { grantJoin, licensedConfiguration, licensedTerms } from "../../licenses/grants/GrantSql.ts"
import { licenseJoin } from "../../licenses/LicensesSql.ts"
import { LicensedTerms } from "../rules/Grant.ts"
import { CheckedEntitlement, CheckedInstance } from "../rules/Terms.ts"
import { hasReservations, reservedQuantity } from "../terms/HeldSql.ts"
import { checkedBounds, graceDays, meterOfInstance } from "../terms/TermsSql.ts"
import type { AsOf } from "../terms/TermsSql.ts"

const { configuration, entitlement, resetAnchor, resetPeriod, type } = CheckedEntitlement.fields

/** An entitlement of the organization, and what a license grants of it. */
const CatalogEntry = Schema.Struct({
  ...LicensedTerms.fields,
  id: Schema.String,
  entitlement,
  type,
  resetPeriod,
  resetAnchor,
  configuration,
  aggregationMethod: Schema.NullOr(AggregationMethod),
})
export type CatalogEntry = typeof CatalogEntry.Type

/** What names a catalog: within a version, entitlements are only added. */
const CatalogName = Schema.Struct({
  catalogVersion: Schema.NullOr(Schema.String),
  /** How many entitlements the organization has. */
  entitlements: Schema.Int,
  licenseId: Schema.String,
})

/** Decimals, in the order of what was asked for. */
const Amounts = Schema.Array(Schema.NullOr(Schema.String))

const { facts: _facts, ...instanceFields } = CheckedInstance.fields

/** An instance with the usage that was asked for, and the name of its catalog. */
const UsageRow = Schema.Struct({
  ...instanceFields,
  ...CatalogName.fields,
  /** By the id of the entitlement; `null` without any. */
  overrides: Schema.NullOr(Schema.Record(Schema.String, AppliedOverride)),
  /** Whether allowances may hold something, which is not read here. */
  isAllowing: Schema.Boolean,
  /** Whether the instance may have add-ons, which are not read here. */
  hasExtras: Schema.Boolean,
  used: Amounts,
  /** `null` if nothing is held. */
  held: Schema.NullOr(Amounts),
})
export type UsageRow = typeof UsageRow.Type

/** The totals to read: an entitlement and the start of its period each. */
export interface WantedTotals {
  readonly ids: ReadonlyArray<string>
  readonly periods: ReadonlyArray<Date>
}

/** Reads the parts of snapshots. */
export class StandingsRepo extends Context.Service<
  StandingsRepo,
  {
    /** The instance with its usage, and the name of its catalog at the same instant. */
    readonly findUsage: (
      organizationId: OrganizationId,
      instanceSlug: string,
      wanted: WantedTotals,
      asOf: AsOf,
    ) => Effect.Effect<Option.Option<UsageRow>>
    /** All entitlements of the organization, with what the license of the instance grants. */
    readonly findCatalog: (
      organizationId: OrganizationId,
      instanceSlug: string,
    ) => Effect.Effect<ReadonlyArray<CatalogEntry>>
  }
>()("keyshelf/usage/snapshots/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(StandingsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const granted = sql.literal(`${licensedTerms}, ${licensedConfiguration}`)

  return StandingsRepo.of({
    findUsage: (organizationId, instanceSlug, { ids, periods }, { at, known }) => {
      const organization = sql`${organizationId}`
      const meter = meterOfInstance(organization, "wanted.id")
      const held = reservedQuantity(sql, meter, { ...checkedBounds, period: "wanted.period" })
      const wanted = sql`FROM unnest(
            (SELECT ${column("uuid", ids, (id) => id)}), (SELECT ${column("timestamptz", periods, (start) => start)})
          ) WITH ORDINALITY AS wanted (id, period, n) ORDER BY wanted.n`
      return decodedOne(UsageRow)(sql`
        SELECT i.slug AS instance, l.slug AS license, i.start_license_date AS "startLicenseDate",
          i.end_license_date AS "endLicenseDate", ${sql.literal(graceDays)}, i.license_id AS "licenseId",
          i.overrides, coalesce(i.allowances_until > asked.at, false) AS "isAllowing", ${sql.literal(hasExtras)},
          c.version AS "catalogVersion",
          (SELECT count(*)::int FROM ${entitlementsSql.rows} WHERE organization_id = ${organization}) AS entitlements,
          ARRAY(SELECT (
            SELECT value::text FROM usage_totals WHERE organization_id = ${organization} AND instance_id = i.id
              AND entitlement_id = wanted.id AND period_start = wanted.period
          ) ${wanted}) AS used,
          CASE WHEN ${hasReservations(sql, meter)} THEN ARRAY(SELECT (${held})::text ${wanted}) END AS held
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        ${licenseJoin(sql, organization)} ${catalogVersionJoin(sql, organization)}
        WHERE i.organization_id = ${organization} AND i.slug = ${instanceSlug}`)
    },

    findCatalog: (organizationId, instanceSlug) =>
      decoded(CatalogEntry)(sql`
        SELECT e.id, e.slug AS entitlement, e.type, e.reset_period AS "resetPeriod", e.reset_anchor AS "resetAnchor",
          e.aggregation_method AS "aggregationMethod", ${granted}
        FROM ${instancesSql.as("i")}
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id
        ${grantJoin(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}
        ORDER BY e.slug COLLATE "C"`),
  })
})
