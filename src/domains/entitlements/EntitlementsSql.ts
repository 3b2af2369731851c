/** SQL by which later domains read entitlements. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The entitlements. */
export const entitlementsSql = readableRows("entitlements")

/** The version `c` of the organization's catalog, if it has one. */
export const catalogVersionJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`LEFT JOIN LATERAL (
    SELECT version FROM catalog_versions WHERE organization_id = ${organization} OFFSET 0
  ) c ON true`
