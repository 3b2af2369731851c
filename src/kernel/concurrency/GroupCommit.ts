/**
 * Group commit. While one batch of a key runs, later requests of that key wait and share the next batch. A busy counter
 * then costs one statement or transaction for many requests, instead of a lock that each request waits for.
 */
import { Deferred, Effect, Exit } from "effect"
import type { Scope } from "effect"

/** Limits the time that one batch takes, and with it the wait of the next one. */
const MAX_BATCH = 100

interface PendingRequest<Request, A, E> {
  readonly request: Request
  readonly result: Deferred.Deferred<A, E>
}

/** Options of {@link makeGroupCommit}. */
export interface GroupCommitOptions {
  /** The maximum number of requests per batch; 100 by default. */
  readonly maxBatch?: number
  /** Interrupts the running batches when it closes. Without a scope, batches outlive every caller. */
  readonly scope?: Scope.Scope
}

/** The result of a request for which its batch returned none. */
export const unanswered = Exit.die(new Error("A request was not answered"))

/**
 * Creates a function that commits requests in groups, one group per key at a time. `commit` processes a batch in order
 * and returns one exit per request. If it dies, every request of the batch dies.
 */
export const makeGroupCommit = <Request, A, E, R>(
  commit: (requests: ReadonlyArray<Request>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, R>,
  { maxBatch = MAX_BATCH, scope }: GroupCommitOptions = {},
) => {
  const pending = new Map<string, Array<PendingRequest<Request, A, E>>>()

  const commitAll = Effect.fnUntraced(function* (key: string) {
    for (;;) {
      const batch = pending.get(key)?.splice(0, maxBatch) ?? []
      if (batch.length === 0) {
        // No yield before this line: a request that came in between would wait forever.
        pending.delete(key)
        return
      }
      const exit = yield* Effect.exit(commit(batch.map(({ request }) => request)))
      for (const [index, { result }] of batch.entries()) {
        Deferred.doneUnsafe(
          result,
          Exit.isFailure(exit) ? Exit.failCause(exit.cause) : (exit.value[index] ?? unanswered),
        )
      }
    }
  })

  const start = (key: string) =>
    scope === undefined ? Effect.forkDetach(commitAll(key)) : Effect.forkIn(commitAll(key), scope)

  return Effect.fnUntraced(function* (key: string, request: Request) {
    const result = yield* Deferred.make<A, E>()
    const others = pending.get(key)
    if (others === undefined) {
      pending.set(key, [{ request, result }])
      // Not in the caller's fiber: an interrupted caller must not interrupt the requests of others.
      yield* start(key)
    } else {
      others.push({ request, result })
    }
    return yield* Deferred.await(result)
  })
}
