/**
 * Puts lanes right that say they have work later than they do. Claims look for nothing before a lane's head, so what is due before it
 * would wait for ever. Nothing that this service does leaves such a lane; another version of it, or an operator's hand, may.
 */
import { Context, Effect, Layer } from "effect"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"

const MOST_LANES = 1000

/** Looks after the heads of lanes. */
export class LaneHeads extends Context.Service<
  LaneHeads,
  {
    /** Lowers heads that are later than what their lanes owe, and answers how many. */
    readonly correct: Effect.Effect<number>
  }
>()("keyshelf/webhooks/LaneHeads") {
  static readonly layer = Layer.effect(
    LaneHeads,
    Effect.gen(function* () {
      const queue = yield* QueueRepo
      const transactions = yield* Transactions
      return LaneHeads.of({
        correct: transactions.run(
          Effect.gen(function* () {
            yield* queue.planByIndex
            const heads = yield* queue.lateHeads(MOST_LANES)
            if (heads.length === 0) return 0
            yield* Effect.logWarning(`Endpoints that were owed deliveries of which no claim knew: ${heads.length}`)
            yield* queue.lowerHeads(heads)
            return heads.length
          }),
        ),
      })
    }),
  )
}
