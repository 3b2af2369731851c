/** SQL of the filters of licenses. */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../entitlements/EntitlementsSql.ts"
import type { LicenseFilters } from "./Model.ts"

/** Builds the statement of a page's ids, newest first. An unknown slug yields NULL, which equals no column. */
export const licenseIds = (sql: PgClient.PgClient) => {
  const pageOf = pageIds(sql, "newest")

  return (organizationId: OrganizationId, filters: LicenseFilters, before: string, count: number): Fragment => {
    const { entitlement, family, lifecycleState, q, type } = filters
    const where = [
      ...(family === undefined
        ? []
        : [
            sql`family_id =
              (SELECT id FROM license_families WHERE organization_id = ${organizationId} AND slug = ${family})`,
          ]),
      ...(lifecycleState === undefined ? [] : [sql`lifecycle_state = ${lifecycleState}`]),
      ...(type === undefined ? [] : [sql`type = ${type}`]),
    ]
    const granting = sql`entitlement_id = ${entitlementsSql.idBySlug(sql, organizationId, entitlement ?? "")}`
    const isFiltered = where.length > 0 || q !== undefined
    if (entitlement !== undefined && !isFiltered) {
      // The index of grants has the order of the list.
      return sql`
        SELECT license_id FROM license_entitlements
        WHERE organization_id = ${organizationId} AND ${granting} AND license_id < ${before}
        ORDER BY license_id DESC LIMIT ${count}`
    }
    return pageOf({
      table: "licenses",
      organizationId,
      after: sql`id < ${before}`,
      count,
      where: [
        ...where,
        ...(entitlement === undefined
          ? []
          : [
              sql`EXISTS (SELECT 1 FROM license_entitlements granted WHERE granted.organization_id = ${organizationId}
                AND granted.license_id = licenses.id AND granted.${granting})`,
            ]),
      ],
      unordered: q === undefined ? [] : wordsIn(sql, organizationId, q),
    })
  }
}
