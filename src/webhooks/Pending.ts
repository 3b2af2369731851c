/** What an endpoint is still owed, and what becomes of it when the endpoint ends. */
import { Array, Context, Effect, Layer } from "effect"
import { Transaction } from "../kernel/Transaction.ts"
import { WebhooksRepo } from "./Repo.ts"

// A statement of a hundred thousand attempts could take longer than a statement may.
const CHUNK = 5000

/** Deliveries that wait for an attempt. */
export class PendingDeliveries extends Context.Service<
  PendingDeliveries,
  {
    /**
     * Drops what an endpoint is owed, in the transaction that deletes or disables it: nothing is sent any more, and the last
     * attempt of each delivery becomes `Failed` with the reason behind its own error. A delivery that was never tried leaves no
     * trace. Lock the endpoint's row before. An attempt in flight finds its lease gone.
     */
    readonly dropPending: (
      organizationId: string,
      endpointId: string,
      reason: string,
    ) => Effect.Effect<void, never, Transaction>
  }
>()("keyshelf/webhooks/PendingDeliveries") {
  static readonly layer = Layer.effect(
    PendingDeliveries,
    Effect.gen(function* () {
      const repo = yield* WebhooksRepo
      return PendingDeliveries.of({
        dropPending: Effect.fnUntraced(function* (organizationId, endpointId, reason) {
          yield* Transaction
          const tried = yield* repo.dropQueue(organizationId, endpointId)
          for (const some of Array.chunksOf(tried, CHUNK)) {
            yield* repo.endHistory(organizationId, endpointId, some, reason)
          }
        }),
      })
    }),
  )
}
