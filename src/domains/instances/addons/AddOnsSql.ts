/** SQL fragments of add-ons, for what decides by them. Those of the present are repeated in the row of their instance. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { grantsOfAddOns, isGrantedByAddOn, pastGrantsOfAddOns } from "../../licenses/grants/GrantSql.ts"
import { licensesSql } from "../../licenses/LicensesSql.ts"
import { instancesSql } from "../InstancesSql.ts"

/** Less than each id. */
const NIL = "00000000-0000-0000-0000-000000000000"

/** The add-on `a` of the version `al` as `AppliedAddOn`. */
export const appliedAddOn = `jsonb_build_object('id', a.id, 'license', al.slug, 'licenseId', a.license_id, 'quantity', a.quantity,
    'startsAt', a.starts_at, 'endsAt', a.ends_at, 'reason', a.reason, 'by', a.created_by, 'at', a.created_at)`

/** The add-ons of a row of instances: an array of `AppliedAddOn`; `NULL` if it has none. */
export const addOnsOfRow = `extras -> 'addOns'`

/** The same of the instance `i`. */
export const addOnsOfInstance = `i.${addOnsOfRow}`

/** Whether the instance `i` has agreed something beside its license and overrides. A check then reads what. */
export const hasExtras = `i.extras IS NOT NULL AS "hasExtras"`

/** Whether the add-on `a` was neither removed nor replaced, and has not ended at an instant (SQL): it is in force or planned. */
export const isLive = (sql: SqlClient, at: Fragment): Fragment =>
  sql`a.ended_at IS NULL AND (a.ends_at IS NULL OR a.ends_at > ${at})`

/** Only up to `count` instances after an id. */
export interface HolderPage {
  readonly after: string | null
  readonly count: number
}

/** Which instances of a license version, in the order of their ids. */
interface Holders {
  readonly organizationId: OrganizationId
  /** The id of the version, as SQL. */
  readonly license: Fragment
  readonly at: Date
  /** Only those of a customer. */
  readonly customerId?: string | null
  readonly page?: HolderPage | undefined
}

/**
 * The ids of the instances with a license version: those whose license it is, and those with an add-on of it that is in force at an
 * instant or planned. A subquery.
 */
export const holdersOf = (
  sql: SqlClient,
  { at, customerId = null, license, organizationId, page }: Holders,
): Fragment => {
  const ofCustomer = (id: string): Fragment =>
    customerId === null
      ? sql.literal("")
      : sql`AND ${sql.literal(id)} IN (SELECT id FROM ${instancesSql.rows}
            WHERE organization_id = ${organizationId} AND customer_id = ${customerId})`
  const after = (column: string): Fragment =>
    page === undefined ? sql.literal("") : sql`AND ${sql.literal(column)} > ${page.after ?? NIL}`
  const first = (column: string): Fragment =>
    page === undefined ? sql.literal("") : sql`ORDER BY ${sql.literal(column)} LIMIT ${page.count}`
  return sql`(
        (SELECT id FROM ${instancesSql.rows}
          WHERE organization_id = ${organizationId} AND license_id = ${license} ${ofCustomer("id")} ${after("id")} ${first("id")})
        UNION
        (SELECT DISTINCT a.instance_id FROM instance_add_ons a
          WHERE a.organization_id = ${organizationId} AND a.license_id = ${license} AND ${isLive(sql, sql`${at}`)}
            ${ofCustomer("a.instance_id")} ${after("a.instance_id")} ${first("a.instance_id")}))`
}

/** The ids of the instances with an add-on of a family (SQL: its id) that is in force at an instant. A statement. */
export const holdersOfFamily = (
  sql: SqlClient,
  organizationId: OrganizationId,
  family: Fragment,
  at: Date,
): Fragment => sql`
        SELECT a.instance_id FROM instance_add_ons a
        WHERE a.organization_id = ${organizationId} AND a.family_id = ${family} AND a.starts_at <= ${at} AND ${isLive(sql, sql`${at}`)}`

/** The add-ons of the instance `i` that grant the entitlement `e`, as `GrantingAddOn`s; `null` if none does. */
export const currentAddOns = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`CASE WHEN i.extras IS NOT NULL THEN (${grantsOfAddOns(sql, organization, addOnsOfInstance)}) END AS "addOns"`

/** Whether an add-on of the instance `i` that is in force at `asked.at` grants the entitlement `e`. */
export const isAddedOn = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`CASE WHEN i.extras IS NOT NULL THEN ${isGrantedByAddOn(
    sql,
    organization,
    addOnsOfInstance,
    `(a.item ->> 'startsAt')::timestamptz <= asked.at AND coalesce((a.item ->> 'endsAt')::timestamptz > asked.at, true)`,
  )} ELSE false END`

/** Whether an add-on of the instance `i`, in force or planned, grants the entitlement `e`. */
export const mayBeAddedOn = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`CASE WHEN i.extras IS NOT NULL THEN ${isGrantedByAddOn(sql, organization, addOnsOfInstance, "true")} ELSE false END`

/** The add-ons that were in force on the instance `i` at `asked.at` and granted the entitlement `e` then; `null` if none did. */
export const pastAddOns = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`(${pastGrantsOfAddOns(sql, organization, {
    item: appliedAddOn,
    rows: sql`instance_add_ons a JOIN ${licensesSql.on("al", "a.license_id")}`,
    condition: sql`a.organization_id = ${organization} AND a.instance_id = i.id AND a.starts_at <= asked.at
        AND (a.ends_at IS NULL OR a.ends_at > asked.at) AND (a.ended_at IS NULL OR a.ended_at > asked.at)`,
  })}) AS "addOns"`
