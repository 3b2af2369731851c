/**
 * SQL of what a license version grants, now and in the past. Only this file reads it for decisions; `rules/Grant.ts` builds the grant
 * from it, with the add-ons and the override that are in force.
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

const addedValue = (row: string): string =>
  `CASE jsonb_typeof(${row}.value) WHEN 'number' THEN to_jsonb(${row}.value #>> '{}') ELSE ${row}.value END`
const statedOverage = (row: string): string => `CASE WHEN ${row}.overage_stated THEN ${row}.overage_percent END`

/** The columns of the grant `g` of an add-on, as `AddedTerms`. */
export const addedTerms = `g.combine, ${addedValue("g")} AS value, ${statedOverage("g")} AS "overagePercent"`

const addedObjectOf = (row: string): string =>
  `jsonb_build_object('combine', ${row}.combine, 'value', ${addedValue(row)}, 'overagePercent', ${statedOverage(row)})`

const addedObject = addedObjectOf("g")

/** The same of the grant `n` of another version, as an object; `NULL` if it grants nothing. */
export const addedAfter = `CASE WHEN n.value IS NOT NULL THEN ${addedObjectOf("n")} END AS "addedAfter"`

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
      SELECT value, overage_percent, combine, overage_stated FROM license_entitlements
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

/**
 * The add-ons of a JSON array (SQL), whose items name their version as `licenseId`, with what each grants of the entitlement `e`; `null`
 * if none does.
 */
export const grantsOfAddOns = (sql: SqlClient, organization: Fragment, addOns: string): Fragment => sql`
      SELECT jsonb_agg(a.item || ${sql.literal(addedObject)}) FROM jsonb_array_elements(${sql.literal(addOns)}) AS a (item)
      CROSS JOIN LATERAL (${presentGrant(
        sql,
        organization,
        sql.literal("(a.item ->> 'licenseId')::uuid"),
        sql.literal("e.id"),
      )}
      ) g`

/** Whether one of these add-ons (SQL: a JSON array, its items as `a`) that fulfills a condition grants the entitlement `e`. */
export const isGrantedByAddOn = (
  sql: SqlClient,
  organization: Fragment,
  addOns: string,
  condition: string,
): Fragment => sql`EXISTS (
        SELECT 1 FROM jsonb_array_elements(${sql.literal(addOns)}) AS a (item)
        JOIN license_entitlements g ON g.organization_id = ${organization} AND g.license_id = (a.item ->> 'licenseId')::uuid
          AND g.entitlement_id = e.id
        WHERE ${sql.literal(condition)})`

/** The grant `g` of the entitlement `e` by the license of an alias, `l` by default, as it was at `asked.at`. */
export const pastGrantJoin = (sql: SqlClient, organization: Fragment, license = "l"): Fragment => {
  const id = sql.literal(`${license}.id`)
  return sql`LEFT JOIN LATERAL (
      SELECT true AS is_known, value, overage_percent, combine, overage_stated FROM past_license_grants
      WHERE organization_id = ${organization} AND license_id = ${id} AND entitlement_id = e.id AND until > asked.at
        AND i.created_at <= asked.at
      ORDER BY until LIMIT 1
    ) granted ON true
    LEFT JOIN license_entitlements present ON granted.is_known IS NULL AND present.organization_id = ${organization}
      AND present.license_id = ${id} AND present.entitlement_id = e.id
    CROSS JOIN LATERAL (
      SELECT coalesce(granted.value, present.value) AS value,
        coalesce(granted.overage_percent, present.overage_percent) AS overage_percent,
        coalesce(granted.combine, present.combine) AS combine,
        coalesce(granted.overage_stated, present.overage_stated) AS overage_stated
    ) g`
}

/** The add-ons that `rows` (SQL after FROM, with the version `al` and as `a` the rest) selects, with what each granted at `asked.at`. */
export const pastGrantsOfAddOns = (
  sql: SqlClient,
  organization: Fragment,
  { condition, item, rows }: { readonly item: string; readonly rows: Fragment; readonly condition: Fragment },
): Fragment => sql`
      SELECT jsonb_agg(${sql.literal(item)} || ${sql.literal(addedObject)}) FROM ${rows}
      ${pastGrantJoin(sql, organization, "al")}
      WHERE ${condition} AND g.value IS NOT NULL`
