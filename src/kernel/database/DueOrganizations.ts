/**
 * Work on rows of many organizations, one organization after the other. On Citus a statement that locks rows names one
 * organization; on one server a single statement does it for all.
 */
import { PgClient } from "@effect/sql-pg"
import { Array as Arr, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { scopeOf } from "./RowsByKey.ts"
import { decodedColumn, isDistributed } from "./Statements.ts"
import { OrganizationId } from "../values/Identifiers.ts"

const organizationIdsIn = decodedColumn("organization_id", OrganizationId)

/** The organizations of the rows that a statement selects with the column `organization_id`. */
const organizationsOf = (sql: SqlClient, rows: Fragment): Effect.Effect<ReadonlyArray<OrganizationId>> =>
  organizationIdsIn(sql`SELECT DISTINCT organization_id FROM (${rows}) due`)

/** Runs a step for one organization after the other until `count` rows are processed. Returns how many. */
export const processByOrganization = Effect.fnUntraced(function* (
  organizations: ReadonlyArray<OrganizationId>,
  count: number,
  step: (organizationId: OrganizationId, count: number) => Effect.Effect<number>,
) {
  let done = 0
  for (const organizationId of organizations) {
    if (done >= count) break
    done += yield* step(organizationId, count - done)
  }
  return done
})

/** Up to `count` due rows: `select` gives their columns, those of one organization or of all. */
export type DueRows = (select: string, scope: Fragment, count: number) => Fragment

/** What a step of {@link dueRowsOf} processes: up to `count` rows, within `scope`. */
export interface RowsInTurn {
  /** The organization of the rows, `null` for all. */
  readonly organizationId: OrganizationId | null
  /** The beginning of a condition on the rows. */
  readonly scope: Fragment
  readonly count: number
}

/** Runs a step on up to `count` due rows, and returns how many it processed. */
type ProcessDue = (
  due: DueRows,
  count: number,
  step: (rows: RowsInTurn) => Effect.Effect<number>,
) => Effect.Effect<number>

/**
 * Returns what processes due rows of a table. On one server the step runs once, for the rows of all organizations (`null`); where Citus
 * distributes the table, once for each organization that has some.
 */
export const dueRowsOf = Effect.fnUntraced(function* (
  table: string,
): Effect.fn.Return<ProcessDue, never, PgClient.PgClient> {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* isDistributed(sql, table)
  return (due, count, step) => {
    const stepIn = (organizationId: OrganizationId | null, rest: number) =>
      step({ organizationId, scope: scopeOf(sql, organizationId), count: rest })
    return isSharded
      ? Effect.flatMap(organizationsOf(sql, due("organization_id", sql``, count)), (organizations) =>
          processByOrganization(organizations, count, stepIn),
        )
      : stepIn(null, count)
  }
})

/** Runs a statement for the rows of each organization, and returns what all of them return. */
export const inEachOrganization = <Row, A>(
  rows: Iterable<Row>,
  organizationOf: (row: Row) => OrganizationId,
  statement: (organizationId: OrganizationId, own: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>>,
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.map(
    Effect.forEach(Map.groupBy(rows, organizationOf), ([organizationId, own]) => statement(organizationId, own)),
    Arr.flatten,
  )
