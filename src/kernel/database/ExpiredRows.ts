/** Retention jobs: what the sweeper runs, and the job of tables whose rows carry the time of their expiry. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"

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
export const deleteExpired = (
  table: string,
  column = "expires_at",
): Effect.Effect<RetentionJob, never, PgClient.PgClient> =>
  Effect.map(PgClient.PgClient, (sql) => ({
    kind: table,
    step: (at, count) =>
      Effect.map(
        Effect.orDie(sql`
          DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY (
            SELECT ctid FROM ${sql(table)} WHERE ${sql(column)} <= ${at}
            ORDER BY ${sql(column)} LIMIT ${count} FOR UPDATE SKIP LOCKED))
          RETURNING 1`),
        (rows) => rows.length,
      ),
  }))
