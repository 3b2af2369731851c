/** SQL by which later domains read licenses and their families. What they grant is `grants/GrantSql.ts`. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The licenses. */
export const licensesSql = readableRows("licenses")

/** The families of licenses. */
export const licenseFamiliesSql = readableRows("license_families")

/** The license `l` of the instance `i`, by one index look-up whatever the statistics are. */
export const licenseJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`CROSS JOIN LATERAL (
      SELECT slug, grace_days FROM licenses WHERE organization_id = ${organization} AND id = i.license_id OFFSET 0
    ) l`

/** The family `f` of the license `l`. */
export const familyJoin = `JOIN license_families f ON f.organization_id = l.organization_id AND f.id = l.family_id`

/** The days of grace `before` of the license `l` at `asked.at`, if others came later, for the instance `i`. */
export const pastGraceJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`LEFT JOIN LATERAL (
    SELECT grace_days FROM past_license_graces
    WHERE organization_id = ${organization} AND license_id = l.id AND until > asked.at AND i.created_at <= asked.at
    ORDER BY until LIMIT 1
  ) before ON true`
