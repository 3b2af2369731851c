/**
 * What an endpoint is still owed, and what becomes of it when the endpoint ends. An endpoint that is deleted or disabled is
 * sent nothing from that commit on; only tests go to a disabled one. Few deliveries are dropped in the same transaction, the
 * rest behind it in batches, so that the end of an endpoint takes no longer with a million.
 */
import { Context, Effect, Layer, Queue } from "effect"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"
import { PendingRepo } from "./BacklogRepo.ts"
import type { End, EndpointKey } from "./BacklogRepo.ts"

/** Deliveries per transaction: some tenths of a second. */
export const BATCH = 1000

// What the sweeper looks at before others have their turn.
const MOST_ENDPOINTS_PER_STEP = 64

const reasons: Readonly<Record<End, string>> = {
  deleted: "the endpoint was deleted",
  disabled: "the endpoint was disabled",
}

/** Deliveries that wait for an attempt. */
export class PendingDeliveries extends Context.Service<
  PendingDeliveries,
  {
    /**
     * Drops one batch of what an endpoint is owed, in the transaction that has just deleted or disabled it: the last attempt
     * of each delivery becomes `Failed` with the reason behind its own error; a delivery that was never tried leaves no trace.
     * An attempt in flight finds its lease gone. Call {@link dropRest} behind the commit.
     */
    readonly dropFirst: (endpoint: EndpointKey) => Effect.Effect<void, never, Transaction>
    /** Lets this process drop whatever the endpoint is still owed, and returns at once. */
    readonly dropRest: (endpoint: EndpointKey) => Effect.Effect<void>
    /** {@link dropRest}, and returns when it is done. What somebody holds at that moment is left. */
    readonly dropAll: (endpoint: EndpointKey) => Effect.Effect<void>
    /** Whether an ended endpoint is still owed what must be dropped before it may be enabled. Lock its row before. */
    readonly isLeft: (endpoint: EndpointKey) => Effect.Effect<boolean, never, Transaction>
    /** Drops what processes that died have left, about so many deliveries; answers how many. */
    readonly dropLeft: (count: number) => Effect.Effect<number>
  }
>()("keyshelf/webhooks/PendingDeliveries") {
  static readonly layer = Layer.effect(
    PendingDeliveries,
    Effect.gen(function* () {
      const repo = yield* PendingRepo
      const transactions = yield* Transactions

      const dropBatch = Effect.fnUntraced(function* (endpoint: EndpointKey) {
        yield* Transaction
        yield* repo.planByIndex
        const end = yield* repo.findEnd(endpoint)
        if (end === undefined) return 0
        const dropped = yield* repo.drop(endpoint, end, reasons[end], BATCH)
        // The lane of a disabled endpoint may have tests.
        if (end === "deleted") yield* dropped < BATCH ? repo.removeLane(endpoint) : repo.closeLane(endpoint)
        return dropped
      })

      const dropAll = Effect.fn("PendingDeliveries.dropAll")(function* (endpoint: EndpointKey) {
        while ((yield* transactions.run(dropBatch(endpoint))) === BATCH) continue
      })

      const ended = yield* Queue.unbounded<EndpointKey>()
      const waiting = new Set<string>()
      const nameOf = ({ endpointId, organizationId }: EndpointKey) => `${organizationId}/${endpointId}`
      const dropNext = Effect.gen(function* () {
        const endpoint = yield* Queue.take(ended)
        yield* dropAll(endpoint).pipe(
          Effect.catchCause((cause) =>
            Effect.logWarning("What an ended webhook endpoint was owed could not be dropped yet", cause),
          ),
          Effect.ensuring(Effect.sync(() => waiting.delete(nameOf(endpoint)))),
        )
      })
      yield* Effect.forkScoped(Effect.forever(dropNext))

      return PendingDeliveries.of({
        dropFirst: (endpoint) => Effect.asVoid(dropBatch(endpoint)),
        dropAll,
        dropRest: (endpoint) =>
          Effect.suspend(() => {
            if (waiting.has(nameOf(endpoint))) return Effect.void
            waiting.add(nameOf(endpoint))
            return Effect.asVoid(Queue.offer(ended, endpoint))
          }),
        isLeft: Effect.fnUntraced(function* (endpoint) {
          yield* Transaction
          yield* repo.planByIndex
          const end = yield* repo.findEnd(endpoint)
          return end !== undefined && (yield* repo.isOwed(endpoint, end))
        }),
        dropLeft: Effect.fnUntraced(function* (count) {
          let total = 0
          for (const endpoint of yield* repo.unfinished(MOST_ENDPOINTS_PER_STEP)) {
            total += yield* transactions.run(dropBatch(endpoint))
            if (total >= count) break
          }
          return total
        }),
      })
    }),
  )
}
