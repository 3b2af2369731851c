/** SQL of checks that are asked together. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { HotPath } from "../../../../kernel/database/Connections.ts"
import { findsCitus, records } from "../../../../kernel/database/Statements.ts"
import { instantText } from "../../../../kernel/values/Timestamp.ts"
import { asJson } from "../../../../kernel/contract/JsonResponse.ts"
import type { CheckedEntitlement, CheckedInstance } from "../../rules/Terms.ts"
import { checkedColumns, grantsAndUsageJoins, heldQuantity, licenseJoin } from "../../TermsSql.ts"
import type { AsOf } from "../../TermsSql.ts"

/** What a check asks of an instance of an organization. */
export interface CheckQuestion extends AsOf {
  readonly organizationId: string
  readonly instance: string
  readonly entitlements: ReadonlyArray<string>
}

/** Names what the organization's entitlements are and its licenses grant: another version for each change of it. */
interface Versioned {
  readonly catalogVersion: string | null
  readonly licenseId: string
}

/** A row of a check with all that it rests on. */
export type CatalogRow = CheckedInstance &
  Versioned &
  ((CheckedEntitlement & { readonly entitlementId: string }) | { readonly entitlement: null })

/** What is left to ask where the catalog is known: the usage in a period. Its start is a text, because it is sent as it is. */
export interface WantedUsage {
  readonly organizationId: string
  readonly instance: string
  readonly entitlementIds: ReadonlyArray<string>
  readonly periodStart: string
}

/** The same at an instant. */
export interface UsageQuestion extends AsOf {
  /** {@link WantedUsage} as JSON, which is made once for all who ask it. */
  readonly wanted: string
}

/** The answer to it. */
export interface UsageRow extends Omit<CheckedInstance, "instance" | "license" | "facts">, Versioned {
  /** PostgreSQL's text of an array: the total of each entitlement, in the order asked. */
  readonly used: string
  /** The same of what reservations hold; `null` if there are none of the instance. */
  readonly held: string | null
}

const withInstants = ({ at, known, wanted }: UsageQuestion): string =>
  `${wanted.slice(0, -1)},"at":"${instantText(at)}","known":"${instantText(known)}"}`

interface Numbered {
  /** The question's place among those that were asked. */
  readonly number: number
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* HotPath
  const isSharded = yield* findsCitus(sql)
  const ownOrganization = sql.literal(`asked."organizationId"`)
  const columns = sql.literal(
    `${checkedColumns}, e.id AS "entitlementId", i.license_id AS "licenseId", c.version AS "catalogVersion"`,
  )
  const license = sql.literal(licenseJoin)
  const grantsAndUsage = sql.literal(grantsAndUsageJoins)
  const catalogVersion = sql.literal(`LEFT JOIN LATERAL (
      SELECT version FROM catalog_versions WHERE organization_id = i.organization_id OFFSET 0
    ) c ON true`)
  const held = sql.literal(heldQuantity("wanted.id"))

  return {
    /** Whether tables may be spread over nodes by organization: a statement then has to be about one. */
    isSharded,

    /**
     * All that these checks rest on, in one round trip, of whatever organizations, or all of the one that is named. Rows name the
     * check by its number; none if there is no such instance. A period's start is computed by the caller, so the totals of as long as
     * the longest such period come back.
     */
    findWithCatalog: (asked: ReadonlyArray<CheckQuestion>, within: string | null) =>
      records<CatalogRow & Numbered>()(
        ask(
          (own) => own`
        SELECT asked.number, ${columns}
        FROM jsonb_to_recordset(${sql.json(asked.map((question, number) => asJson({ number, ...question })))})
          AS asked (number int, "organizationId" uuid, instance text, entitlements text[], at timestamptz, known timestamptz)
        CROSS JOIN LATERAL (
          SELECT organization_id, id, slug, license_id, start_license_date, end_license_date FROM instances
          WHERE organization_id = ${within ?? ownOrganization} AND slug = asked.instance OFFSET 0
        ) i
        ${license}
        ${catalogVersion}
        LEFT JOIN LATERAL (
          SELECT id, slug, type, reset_period, reset_anchor FROM entitlements
          WHERE organization_id = i.organization_id AND slug = ANY(asked.entitlements) OFFSET 0
        ) e ON true
        ${grantsAndUsage}`,
        ),
      ),

    /** What is left of it where the catalog is known: the instance, its usage, and the version of the catalog. */
    findUsage: (asked: ReadonlyArray<UsageQuestion>) =>
      records<UsageRow & Numbered>()(
        ask(
          (own) => own`
        SELECT asked.number::int - 1 AS number, i.license_id AS "licenseId", i.start_license_date AS "startLicenseDate",
          i.end_license_date AS "endLicenseDate", c.version AS "catalogVersion",
          ARRAY(
            SELECT (
              SELECT value FROM usage_totals WHERE organization_id = i.organization_id AND instance_id = i.id
                AND entitlement_id = wanted.id AND period_start = asked."periodStart"
            ) FROM unnest(asked."entitlementIds") AS wanted (id)
          )::text AS used,
          CASE WHEN EXISTS (
            SELECT 1 FROM usage_reservations
            WHERE organization_id = i.organization_id AND instance_id = i.id AND state = 'HELD'
          ) THEN ARRAY(SELECT (${held}) FROM unnest(asked."entitlementIds") AS wanted (id))::text END AS held
        FROM ROWS FROM (
          jsonb_to_recordset(${`[${asked.map(withInstants).join(",")}]`}::text::jsonb) AS ("organizationId" uuid, instance text, "entitlementIds" uuid[],
            "periodStart" timestamptz, at timestamptz, known timestamptz)
        ) WITH ORDINALITY
          AS asked ("organizationId", instance, "entitlementIds", "periodStart", at, known, number)
        CROSS JOIN LATERAL (
          SELECT organization_id, id, license_id, start_license_date, end_license_date FROM instances
          WHERE organization_id = asked."organizationId" AND slug = asked.instance OFFSET 0
        ) i
        ${catalogVersion}`,
        ),
      ),
  }
})

/** Rows of checks that are asked together. */
export class CheckBatchRepo extends Context.Service<CheckBatchRepo, Effect.Success<typeof make>>()(
  "keyshelf/usage/check/hotpath/Repo",
) {
  static readonly layer = Layer.effect(CheckBatchRepo, make)
}
