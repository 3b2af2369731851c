/** SQL of the filters of instances. */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import { pageIds, prefixOf } from "../../kernel/database/Pages.ts"
import type { Unordered } from "../../kernel/database/Pages.ts"
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

/** Builds the statement of a page's ids. An unknown slug yields NULL, which equals no column. */
export const instanceIds = (sql: PgClient.PgClient) => {
  const pageOf = pageIds(sql, "newest")
  const named = (organizationId: string, column: string, table: string, slug: string | undefined) =>
    slug === undefined
      ? []
      : [
          sql`${sql.literal(column)} =
            (SELECT id FROM ${sql.literal(table)} WHERE organization_id = ${organizationId} AND slug = ${slug})`,
        ]

  return (organizationId: string, filters: InstanceFilters, after: Fragment, count: number): Fragment => {
    const unordered = [
      ...(filters.q === undefined ? [] : [prefixOf(sql, filters.q)]),
      ...between(sql, "end_license_date", filters.endsAfter, filters.endsBefore),
      ...between(sql, "start_license_date", filters.startsAfter, filters.startsBefore),
    ]
    const where = [
      ...named(organizationId, "customer_id", "customers", filters.customer),
      ...named(organizationId, "license_id", "licenses", filters.license),
      ...named(organizationId, "deployment_zone_id", "deployment_zones", filters.zone),
    ]
    const page = { table: "instances", organizationId, after, count, unordered } as const
    if (filters.licenseFamily === undefined) return pageOf({ ...page, where })
    const versions = sql`licenses version WHERE version.organization_id = ${organizationId} AND version.family_id =
      (SELECT id FROM license_families WHERE organization_id = ${organizationId} AND slug = ${filters.licenseFamily})`
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
