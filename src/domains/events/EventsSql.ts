/** SQL by which later domains read events. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** Selects what an event of an organization says. `id` is a column that names it. */
export const eventContent = (sql: SqlClient, organization: Fragment, id: string): Fragment => sql`
        SELECT type, occurred_at, actor, data, previous FROM events
        WHERE organization_id = ${organization} AND id = ${sql.literal(id)}`

/** When the newest event of the installation occurred; `null` if there is none. */
export const newestEventTime = (sql: SqlClient): Fragment => sql.literal("(SELECT max(occurred_at) FROM events)")
