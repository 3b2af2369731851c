/**
 * Vacuums the engine's own tables. Each event and each delivery leaves dead tuples in the outbox and the queue, and
 * each claim has to skip them. Autovacuum runs once a minute, in which a busy node leaves hundreds of thousands; where
 * it is off or too slow, they are never removed.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Latch, Layer } from "effect"
import { OUTBOX } from "../../events/OutboxSql.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"

/** Counts dead tuples and removes them. */
export class Vacuum extends Context.Service<
  Vacuum,
  {
    /** Counts published events and claimed deliveries. Each leaves dead tuples. */
    readonly countDeadTuples: (count: number) => void
    /**
     * Waits until `vacuumThreshold` of `DeliveryLimits` is reached, and vacuums the tables. PostgreSQL skips tables
     * that belong to another database user, or that are being vacuumed.
     */
    readonly vacuumWhenNeeded: Effect.Effect<void>
  }
>()("keyshelf/webhooks/maintenance/Vacuum") {
  static readonly layer = Layer.effect(
    Vacuum,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { vacuumThreshold } = yield* DeliveryLimits
      const isNeeded = Latch.makeUnsafe(false)
      let deadTuples = 0

      return Vacuum.of({
        countDeadTuples: (count) => {
          deadTuples += count
          if (deadTuples >= vacuumThreshold) isNeeded.openUnsafe()
        },
        vacuumWhenNeeded: Effect.gen(function* () {
          yield* isNeeded.await
          isNeeded.closeUnsafe()
          deadTuples = 0
          // On a dedicated connection, so that no request waits for it. Without TRUNCATE, because truncating a file
          // locks its table.
          const connection = yield* sql.reserve
          yield* Effect.orDie(
            connection.executeRaw(`VACUUM (SKIP_LOCKED, TRUNCATE false) ${OUTBOX}, webhook_queue, webhook_lanes`, []),
          )
        }).pipe(Effect.scoped, Effect.orDie),
      })
    }),
  )
}
