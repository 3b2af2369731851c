/** Group commit per credential: one transaction a batch. */
import { Effect, Option } from "effect"
import type { Exit } from "effect"
import { inTurns, unanswered } from "../../../kernel/concurrency/GroupCommit.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"

/** Serves the requests of one caller together, each turn in one transaction. */
export const callerGroupCommit = Effect.fnUntraced(function* <Request, A, E>(
  serve: (
    requests: ReadonlyArray<Request>,
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, Caller | Transaction>,
) {
  const transactions = yield* Transactions
  const inTransaction = (requests: ReadonlyArray<Request>) => transactions.run(serve(requests))
  const queued = inTurns(inTransaction)

  return Effect.fnUntraced(function* (request: Request) {
    // An idempotency key's transaction has to hold what it answers.
    if (Option.isSome(yield* Effect.serviceOption(Transaction))) {
      const [answer] = yield* inTransaction([request])
      return yield* answer ?? unanswered
    }
    const { credentialId, organizationId } = yield* Caller
    return yield* queued(`${organizationId} ${credentialId}`, request)
  })
})
