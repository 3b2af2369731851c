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
export interface GroupCommitOptions<Request> {
  /** The maximum number of requests per batch; 100 by default. */
  readonly maxBatch?: number
  /** If not all fit into a batch, it takes requests of the owners round robin. By default all have the same owner. */
  readonly ownerOf?: (request: Request) => string
  /** Interrupts the running batches when it closes. Without a scope, batches outlive every caller. */
  readonly scope?: Scope.Scope
}

/** The first items, round robin by owner. */
const byTurns = <A>(items: ReadonlyArray<A>, count: number, ownerOf: (item: A) => string): ReadonlyArray<A> => {
  const queues = [...Map.groupBy(items, ownerOf).values()]
  const taken: Array<A> = []
  for (let turn = 0; taken.length < count && turn < items.length; turn++) {
    for (const queue of queues) {
      const item = queue[turn]
      if (item !== undefined && taken.length < count) taken.push(item)
    }
  }
  return taken
}

/** The result of a request for which its batch returned none. */
export const unanswered = Exit.die(new Error("A request was not answered"))

/**
 * Creates a function that commits requests in groups, one group per key at a time. `commit` processes a batch in order
 * and returns one exit per request. If it dies, every request of the batch dies.
 */
export const makeGroupCommit = <Request, A, E, R>(
  commit: (requests: ReadonlyArray<Request>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, R>,
  { maxBatch = MAX_BATCH, ownerOf, scope }: GroupCommitOptions<Request> = {},
) => {
  const pending = new Map<string, Array<PendingRequest<Request, A, E>>>()

  const nextBatch = (key: string): ReadonlyArray<PendingRequest<Request, A, E>> => {
    const waiting = pending.get(key) ?? []
    if (ownerOf === undefined || waiting.length <= maxBatch) return waiting.splice(0, maxBatch)
    const batch = byTurns(waiting, maxBatch, ({ request }) => ownerOf(request))
    const taken = new Set(batch)
    pending.set(
      key,
      waiting.filter((request) => !taken.has(request)),
    )
    return batch
  }

  const commitAll = Effect.fnUntraced(function* (key: string) {
    for (;;) {
      const batch = nextBatch(key)
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
