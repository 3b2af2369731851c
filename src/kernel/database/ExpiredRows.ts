/** SQL of rows with an expiry time. Domains with more complex retention delete their own rows. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"

/** Tables whose rows are deleted after their `expires_at`. */
export const expiringTables = ["idempotency_keys", "usage_transactions", "usage_event_ids", "webhook_secrets"] as const

export type ExpiringTable = (typeof expiringTables)[number]

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    /**
     * Deletes up to `count` expired rows, skips locked ones, and returns the number deleted. Without the `ORDER BY`, a
     * table without statistics would be scanned completely every minute.
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

/** Deletes expired rows. */
export class MaintenanceRepo extends Context.Service<MaintenanceRepo, Effect.Success<typeof make>>()(
  "keyshelf/maintenance/Repo",
) {
  static readonly layer = Layer.effect(MaintenanceRepo, make)
}
