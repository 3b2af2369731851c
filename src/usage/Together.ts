/**
 * Requests of one caller that are served together. While one transaction runs, those that come meanwhile wait and share the
 * next one, so that a busy counter costs a transaction for many requests instead of a lock that each waits for.
 */
import { Deferred, Effect, Exit, Option } from "effect"
import { Caller } from "../kernel/Caller.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"

/** How many requests one transaction serves at most. */
const MOST_TOGETHER = 100

interface Waiting<Request, A, E> {
  readonly request: Request
  readonly answered: Deferred.Deferred<A, E>
}

const unanswered = Exit.die(new Error("A request was not answered"))

/**
 * Makes requests be served together. `serve` serves them one after another in one transaction, and answers or refuses each
 * by itself, in order; if it dies, it dies for all of them.
 */
export const together = Effect.fnUntraced(function* <Request, A, E>(
  serve: (
    requests: ReadonlyArray<Request>,
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, Caller | Transaction>,
) {
  const transactions = yield* Transactions
  const waiting = new Map<string, Array<Waiting<Request, A, E>>>()

  /** Serves whoever waits until nobody does. */
  const serveAll = (name: string): Effect.Effect<void, never, Caller> =>
    Effect.gen(function* () {
      for (;;) {
        const next = waiting.get(name)?.splice(0, MOST_TOGETHER) ?? []
        if (next.length === 0) {
          // At once, before anyone else can come and wait for nobody.
          waiting.delete(name)
          return
        }
        const served = yield* Effect.exit(transactions.run(serve(next.map(({ request }) => request))))
        for (const [index, { answered }] of next.entries()) {
          const answer: Exit.Exit<A, E> = Exit.isFailure(served)
            ? Exit.failCause(served.cause)
            : (served.value[index] ?? unanswered)
          yield* Deferred.done(answered, answer)
        }
      }
    })

  return Effect.fnUntraced(function* (request: Request) {
    // An idempotency key's transaction has to hold what it answers.
    if (Option.isSome(yield* Effect.serviceOption(Transaction))) {
      const [answer] = yield* transactions.run(serve([request]))
      return yield* answer ?? unanswered
    }
    const { credentialId, organizationId } = yield* Caller
    const name = `${organizationId} ${credentialId}`
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
})
