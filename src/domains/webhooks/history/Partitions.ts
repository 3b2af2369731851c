/** Creates the history's daily partitions ahead, and drops old ones. Every node can run it concurrently. */
import { Context, Duration, Effect, Layer } from "effect"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import * as metrics from "../Metrics.ts"
import { dayOf, PartitionsRepo } from "./PartitionsRepo.ts"

/** How many days ahead partitions are created: a week without maintenance loses no attempt. */
export const DAYS_AHEAD = 7

/** For how many days after today partitions exist without a gap; 0 if there is none for tomorrow. */
export const headroomOf = (days: ReadonlyArray<number>, today: number): number => {
  const existing = new Set(days)
  let last = today
  while (existing.has(last + 1)) last++
  return existing.has(today) ? last - today : 0
}

/** The partitions of the history. */
export class Partitions extends Context.Service<
  Partitions,
  {
    /**
     * Creates the partitions of today and the days ahead, unless another node is doing so, and drops those whose
     * attempts are all older than the retention period.
     */
    readonly maintain: Effect.Effect<void>
    /** Creates the missing partitions of these instants. */
    readonly ensure: (instants: ReadonlyArray<Date>) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/history/Partitions") {
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

      // Each drop is a separate transaction, so that one that times out does not roll back the others. Each waits for
      // the lock: the node that holds it may be dropping another day.
      const dropOld = Effect.fnUntraced(function* (oldest: number) {
        const old = (yield* repo.listDays).filter((day) => day < oldest)
        yield* Effect.forEach(
          old,
          (day) =>
            transactions
              .run(Effect.andThen(repo.lock, repo.drop(day)))
              .pipe(
                Effect.catchCause((cause) =>
                  Effect.logWarning("A partition of old webhook history was not dropped; the next run retries", cause),
                ),
              ),
          { discard: true },
        )
      })

      const maintain = Effect.gen(function* () {
        const at = yield* now
        const today = dayOf(at)
        const ahead = Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => today + index)
        // Measured after a failure too, which is when it matters.
        const measure = Effect.flatMap(repo.listDays, (days) =>
          metrics.setMetric(metrics.partitionHeadroom, headroomOf(days, today)),
        )
        yield* Effect.ensuring(
          transactions.run(Effect.flatMap(repo.tryLock, (isFree) => (isFree ? createMissing(ahead) : Effect.void))),
          measure,
        )
        yield* dropOld(dayOf(new Date(at.getTime() - Duration.toMillis(history))))
      })

      return Partitions.of({
        maintain,
        ensure: (instants) => transactions.run(Effect.andThen(repo.lock, createMissing(instants.map(dayOf)))),
      })
    }),
  )
}
