/** SQL of batched checks, with their catalog or with their usage only. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { HotPath } from "../../../../kernel/database/Connections.ts"
import { records } from "../../../../kernel/database/Statements.ts"
import { instantText } from "../../../../kernel/values/Timestamp.ts"
import { toJson } from "../../../../kernel/contract/JsonResponse.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import { catalogVersionJoin, entitlementsSql } from "../../../entitlements/EntitlementsSql.ts"
import type { AggregationMethod } from "../../../entitlements/Model.ts"
import { instancesSql } from "../../../instances/InstancesSql.ts"
import { hasExtras } from "../../../instances/addons/AddOnsSql.ts"
import type { AppliedOverride } from "../../../instances/overrides/Model.ts"
import { licenseJoin } from "../../../licenses/LicensesSql.ts"
import type { CheckedEntitlement, CheckedInstance } from "../../rules/Terms.ts"
import { hasReservations, reservedQuantity } from "../../terms/HeldSql.ts"
import {
  checkedBounds,
  checkedColumns,
  grantsAndUsageJoins,
  liveLeases,
  meterOfInstance,
  ownOrganization,
} from "../../terms/TermsSql.ts"
import type { AsOf } from "../../terms/TermsSql.ts"

/** A check of an instance. */
export interface CheckQuestion extends AsOf {
  readonly organizationId: OrganizationId
  readonly instance: string
  readonly entitlements: ReadonlyArray<string>
}

/**
 * The version of the organization's catalog, which every change of its entitlements and grants replaces, the license, and whether
 * there may be allowances or add-ons.
 */
interface Versioned {
  readonly catalogVersion: string | null
  readonly licenseId: string
  /** Until when the instance has allowances; `null` if it never had one. */
  readonly allowancesUntil: Date | null
  /** Whether the instance has agreed something beside its license and overrides. */
  readonly hasExtras: boolean
}

/** A row of a check with everything that it is decided on. It is cast: decoding takes 4 µs of each check. */
export type CatalogRow = CheckedInstance &
  Versioned & { readonly licenseGraceDays: number } & (
    | (CheckedEntitlement & { readonly entitlementId: string; readonly aggregationMethod: AggregationMethod | null })
    | { readonly entitlement: null }
  )

/** What is left to read where the catalog is cached: the usage in a period, or leases. Its start is a text, as it is sent. */
export interface WantedUsage {
  readonly organizationId: OrganizationId
  readonly instance: string
  readonly entitlementIds: ReadonlyArray<string>
  readonly periodStart: string
  /** Whether the usage is how many hold a lease. */
  readonly leased?: boolean
}

/** {@link WantedUsage} at an instant. */
interface UsageQuestion extends AsOf {
  /** {@link WantedUsage} as JSON, serialized once for all checks that use it. */
  readonly wanted: string
}

/** The row of a {@link UsageQuestion}. */
export interface UsageRow extends Pick<CheckedInstance, "startLicenseDate" | "endLicenseDate">, Versioned {
  /** Of the instance itself; `null` if it has those of its license. */
  readonly graceDays: number | null
  /** Of the instance, by the id of the entitlement; `null` if it has none. */
  readonly overrides: Readonly<Record<string, AppliedOverride>> | null
  /** An array in PostgreSQL's text format: the total of each entitlement, in the order of the question. */
  readonly used: string
  /** The same of what reservations hold; `null` if the instance has none. */
  readonly held: string | null
}

const withInstants = ({ at, known, wanted }: UsageQuestion): string =>
  `${wanted.slice(0, -1)},"at":"${instantText(at)}","known":"${instantText(known)}"}`

interface Numbered {
  /** The index of the question in the statement. */
  readonly number: number
}

interface CheckBatchQueries {
  /** Whether a statement takes checks of one organization only. Then no catalogs are cached. */
  readonly separatesOrganizations: boolean
  /**
   * Everything that these checks are decided on, in one round trip. With `within`, all of them belong to that
   * organization. Rows carry the number of their check; there is none if the instance does not exist. The caller
   * finds the total of the period.
   */
  readonly findWithCatalog: (
    questions: ReadonlyArray<CheckQuestion>,
    within: OrganizationId | null,
  ) => Effect.Effect<ReadonlyArray<CatalogRow & Numbered>>
  /**
   * Less, where the catalog is cached: the instance, its usage, and the version of the catalog, but no allowances and no add-ons. They
   * may belong to several organizations.
   */
  readonly findUsage: (questions: ReadonlyArray<UsageQuestion>) => Effect.Effect<ReadonlyArray<UsageRow & Numbered>>
}

/** The parts of a statement that reads checks with the catalog of an organization. */
const withCatalog = (sql: PgClient.PgClient, organization: Fragment, asked = organization) => ({
  asked,
  columns: sql`${checkedColumns(sql, organization)}, ${sql.literal(`l.grace_days AS "licenseGraceDays",
    e.id AS "entitlementId", e.aggregation_method AS "aggregationMethod", i.license_id AS "licenseId",
    c.version AS "catalogVersion", i.allowances_until AS "allowancesUntil", ${hasExtras}`)}`,
  license: licenseJoin(sql, organization),
  catalogVersion: catalogVersionJoin(sql, organization),
  checked: sql`LEFT JOIN LATERAL (
      SELECT id, slug, type, aggregation_method, reset_period, reset_anchor FROM ${entitlementsSql.rows}
      WHERE organization_id = ${organization} AND slug = ANY(asked.entitlements) OFFSET 0
    ) e ON true`,
  grantsAndUsage: grantsAndUsageJoins(sql, organization),
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask, askFor } = yield* HotPath
  const own = ownOrganization(sql)
  const ofEach = withCatalog(sql, own, sql.literal(`asked."organizationId"`))
  const catalogVersion = catalogVersionJoin(sql, own)
  const wanted = meterOfInstance(own, "wanted.id")
  const held = reservedQuantity(sql, wanted, { ...checkedBounds, period: `asked."periodStart"` })
  const some = hasReservations(sql, wanted)
  const live = liveLeases(sql, own, "wanted.id")
  const extended = sql.literal(hasExtras)

  return {
    separatesOrganizations: false,

    findWithCatalog: (questions, within) => {
      const { asked, catalogVersion, checked, columns, grantsAndUsage, license } =
        within === null ? ofEach : withCatalog(sql, sql`${within}`)
      const askWithin = within === null ? ask : askFor(within)
      return records<CatalogRow & Numbered>()(
        askWithin(
          (client) => client`
        SELECT asked.number, ${columns}
        FROM jsonb_to_recordset(${sql.json(questions.map((question, number) => toJson({ number, ...question })))})
          AS asked (number int, "organizationId" uuid, instance text, entitlements text[], at timestamptz, known timestamptz)
        CROSS JOIN LATERAL (
          SELECT organization_id, id, slug, license_id, start_license_date, end_license_date, grace_days, overrides,
            allowances_until, extras
          FROM ${instancesSql.rows}
          WHERE organization_id = ${asked} AND slug = asked.instance OFFSET 0
        ) i
        ${license}
        ${catalogVersion}
        ${checked}
        ${grantsAndUsage}`,
        ),
      )
    },

    findUsage: (questions) =>
      records<UsageRow & Numbered>()(
        ask(
          (client) => client`
        SELECT asked.number::int - 1 AS number, i.license_id AS "licenseId", i.start_license_date AS "startLicenseDate",
          i.end_license_date AS "endLicenseDate", i.grace_days AS "graceDays", i.overrides, c.version AS "catalogVersion",
          CASE WHEN asked.leased THEN ARRAY(SELECT (${live}) FROM unnest(asked."entitlementIds") AS wanted (id))::text
          ELSE ARRAY(
            SELECT (
              SELECT value FROM usage_totals WHERE organization_id = i.organization_id AND instance_id = i.id
                AND entitlement_id = wanted.id AND period_start = asked."periodStart"
            ) FROM unnest(asked."entitlementIds") AS wanted (id)
          )::text END AS used,
          CASE WHEN ${some} THEN ARRAY(SELECT (${held}) FROM unnest(asked."entitlementIds") AS wanted (id))::text END AS held,
          i.allowances_until AS "allowancesUntil", ${extended}
        FROM ROWS FROM (
          jsonb_to_recordset(${`[${questions.map(withInstants).join(",")}]`}::text::jsonb) AS ("organizationId" uuid, instance text, "entitlementIds" uuid[],
            "periodStart" timestamptz, leased boolean, at timestamptz, known timestamptz)
        ) WITH ORDINALITY
          AS asked ("organizationId", instance, "entitlementIds", "periodStart", leased, at, known, number)
        CROSS JOIN LATERAL (
          SELECT organization_id, id, license_id, start_license_date, end_license_date, grace_days, overrides, allowances_until,
            extras
          FROM ${instancesSql.rows}
          WHERE organization_id = asked."organizationId" AND slug = asked.instance OFFSET 0
        ) i
        ${catalogVersion}`,
        ),
      ),
  } satisfies CheckBatchQueries
})

/** Rows of batched checks. */
export class CheckBatchRepo extends Context.Service<CheckBatchRepo, CheckBatchQueries>()(
  "keyshelf/usage/check/hotpath/Repo",
) {
  static readonly layer = Layer.effect(CheckBatchRepo, make)
}
