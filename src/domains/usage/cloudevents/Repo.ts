/** SQL of batches that are counted set-wise: it raises totals without reading them. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { decoded, decodedOne } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EntitlementType, AggregationMethod, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import { addOnsOfRow } from "../../instances/addons/AddOnsSql.ts"
import { AppliedAddOn } from "../../instances/addons/Model.ts"
import { AppliedOverride } from "../../instances/overrides/Model.ts"
import type { Meter } from "../ledger/Model.ts"
import { AddedTerms, grantAt, licensedGrant, LicensedTerms } from "../rules/Grant.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { addedTerms, grantsOfLicenses, licensedTerms } from "../../licenses/grants/GrantSql.ts"
import { licensesSql } from "../../licenses/LicensesSql.ts"
import { mostHeld } from "../terms/HeldSql.ts"
import type { BatchTotals } from "./BatchTotals.ts"
import { postAtOnce } from "./PostSql.ts"
import type { Reception } from "./PostSql.ts"

const Instance = Schema.Struct({
  instanceId: Schema.String,
  instance: Schema.String,
  licenseId: Schema.String,
  startLicenseDate: Schema.String,
  endLicenseDate: Schema.NullOr(Schema.String),
  graceDays: Schema.NullOr(Schema.Int),
  /** By the id of the entitlement. */
  overrides: Schema.NullOr(Schema.Record(Schema.String, AppliedOverride)),
  addOns: Schema.NullOr(Schema.Array(AppliedAddOn)),
  /** The ids of entitlements whose credits it has, or had. */
  credits: Schema.NullOr(Schema.Array(Schema.String)),
})

const Entitlement = Schema.Struct({
  entitlementId: Schema.String,
  entitlement: Schema.String,
  entitlementName: Schema.String,
  type: EntitlementType,
  aggregationMethod: Schema.NullOr(AggregationMethod),
  resetPeriod: Schema.NullOr(ResetPeriod),
  resetAnchor: Schema.NullOr(ResetAnchor),
  warningThresholdPercent: Schema.NullOr(Schema.Int),
  displayOrder: Schema.Int,
})

const TermsRow = Schema.Struct({
  instances: Schema.Array(Instance),
  entitlements: Schema.Array(Entitlement),
  licenses: Schema.Array(Schema.Struct({ licenseId: Schema.String, license: Schema.String, graceDays: Schema.Int })),
  grants: Schema.Array(
    Schema.Struct({ ...LicensedTerms.fields, licenseId: Schema.String, entitlementId: Schema.String }),
  ),
  addedGrants: Schema.Array(
    Schema.Struct({ ...AddedTerms.fields, licenseId: Schema.String, entitlementId: Schema.String }),
  ),
})
type TermsRow = typeof TermsRow.Type

/** What is held of a meter; a decimal. */
const HeldQuantity = Schema.Struct({
  instanceId: Schema.String,
  entitlementId: Schema.String,
  quantity: Schema.String,
})

/** Instances and entitlements of an organization, and the grants of the instances' licenses and add-ons. */
export interface Terms {
  readonly instances: ReadonlySet<string>
  /** The meter of an instance and an entitlement, if both exist. The same two always have the same meter. */
  readonly meterOf: (instance: string, entitlement: string) => Meter | undefined
}

const termsOf = (organizationId: OrganizationId, row: TermsRow, at: Date): Terms => {
  const licenses = new Map(row.licenses.map((license) => [license.licenseId, license]))
  const granted = Map.groupBy(row.grants, ({ entitlementId }) => entitlementId)
  const added = Map.groupBy(row.addedGrants, ({ entitlementId }) => entitlementId)
  const instances = new Map(
    row.instances.map(({ endLicenseDate, graceDays, startLicenseDate, ...own }) => {
      const license = licenses.get(own.licenseId)
      const startDate = new Date(startLicenseDate)
      const endDate = endLicenseDate === null ? null : new Date(endLicenseDate)
      const days = graceDays ?? license?.graceDays ?? 0
      return [own.instance, { ...own, license: license?.license ?? "", startDate, endDate, days }]
    }),
  )
  const entitlements = new Map(
    row.entitlements.map((terms) => {
      const grants = new Map(
        granted.get(terms.entitlementId)?.map((grant) => [grant.licenseId, licensedGrant(grant)] as const),
      )
      const addedGrants = new Map(added.get(terms.entitlementId)?.map((grant) => [grant.licenseId, grant] as const))
      return [terms.entitlement, { terms, grants, addedGrants, meters: new Map<string, Meter>() }]
    }),
  )
  return {
    instances: new Set(instances.keys()),
    meterOf: (instance, entitlement) => {
      const metered = entitlements.get(entitlement)
      const known = metered?.meters.get(instance)
      if (known !== undefined) return known
      const found = instances.get(instance)
      if (found === undefined || metered === undefined) return undefined
      const { addedGrants, grants, meters, terms } = metered
      const licensed = grants.get(found.licenseId) ?? null
      const addOns = found.addOns?.flatMap((addOn) => {
        const grant = addedGrants.get(addOn.licenseId)
        return grant === undefined ? [] : [{ ...addOn, ...grant }]
      })
      // Property by property: there are hundreds of meters, and a spread allocates each several times.
      const meter: Meter = {
        organizationId,
        instanceId: found.instanceId,
        instance,
        license: found.license,
        startLicenseDate: found.startDate,
        endLicenseDate: found.endDate,
        graceDays: found.days,
        entitlementId: terms.entitlementId,
        entitlement,
        entitlementName: terms.entitlementName,
        type: terms.type,
        aggregationMethod: terms.aggregationMethod,
        resetPeriod: terms.resetPeriod,
        resetAnchor: terms.resetAnchor,
        warningThresholdPercent: terms.warningThresholdPercent,
        displayOrder: terms.displayOrder,
        hasCredits: found.credits?.includes(terms.entitlementId) ?? false,
        grant: grantAt(licensed, { addOns, override: found.overrides?.[terms.entitlementId] }, at),
      }
      meters.set(instance, meter)
      return meter
    },
  }
}

interface CloudEventQueries {
  /**
   * The terms of all meters of these instances and entitlements. One statement, so that it sees a license before or
   * after a concurrent change, never half of it. It returns each row once, as JSON: a row for each meter would repeat
   * the same few values hundreds of times. The fences force index look-ups and one plan.
   */
  readonly terms: (
    organizationId: OrganizationId,
    instances: ReadonlyArray<string>,
    entitlements: ReadonlyArray<string>,
    at: Date,
  ) => Effect.Effect<Terms>
  /**
   * Adds tallies to their totals and stores their events. Returns how many totals were raised; if not all were, the
   * transaction must be rolled back. A total is not raised across a threshold, or by events older than its newest
   * `set`. A missing total starts with its tally, unless another transaction has locked its instance or entitlement.
   */
  readonly post: (organizationId: OrganizationId, totals: BatchTotals, reception: Reception) => Effect.Effect<number>
  /**
   * What reservations and allowances hold of the meters of these instances at most, in any period. It must run after
   * `post`, whose locks prevent new ones: so it includes what was reserved while `post` waited.
   */
  readonly held: (
    organizationId: OrganizationId,
    instances: ReadonlyArray<string>,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<typeof HeldQuantity.Type>>
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const licensed = sql.literal(licensedTerms)
  const added = sql.literal(addedTerms)
  const addOns = sql.literal(addOnsOfRow)

  return {
    terms: (organizationId, instances, entitlements, at) =>
      Effect.map(
        decodedOne(TermsRow)(sql`
          WITH i AS MATERIALIZED (
            SELECT id AS "instanceId", slug AS instance, license_id AS "licenseId",
              start_license_date AS "startLicenseDate", end_license_date AS "endLicenseDate", grace_days AS "graceDays", overrides,
              ${addOns} AS "addOns", extras -> 'credits' AS credits
            FROM ${instancesSql.rows}
            WHERE organization_id = ${organizationId} AND slug = ANY(ARRAY(SELECT unnest(${instances}::text[])))
          ), e AS MATERIALIZED (
            SELECT id AS "entitlementId", slug AS entitlement, name AS "entitlementName", type,
              aggregation_method AS "aggregationMethod", reset_period AS "resetPeriod", reset_anchor AS "resetAnchor",
              warning_threshold_percent AS "warningThresholdPercent", display_order AS "displayOrder"
            FROM ${entitlementsSql.rows}
            WHERE organization_id = ${organizationId} AND slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
          ), l AS MATERIALIZED (
            SELECT used."licenseId", found.license, found."graceDays" FROM (SELECT DISTINCT "licenseId" FROM i) used
            CROSS JOIN LATERAL (
              SELECT slug AS license, grace_days AS "graceDays" FROM ${licensesSql.rows}
              WHERE organization_id = ${organizationId} AND id = used."licenseId" OFFSET 0
            ) found
          ), g AS MATERIALIZED (
            SELECT l."licenseId", e."entitlementId", ${licensed} FROM l CROSS JOIN e ${grantsOfLicenses(sql, sql`${organizationId}`)}
          ), a AS MATERIALIZED (
            SELECT DISTINCT (item ->> 'licenseId')::uuid AS "licenseId" FROM i CROSS JOIN jsonb_array_elements(i."addOns") AS own (item)
            WHERE i."addOns" IS NOT NULL
          ), ag AS MATERIALIZED (
            SELECT l."licenseId", e."entitlementId", ${added} FROM a l CROSS JOIN e ${grantsOfLicenses(sql, sql`${organizationId}`)}
          )
          SELECT (SELECT coalesce(json_agg(i), '[]') FROM i) AS instances,
            (SELECT coalesce(json_agg(e), '[]') FROM e) AS entitlements,
            (SELECT coalesce(json_agg(l), '[]') FROM l) AS licenses,
            (SELECT coalesce(json_agg(g), '[]') FROM g) AS grants,
            (SELECT coalesce(json_agg(ag), '[]') FROM ag) AS "addedGrants"`),
        (row) => termsOf(organizationId, Option.getOrThrow(row), at),
      ),

    post: postAtOnce(sql),

    held: (organizationId, instances, at) =>
      decoded(HeldQuantity)(sql`${mostHeld(sql, organizationId, instances, at)}`),
  } satisfies CloudEventQueries
})

/** Rows of batches that are counted set-wise. */
export class CloudEventsRepo extends Context.Service<CloudEventsRepo, CloudEventQueries>()(
  "keyshelf/usage/cloudevents/Repo",
) {
  static readonly layer = Layer.effect(CloudEventsRepo, make)
}
