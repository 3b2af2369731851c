/**
 * Requests that are served together. While some are being served, those that come meanwhile wait and share the next turn, so
 * that a busy counter costs a statement or a transaction for many requests instead of a lock that each waits for.
 */
import { Deferred, Effect, Exit } from "effect"

/** How many requests one turn serves at most, unless it says otherwise. */
const MOST_TOGETHER = 100

interface Waiting<Request, A, E> {
  readonly request: Request
  readonly answered: Deferred.Deferred<A, E>
}

export const unanswered = Exit.die(new Error("A request was not answered"))

/**
 * Makes requests of one name wait for each other. `serve` serves them in order, and answers or refuses each by itself; if it
 * dies, it dies for all of them.
 */
export const inTurns = <Request, A, E, R>(
  serve: (requests: ReadonlyArray<Request>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, R>,
  most = MOST_TOGETHER,
) => {
  const waiting = new Map<string, Array<Waiting<Request, A, E>>>()

  /** Serves whoever waits until nobody does. */
  const serveAll = Effect.fnUntraced(function* (name: string) {
    for (;;) {
      const next = waiting.get(name)?.splice(0, most) ?? []
      if (next.length === 0) {
        // At once, before anyone else can come and wait for nobody.
        waiting.delete(name)
        return
      }
      const served = yield* Effect.exit(serve(next.map(({ request }) => request)))
      for (const [index, { answered }] of next.entries()) {
        const answer: Exit.Exit<A, E> = Exit.isFailure(served)
          ? Exit.failCause(served.cause)
          : (served.value[index] ?? unanswered)
        Deferred.doneUnsafe(answered, answer)
      }
    }
  })

  return Effect.fnUntraced(function* (name: string, request: Request) {
    const answered = yield* Deferred.make<A, E>()
    const others = waiting.get(name)
    if (others === undefined) {
      waiting.set(name, [{ request, answered }])
      // Not in the request's own fiber: the others' answers do not depend on whether this caller stays.
      yield* Effect.forkDetach(serveAll(name))
    } else {
      others.push({ request, answered })
    }
    return yield* Deferred.await(answered)
  })
}
