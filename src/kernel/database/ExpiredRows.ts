/** Retention jobs: what the sweeper runs, and the job of tables whose rows carry the time of their expiry. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { organizationsOf, processByOrganization } from "./DueOrganizations.ts"
import { isDistributed, records } from "./Statements.ts"

/** A retention job. `step` processes up to `count` rows and returns the number processed. */
export interface RetentionJob {
  /** Names the rows in metrics, logs and the state of the sweeper. */
  readonly kind: string
  readonly step: (at: Date, count: number) => Effect.Effect<number>
}

/**
 * The job that deletes rows of a table after their `expires_at`, or another column. It skips rows that another transaction has locked. Without the
 * `ORDER BY`, a table without statistics would be scanned completely every minute.
 */
export const deleteExpired = Effect.fnUntraced(function* (table: string, column = "expires_at") {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* isDistributed(sql, table)

  const expired = (what: string, scope: Fragment, at: Date, count: number) => sql`
    SELECT ${sql.literal(what)} FROM ${sql(table)} WHERE ${scope} ${sql(column)} <= ${at}
    ORDER BY ${sql(column)} LIMIT ${count}`

  const deleteIn = (scope: Fragment, at: Date, count: number) =>
    Effect.map(
      records()(sql`
        DELETE FROM ${sql(table)}
        WHERE ${scope} ctid = ANY (ARRAY (${expired("ctid", scope, at, count)} FOR UPDATE SKIP LOCKED))
        RETURNING 1`),
      (rows) => rows.length,
    )

  const step: RetentionJob["step"] = isSharded
    ? (at, count) =>
        Effect.flatMap(organizationsOf(sql, expired("organization_id", sql``, at, count)), (organizations) =>
          processByOrganization(organizations, count, (organizationId, rest) =>
            deleteIn(sql`organization_id = ${organizationId} AND`, at, rest),
          ),
        )
    : (at, count) => deleteIn(sql``, at, count)
  const job: RetentionJob = { kind: table, step }
  return job
})
