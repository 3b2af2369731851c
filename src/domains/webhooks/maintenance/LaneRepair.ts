/**
 * Repairs lane heads that are later than the lane's first delivery. Claims read nothing before a lane's head, so such a
 * delivery would wait forever. This version never leaves such a lane; another version, or an operator's statement, can.
 */
import { Context, Effect, Layer } from "effect"
import { QueueRepo } from "../queue/QueueRepo.ts"
import { QueueTransactions } from "../queue/QueueTransactions.ts"
import { QueueMaintenanceRepo } from "./Repo.ts"

const MAX_LANES = 1000

/** Repairs lane heads. */
export class LaneRepair extends Context.Service<
  LaneRepair,
  {
    /** Lowers heads that are later than their lane's first delivery. Returns how many. */
    readonly repairHeads: Effect.Effect<number>
  }
>()("keyshelf/webhooks/maintenance/LaneRepair") {
  static readonly layer = Layer.effect(
    LaneRepair,
    Effect.gen(function* () {
      const repo = yield* QueueMaintenanceRepo
      const queue = yield* QueueRepo
      const transactions = yield* QueueTransactions
      return LaneRepair.of({
        repairHeads: transactions.run(
          Effect.gen(function* () {
            const heads = yield* repo.findLateHeads(MAX_LANES)
            if (heads.length === 0) return 0
            yield* queue.lowerLaneHeads(heads)
            yield* Effect.logWarning("Repaired lanes of webhook endpoints whose deliveries no claim found").pipe(
              Effect.annotateLogs({ lanes: heads.length }),
            )
            return heads.length
          }),
        ),
      })
    }),
  )
}
