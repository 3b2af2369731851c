/** SQL by which later domains read instances. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The instances. */
export const instancesSql = readableRows("instances")

/** The terms `past` of the instance `i` at `asked.at`, if others came later. None are stored for the time before its creation. */
export const pastTermsJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`LEFT JOIN LATERAL (
    SELECT license_id, start_license_date, end_license_date, grace_days FROM past_instance_terms
    WHERE organization_id = ${organization} AND instance_id = i.id AND until > asked.at AND i.created_at <= asked.at
    ORDER BY until LIMIT 1
  ) past ON true`
