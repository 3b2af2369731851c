/** SQL of the filters of instances. */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import type { Unordered } from "../../kernel/database/Pages.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { ReadableRows } from "../../kernel/database/ReadableRows.ts"
import { customersSql } from "../customers/CustomersSql.ts"
import { licenseFamiliesSql, licensesSql } from "../licenses/LicensesSql.ts"
import { zonesSql } from "../zones/ZonesSql.ts"
import { holdersOfFamily } from "./addons/AddOnsSql.ts"
import type { InstanceFilters } from "./Model.ts"

/** The conditions of a range of dates. At least one limit is set. */
const between = (
  sql: PgClient.PgClient,
  column: "end_license_date" | "start_license_date",
  from: Date | undefined,
  to: Date | undefined,
): ReadonlyArray<Unordered> => {
  const date = sql.literal(column)
  const limits = [
    ...(from === undefined ? [] : [sql`${date} >= ${from}`]),
    ...(to === undefined ? [] : [sql`${date} < ${to}`]),
  ]
  const range = sql.and(limits)
  return limits.length === 0 ? [] : [{ matches: range, indexed: [range] }]
}

/** The condition that an instance has an add-on of a family in force at an instant. */
const withAddOn = (sql: PgClient.PgClient, organizationId: OrganizationId, family: string, at: Date): Unordered => {
  const holders = sql`id IN (${holdersOfFamily(sql, organizationId, licenseFamiliesSql.idBySlug(sql, organizationId, family), at)})`
  return { matches: holders, indexed: [holders] }
}

/** Builds the statement of a page's ids. An unknown slug yields NULL, which equals no column. */
export const instanceIds = (sql: PgClient.PgClient) => {
  const pageOf = pageIds(sql, "newest")
  const named = (
    organizationId: OrganizationId,
    column: string,
    { idBySlug }: ReadableRows,
    slug: string | undefined,
  ) => (slug === undefined ? [] : [sql`${sql.literal(column)} = ${idBySlug(sql, organizationId, slug)}`])

  return (
    organizationId: OrganizationId,
    { at, ...filters }: InstanceFilters & { readonly at: Date },
    after: Fragment,
    count: number,
  ): Fragment => {
    const unordered = [
      ...(filters.addOn === undefined ? [] : [withAddOn(sql, organizationId, filters.addOn, at)]),
      ...(filters.q === undefined ? [] : wordsIn(sql, organizationId, filters.q)),
      ...between(sql, "end_license_date", filters.endsAfter, filters.endsBefore),
      ...between(sql, "start_license_date", filters.startsAfter, filters.startsBefore),
    ]
    const where = [
      ...named(organizationId, "customer_id", customersSql, filters.customer),
      ...named(organizationId, "license_id", licensesSql, filters.license),
      ...named(organizationId, "deployment_zone_id", zonesSql, filters.zone),
    ]
    const page = { table: "instances", organizationId, after, count, unordered } as const
    if (filters.licenseFamily === undefined) return pageOf({ ...page, where })
    const versions = sql`${licensesSql.as("version")} WHERE version.organization_id = ${organizationId}
      AND version.family_id = ${licenseFamiliesSql.idBySlug(sql, organizationId, filters.licenseFamily)}`
    if (unordered.length > 0) {
      return pageOf({ ...page, where: [...where, sql`license_id IN (SELECT version.id FROM ${versions})`] })
    }
    // The newest instances of each version contain the newest of the family.
    return sql`
      SELECT newest.id FROM (SELECT version.id FROM ${versions}) version, LATERAL (${pageOf({
        ...page,
        where: [...where, sql`license_id = version.id`],
      })}) newest
      ORDER BY newest.id DESC LIMIT ${count}`
  }
}
