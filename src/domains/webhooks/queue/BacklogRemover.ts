/**
 * Deletes the backlog of an endpoint that ends: its pending deliveries. From the commit on, a deleted endpoint receives
 * nothing, and a disabled one receives test events only. The first batch is deleted in the transaction that ends the
 * endpoint, the rest afterwards, so that a request takes no longer for a backlog of a million.
 */
import { Context, Effect, Layer, Queue } from "effect"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { endpointName } from "../Model.ts"
import type { EndpointKey } from "../Model.ts"
import { BacklogRepo } from "./BacklogRepo.ts"
import type { EndpointEnd } from "./BacklogSql.ts"
import { QueueTransactions } from "./QueueTransactions.ts"

/** Deliveries per transaction: one batch takes some tenths of a second. */
export const MAX_BATCH = 1000

// Limits one step of the sweeper, so that its other jobs run in between.
const MAX_ENDPOINTS_PER_STEP = 64

const reasons: Readonly<Record<EndpointEnd, string>> = {
  deleted: "the endpoint was deleted",
  disabled: "the endpoint was disabled",
}

/** Deletes backlogs of ended endpoints. */
export class BacklogRemover extends Context.Service<
  BacklogRemover,
  {
    /**
     * Deletes the first batch, in the transaction that deletes or disables the endpoint. The last attempt of each
     * delivery becomes `Failed`, with the reason after its own error; a delivery without an attempt leaves no trace. An
     * attempt in flight loses its lease. Call {@link deleteInBackground} after the commit.
     */
    readonly deleteBatch: (endpoint: EndpointKey) => Effect.Effect<void, never, Transaction>
    /** Starts {@link deleteAll} in this process and returns immediately. */
    readonly deleteInBackground: (endpoint: EndpointKey) => Effect.Effect<void>
    /** Deletes the backlog of an ended endpoint, except for rows that are locked at that moment. */
    readonly deleteAll: (endpoint: EndpointKey) => Effect.Effect<void>
    /**
     * Whether an ended endpoint still has a backlog, which must be deleted before it is enabled. Lock its row first.
     */
    readonly hasBacklog: (endpoint: EndpointKey) => Effect.Effect<boolean, never, Transaction>
    /** Deletes about `count` deliveries that terminated processes have left, and returns how many. */
    readonly deleteAbandoned: (count: number) => Effect.Effect<number>
  }
>()("keyshelf/webhooks/queue/BacklogRemover") {
  static readonly layer = Layer.effect(
    BacklogRemover,
    Effect.gen(function* () {
      const repo = yield* BacklogRepo
      const transactions = yield* QueueTransactions
      const nested = { joins: "nested" } as const

      const deleteBatch = (endpoint: EndpointKey) =>
        transactions.run(
          Effect.gen(function* () {
            const end = yield* repo.findEnd(endpoint)
            if (end === undefined) return 0
            const deleted = yield* repo.deleteBatch(endpoint, end, reasons[end], MAX_BATCH)
            // The lane of a disabled endpoint can contain test events.
            if (end === "deleted") yield* deleted < MAX_BATCH ? repo.deleteLane(endpoint) : repo.closeLane(endpoint)
            return deleted
          }),
          nested,
        )

      const deleteAll = Effect.fn("BacklogRemover.deleteAll")(function* (endpoint: EndpointKey) {
        while ((yield* deleteBatch(endpoint)) === MAX_BATCH) continue
      })

      const ended = yield* Queue.unbounded<EndpointKey>()
      const queued = new Set<string>()
      const deleteNext = Effect.gen(function* () {
        const endpoint = yield* Queue.take(ended)
        yield* deleteAll(endpoint).pipe(
          Effect.catchCause((cause) =>
            Effect.logWarning("The backlog of an ended webhook endpoint was not deleted; the sweeper retries", cause),
          ),
          Effect.ensuring(Effect.sync(() => queued.delete(endpointName(endpoint)))),
        )
      })
      yield* Effect.forkScoped(Effect.forever(deleteNext))

      return BacklogRemover.of({
        deleteBatch: Effect.fnUntraced(function* (endpoint) {
          yield* Transaction
          yield* deleteBatch(endpoint)
        }),
        deleteAll,
        deleteInBackground: (endpoint) =>
          Effect.suspend(() => {
            if (queued.has(endpointName(endpoint))) return Effect.void
            queued.add(endpointName(endpoint))
            return Effect.asVoid(Queue.offer(ended, endpoint))
          }),
        hasBacklog: Effect.fnUntraced(function* (endpoint) {
          yield* Transaction
          return yield* transactions.run(
            Effect.flatMap(repo.findEnd(endpoint), (end) =>
              end === undefined ? Effect.succeed(false) : repo.hasBacklog(endpoint, end),
            ),
            nested,
          )
        }),
        deleteAbandoned: Effect.fnUntraced(function* (count) {
          let total = 0
          for (const endpoint of yield* repo.findEnded(MAX_ENDPOINTS_PER_STEP)) {
            total += yield* deleteBatch(endpoint)
            if (total >= count) break
          }
          return total
        }),
      })
    }),
  )
}
