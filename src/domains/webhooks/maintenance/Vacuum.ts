/**
 * Removes what the engine leaves behind in its own tables. Each event and each delivery leaves dead rows in the outbox and in the
 * queue, and each look at what is due passes over all of them. PostgreSQL cleans up once a minute by itself, in which a busy node
 * leaves hundreds of thousands; where autovacuum is off or cannot keep up, never.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Latch, Layer } from "effect"
import { DeliveryLimits } from "../DeliveryLimits.ts"

/** Counts what leaves dead rows, and removes them. */
export class DeadRows extends Context.Service<
  DeadRows,
  {
    /** Notes that so many events were handed over, or deliveries claimed. */
    readonly left: (count: number) => void
    /**
     * Waits until there are many (`deadRows` of the limits), and removes them. Nothing is done by a database user to whom the tables
     * do not belong, or while somebody else does it.
     */
    readonly remove: Effect.Effect<void>
  }
>()("keyshelf/webhooks/DeadRows") {
  static readonly layer = Layer.effect(
    DeadRows,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { deadRows } = yield* DeliveryLimits
      const many = Latch.makeUnsafe(false)
      let count = 0

      return DeadRows.of({
        left: (more) => {
          count += more
          if (count >= deadRows) many.openUnsafe()
        },
        remove: Effect.gen(function* () {
          yield* many.await
          many.closeUnsafe()
          count = 0
          // On a connection of its own, as no request may wait behind it. Files stay as long as they are: who shortens one locks the
          // table.
          const own = yield* sql.reserve
          yield* Effect.orDie(
            own.executeRaw("VACUUM (SKIP_LOCKED, TRUNCATE false) webhook_outbox, webhook_queue, webhook_lanes", []),
          )
        }).pipe(Effect.scoped, Effect.orDie),
      })
    }),
  )
}
