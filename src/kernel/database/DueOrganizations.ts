/**
 * Work on rows of many organizations, one organization after the other. On Citus a statement that locks rows names one
 * organization; on one server a single statement does it for all.
 */
import { Array as Arr, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { records } from "./Statements.ts"

/** The organizations of the rows that a statement selects with the column `organization_id`. */
const organizationsOf = (sql: SqlClient, rows: Fragment): Effect.Effect<ReadonlyArray<string>> =>
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

/** The beginning of a condition on rows of an organization, or of all of them for `null`. */
const within = (sql: SqlClient, organizationId: string | null): Fragment =>
  organizationId === null ? sql`` : sql`organization_id = ${organizationId} AND`

/** Up to `count` due rows: `select` gives their columns, those of one organization or of all. */
export type DueRows = (select: string, scope: Fragment, count: number) => Fragment

/** What a step of {@link processDue} processes: up to `count` rows, within `scope`. */
export interface RowsInTurn {
  /** The organization of the rows, `null` for all. */
  readonly organizationId: string | null
  /** The beginning of a condition on the rows. */
  readonly scope: Fragment
  readonly count: number
}

/**
 * Runs a step on up to `count` due rows, and returns how many it processed. On one server the step runs once, for the rows of all
 * organizations (`null`); on Citus once for each organization that has some.
 */
export const processDue = (
  { due, isSharded, sql }: { readonly sql: SqlClient; readonly isSharded: boolean; readonly due: DueRows },
  count: number,
  step: (rows: RowsInTurn) => Effect.Effect<number>,
): Effect.Effect<number> => {
  const stepIn = (organizationId: string | null, rest: number) =>
    step({ organizationId, scope: within(sql, organizationId), count: rest })
  return isSharded
    ? Effect.flatMap(organizationsOf(sql, due("organization_id", sql``, count)), (organizations) =>
        processByOrganization(organizations, count, stepIn),
      )
    : stepIn(null, count)
}

/** Runs a statement for the rows of each organization, and returns what all of them return. */
export const inEachOrganization = <Row, A>(
  rows: Iterable<Row>,
  organizationOf: (row: Row) => string,
  statement: (organizationId: string, own: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>>,
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.map(
    Effect.forEach(Map.groupBy(rows, organizationOf), ([organizationId, own]) => statement(organizationId, own)),
    Arr.flatten,
  )
