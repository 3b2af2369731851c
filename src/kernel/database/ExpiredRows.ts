/** SQL of rows that carry the instant at which they may go. Domains that decide more than that remove their own. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"

/** Tables whose rows mean nothing any more once their `expires_at` has come. */
export const expiringTables = ["idempotency_keys", "usage_transactions", "usage_event_ids", "webhook_secrets"] as const

export type ExpiringTable = (typeof expiringTables)[number]

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    /**
     * Removes up to so many rows whose time has come, without waiting for anybody; answers how many. In the order of the
     * index, because without it a table without statistics is read as a whole, every minute.
     */
    deleteExpired: (table: ExpiringTable, at: Date, count: number) =>
      Effect.map(
        Effect.orDie(sql`
          DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY (
            SELECT ctid FROM ${sql(table)} WHERE expires_at <= ${at}
            ORDER BY expires_at LIMIT ${count} FOR UPDATE SKIP LOCKED))
          RETURNING 1`),
        (rows) => rows.length,
      ),
  }
})

/** Rows that expire. */
export class MaintenanceRepo extends Context.Service<MaintenanceRepo, Effect.Success<typeof make>>()(
  "keyshelf/maintenance/Repo",
) {
  static readonly layer = Layer.effect(MaintenanceRepo, make)
}
