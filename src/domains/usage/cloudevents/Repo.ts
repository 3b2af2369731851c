/** SQL of batches that are counted set-wise: it raises totals without reading them. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { record, records } from "../../../kernel/database/Statements.ts"
import type { AppliedOverride } from "../../instances/overrides/Model.ts"
import type { Meter } from "../ledger/Model.ts"
import { grantAt, licensedGrant } from "../rules/Grants.ts"
import type { LicensedTerms } from "../rules/Grants.ts"
import { grantsOfLicenses, licensedTerms } from "../terms/GrantSql.ts"
import { mostHeld } from "../terms/HeldSql.ts"
import type { BatchTotals } from "./BatchTotals.ts"
import { postAtOnce } from "./PostSql.ts"
import type { Reception } from "./PostSql.ts"

type Instance = Pick<Meter, "instanceId" | "instance"> & {
  readonly licenseId: string
  readonly startLicenseDate: string
  readonly endLicenseDate: string | null
  readonly graceDays: number | null
  /** By the id of the entitlement. */
  readonly overrides: Readonly<Record<string, AppliedOverride>> | null
}
type Entitlement = Pick<
  Meter,
  | "entitlementId"
  | "entitlement"
  | "entitlementName"
  | "type"
  | "aggregationMethod"
  | "resetPeriod"
  | "resetAnchor"
  | "warningThresholdPercent"
  | "displayOrder"
>
type LicenseGrant = LicensedTerms & {
  readonly licenseId: string
  readonly entitlementId: string
}
interface TermsRow {
  readonly instances: ReadonlyArray<Instance>
  readonly entitlements: ReadonlyArray<Entitlement>
  readonly licenses: ReadonlyArray<{ readonly licenseId: string; readonly license: string; readonly graceDays: number }>
  readonly grants: ReadonlyArray<LicenseGrant>
}

/** Instances and entitlements of an organization, and the grants of the instances' licenses. */
export interface Terms {
  readonly instances: ReadonlySet<string>
  /** The meter of an instance and an entitlement, if both exist. The same two always have the same meter. */
  readonly meterOf: (instance: string, entitlement: string) => Meter | undefined
}

const termsOf = (organizationId: string, row: TermsRow, at: Date): Terms => {
  const licenses = new Map(row.licenses.map((license) => [license.licenseId, license]))
  const granted = Map.groupBy(row.grants, ({ entitlementId }) => entitlementId)
  const instances = new Map(
    row.instances.map(({ endLicenseDate, graceDays, instance, instanceId, licenseId, overrides, startLicenseDate }) => {
      const license = licenses.get(licenseId)
      const startDate = new Date(startLicenseDate)
      const endDate = endLicenseDate === null ? null : new Date(endLicenseDate)
      const days = graceDays ?? license?.graceDays ?? 0
      return [instance, { instanceId, licenseId, license: license?.license ?? "", startDate, endDate, days, overrides }]
    }),
  )
  const entitlements = new Map(
    row.entitlements.map((terms) => {
      const grants = new Map(
        granted.get(terms.entitlementId)?.map((grant) => [grant.licenseId, licensedGrant(grant)] as const),
      )
      return [terms.entitlement, { terms, grants, meters: new Map<string, Meter>() }]
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
      const { grants, meters, terms } = metered
      const licensed = grants.get(found.licenseId) ?? null
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
        grant: grantAt(licensed, found.overrides?.[terms.entitlementId], at),
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
    organizationId: string,
    instances: ReadonlyArray<string>,
    entitlements: ReadonlyArray<string>,
    at: Date,
  ) => Effect.Effect<Terms>
  /**
   * Adds tallies to their totals and stores their events. Returns how many totals were raised; if not all were, the
   * transaction must be rolled back. A total is not raised across a threshold, or by events older than its newest
   * `set`. A missing total starts with its tally, unless another transaction has locked its instance or entitlement.
   */
  readonly post: (organizationId: string, totals: BatchTotals, reception: Reception) => Effect.Effect<number>
  /**
   * What reservations and allowances hold of the meters of these instances at most, in any period. It must run after
   * `post`, whose locks prevent new ones: so it includes what was reserved while `post` waited.
   */
  readonly held: (
    organizationId: string,
    instances: ReadonlyArray<string>,
    at: Date,
  ) => Effect.Effect<
    ReadonlyArray<{ readonly instanceId: string; readonly entitlementId: string; readonly quantity: string }>
  >
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const licensed = sql.literal(licensedTerms)

  return {
    terms: (organizationId, instances, entitlements, at) =>
      Effect.map(
        record<TermsRow>()(sql`
          WITH i AS MATERIALIZED (
            SELECT id AS "instanceId", slug AS instance, license_id AS "licenseId",
              start_license_date AS "startLicenseDate", end_license_date AS "endLicenseDate", grace_days AS "graceDays", overrides
            FROM instances
            WHERE organization_id = ${organizationId} AND slug = ANY(ARRAY(SELECT unnest(${instances}::text[])))
          ), e AS MATERIALIZED (
            SELECT id AS "entitlementId", slug AS entitlement, name AS "entitlementName", type,
              aggregation_method AS "aggregationMethod", reset_period AS "resetPeriod", reset_anchor AS "resetAnchor",
              warning_threshold_percent AS "warningThresholdPercent", display_order AS "displayOrder"
            FROM entitlements
            WHERE organization_id = ${organizationId} AND slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
          ), l AS MATERIALIZED (
            SELECT used."licenseId", found.license, found."graceDays" FROM (SELECT DISTINCT "licenseId" FROM i) used
            CROSS JOIN LATERAL (
              SELECT slug AS license, grace_days AS "graceDays" FROM licenses
              WHERE organization_id = ${organizationId} AND id = used."licenseId" OFFSET 0
            ) found
          ), g AS MATERIALIZED (
            SELECT l."licenseId", e."entitlementId", ${licensed} FROM l CROSS JOIN e ${grantsOfLicenses(sql, sql`${organizationId}`)}
          )
          SELECT (SELECT coalesce(json_agg(i), '[]') FROM i) AS instances,
            (SELECT coalesce(json_agg(e), '[]') FROM e) AS entitlements,
            (SELECT coalesce(json_agg(l), '[]') FROM l) AS licenses,
            (SELECT coalesce(json_agg(g), '[]') FROM g) AS grants`),
        (row) => termsOf(organizationId, Option.getOrThrow(row), at),
      ),

    post: postAtOnce(sql),

    held: (organizationId, instances, at) =>
      records<{ readonly instanceId: string; readonly entitlementId: string; readonly quantity: string }>()(
        sql`${mostHeld(sql, organizationId, instances, at)}`,
      ),
  } satisfies CloudEventQueries
})

/** Rows of batches that are counted set-wise. */
export class CloudEventsRepo extends Context.Service<CloudEventsRepo, CloudEventQueries>()(
  "keyshelf/usage/cloudevents/Repo",
) {
  static readonly layer = Layer.effect(CloudEventsRepo, make)
}
