/** Retention jobs: what the sweeper runs, and the job of tables whose rows carry the time of their expiry. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { dueRowsOf } from "./DueOrganizations.ts"
import type { DueRows } from "./DueOrganizations.ts"
import { isAt, transactionsByIndex } from "./RowsByKey.ts"
import { returnedCount } from "./Statements.ts"

/** A retention job. `step` processes up to `count` rows and returns the number processed. */
export interface RetentionJob {
  /** Names the rows in metrics, logs and the state of the sweeper. */
  readonly kind: string
  readonly step: (at: Date, count: number) => Effect.Effect<number>
}

/**
 * Returns the deletion of up to `count` due rows of a table. It skips rows that another transaction has locked, and
 * returns how many it deleted. It is planned by index: a plan made when the table was small would read all of it every
 * minute.
 */
export const deletionOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* PgClient.PgClient
  const processDue = yield* dueRowsOf(table)
  const runByIndex = yield* transactionsByIndex
  return (isDue: Fragment, order: string, count: number): Effect.Effect<number> => {
    const due: DueRows = (select, scope, limit) => sql`
      SELECT ${sql.literal(select)} FROM ${sql(table)} WHERE ${scope} ${isDue} ORDER BY ${sql(order)} LIMIT ${limit}`
    return processDue(due, count, (rows) =>
      runByIndex(
        returnedCount(sql`
          DELETE FROM ${sql(table)}
          WHERE ${isAt(sql, rows.organizationId, sql`${due("ctid", rows.scope, rows.count)} FOR UPDATE SKIP LOCKED`)}
          RETURNING 1`),
      ),
    )
  }
})

/** The job that deletes rows of a table after their `expires_at`, or another column. */
export const deleteExpired = Effect.fnUntraced(function* (table: string, column = "expires_at") {
  const sql = yield* PgClient.PgClient
  const deleteDue = yield* deletionOf(table)
  const job: RetentionJob = {
    kind: table,
    step: (at, count) => deleteDue(sql`${sql(column)} <= ${at}`, column, count),
  }
  return job
})
