/**
 * Work on rows of many organizations, one organization after the other. On Citus a statement that locks rows names one
 * organization; on one server a single statement does it for all.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { records } from "./Statements.ts"

/** The organizations of the rows that a statement selects with the column `organization_id`. */
export const organizationsOf = (sql: SqlClient, rows: Fragment): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(
    records<{ readonly organizationId: string }>()(
      sql`SELECT DISTINCT organization_id AS "organizationId" FROM (${rows}) due`,
    ),
    (found) => found.map(({ organizationId }) => organizationId),
  )

/** Runs a step for one organization after the other until `count` rows are processed. Returns how many. */
export const processByOrganization = Effect.fnUntraced(function* (
  organizations: ReadonlyArray<string>,
  count: number,
  step: (organizationId: string, count: number) => Effect.Effect<number>,
) {
  let done = 0
  for (const organizationId of organizations) {
    if (done >= count) break
    done += yield* step(organizationId, count - done)
  }
  return done
})
