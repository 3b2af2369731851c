/**
 * SQL of what a license version grants, now and in the past. Only this file reads it for decisions; `rules/Grants.ts` builds the grant
 * from it, with the override that is in force.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** What the row grants, as `LicensedTerms`. A configuration is `{}`: it is transferred only where it is shown. */
const licensedAs = (row: string, granted: string, overagePercent: string): string =>
  `CASE jsonb_typeof(${row}.value) WHEN 'object' THEN '{}' ELSE ${row}.value #>> '{}' END AS ${granted},
    ${row}.overage_percent AS ${overagePercent}`

/** The columns `granted` and `overagePercent` of the grant `g`. */
export const licensedTerms = licensedAs("g", "granted", `"overagePercent"`)

/** The same of the grant `n` of another license. */
export const licensedTermsAfter = licensedAs("n", `"grantedAfter"`, `"overageAfter"`)

/** The object that the grant `g` contains, if it is a configuration. */
export const licensedConfiguration = `CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value END AS configuration`

/** Whether the license grants something by `g`. */
export const isLicensed = "g.value IS NOT NULL"

const presentGrant = (
  sql: SqlClient,
  organization: Fragment,
  license: Fragment,
  entitlement: Fragment,
): Fragment => sql`
      SELECT value, overage_percent FROM license_entitlements
      WHERE organization_id = ${organization} AND license_id = ${license} AND entitlement_id = ${entitlement} OFFSET 0`

/** The grant `g` of the entitlement `e` to the instance `i`, if there is one, by one index look-up. */
export const grantJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`LEFT JOIN LATERAL (${presentGrant(
  sql,
  organization,
  sql.literal("i.license_id"),
  sql.literal("e.id"),
)}
    ) g ON true`

/** The grants `g` of the licenses `l` and the entitlements `e`, each by one index look-up. */
export const grantsOfLicenses = (sql: SqlClient, organization: Fragment): Fragment => sql`
            CROSS JOIN LATERAL (${presentGrant(sql, organization, sql.literal(`l."licenseId"`), sql.literal(`e."entitlementId"`))}
            ) g`

/** The license `l` of the instance `i`, and its grant `g` of the entitlement `e`, if there is one. Any plan will do. */
export const licenseAndGrantJoin = `JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
    LEFT JOIN license_entitlements g
      ON g.organization_id = i.organization_id AND g.license_id = i.license_id AND g.entitlement_id = e.id`

/** The grant `n` of the entitlement `e` by this license. */
export const grantOfJoin = (sql: SqlClient, licenseId: string): Fragment => sql`LEFT JOIN license_entitlements n
          ON n.organization_id = i.organization_id AND n.license_id = ${licenseId} AND n.entitlement_id = e.id`

/** The ids of the entitlements that these licenses grant. */
export const entitlementsGrantedBy = (sql: SqlClient, organization: Fragment, licenses: Fragment): Fragment => sql`
          SELECT entitlement_id FROM license_entitlements
          WHERE organization_id = ${organization} AND license_id ${licenses}`

/** The grant `g` of the entitlement `e` by the license `l` as it was at `asked.at`. */
export const pastGrantJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`LEFT JOIN LATERAL (
      SELECT true AS is_known, value, overage_percent FROM past_license_grants
      WHERE organization_id = ${organization} AND license_id = l.id AND entitlement_id = e.id AND until > asked.at
        AND i.created_at <= asked.at
      ORDER BY until LIMIT 1
    ) granted ON true
    LEFT JOIN license_entitlements present ON granted.is_known IS NULL AND present.organization_id = l.organization_id
      AND present.license_id = l.id AND present.entitlement_id = e.id
    CROSS JOIN LATERAL (
      SELECT coalesce(granted.value, present.value) AS value,
        coalesce(granted.overage_percent, present.overage_percent) AS overage_percent
    ) g`
