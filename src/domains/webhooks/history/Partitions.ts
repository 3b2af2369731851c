/** Keeps the history's daily partitions: made ahead, dropped when they are old. Safe to run on every node at once. */
import { Context, Duration, Effect, Layer } from "effect"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import * as metrics from "../Metrics.ts"
import { dayOf, PartitionsRepo } from "./PartitionsRepo.ts"

/** How many days ahead partitions are made. */
export const DAYS_AHEAD = 7

/** The partitions of the history. */
export class Partitions extends Context.Service<
  Partitions,
  {
    /**
     * Makes the partitions of today and the days ahead, unless another node is at it, and drops those that hold nothing
     * younger than the history's age.
     */
    readonly maintain: Effect.Effect<void>
    /** Makes the partitions of these instants that are missing. */
    readonly ensure: (instants: ReadonlyArray<Date>) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/Partitions") {
  static readonly layer = Layer.effect(
    Partitions,
    Effect.gen(function* () {
      const repo = yield* PartitionsRepo
      const transactions = yield* Transactions
      const { history } = yield* DeliveryLimits

      const createMissing = Effect.fnUntraced(function* (days: ReadonlyArray<number>) {
        const existing = new Set(yield* repo.listDays)
        yield* Effect.forEach(
          [...new Set(days)].filter((day) => !existing.has(day)),
          repo.create,
          { discard: true },
        )
      })

      // Each drop in a transaction of its own: one that readers hold up does not undo the others. Each waits for its turn: who
      // passed over a day because another node held the lock could not know that it was held for another day.
      const dropOld = Effect.fnUntraced(function* (oldest: number) {
        const old = (yield* repo.listDays).filter((day) => day < oldest)
        yield* Effect.forEach(
          old,
          (day) =>
            transactions
              .run(Effect.andThen(repo.lock, repo.drop(day)))
              .pipe(
                Effect.catchCause((cause) => Effect.logWarning("Old webhook history could not be dropped yet", cause)),
              ),
          { discard: true },
        )
      })

      const maintain = Effect.gen(function* () {
        const at = yield* now
        const today = dayOf(at)
        const ahead = Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => today + index)
        yield* transactions.run(Effect.flatMap(repo.tryLock, (free) => (free ? createMissing(ahead) : Effect.void)))
        yield* dropOld(dayOf(new Date(at.getTime() - Duration.toMillis(history))))
        const newest = (yield* repo.listDays).at(-1) ?? today
        yield* metrics.setMetric(metrics.partitionHeadroom, newest - today)
      })

      return Partitions.of({
        maintain,
        ensure: (instants) => transactions.run(Effect.andThen(repo.lock, createMissing(instants.map(dayOf)))),
      })
    }),
  )
}
