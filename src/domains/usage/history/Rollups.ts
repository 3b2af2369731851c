/** Sums the events of large totals by hour, so that a history need not read the events. A job of the sweeper. */
import { Context, Effect, Layer } from "effect"
import type { RetentionJob } from "../../../kernel/database/ExpiredRows.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { RollupsRepo } from "./RollupsRepo.ts"

// Not in every round of the sweeper: looking for totals reads all of them.
const INTERVAL_MS = 60_000

/** Adds events to the hours of their totals. */
export class Rollups extends Context.Service<
  Rollups,
  {
    /** Adds what is missing for up to `count` totals. Returns how many were behind. */
    readonly addMissing: (at: Date, count: number) => Effect.Effect<number>
    /** `addMissing` as a job of the sweeper. */
    readonly job: RetentionJob
  }
>()("keyshelf/usage/history/Rollups") {
  static readonly layer = Layer.effect(
    Rollups,
    Effect.gen(function* () {
      const repo = yield* RollupsRepo
      const transactions = yield* Transactions
      let lookedAt = Number.NEGATIVE_INFINITY

      const addMissing = Effect.fn("Rollups.addMissing")(function* (at: Date, count: number) {
        const late = yield* repo.findLate(at, count)
        for (const key of late) {
          const addNext = transactions.run(Effect.flatMap(repo.lock(key), (rolledTo) => repo.addNext(key, rolledTo)))
          yield* Effect.repeat(addNext, { while: (isBehind) => isBehind })
        }
        return late.length
      })

      return Rollups.of({
        addMissing,
        job: {
          kind: "usage_rollups",
          step: (at, count) =>
            Effect.suspend(() => {
              if (at.getTime() - lookedAt < INTERVAL_MS) return Effect.succeed(0)
              return Effect.tap(addMissing(at, count), (done) =>
                Effect.sync(() => (lookedAt = done < count ? at.getTime() : lookedAt)),
              )
            }),
        },
      })
    }),
  )
}
