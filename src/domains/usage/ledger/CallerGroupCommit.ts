/** Group commit per credential: while one batch of a credential runs, its later requests share the next transaction. */
import { Effect, Option } from "effect"
import type { Exit } from "effect"
import { makeGroupCommit, unanswered } from "../../../kernel/concurrency/GroupCommit.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"

/** Commits the requests of a caller in batches, each in one transaction. */
export const makeCallerGroupCommit = Effect.fnUntraced(function* <Request, A, E>(
  commit: (
    requests: ReadonlyArray<Request>,
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, Caller | Transaction>,
) {
  const transactions = yield* Transactions
  const inTransaction = (requests: ReadonlyArray<Request>) => transactions.run(commit(requests))
  const grouped = makeGroupCommit(inTransaction)

  return Effect.fnUntraced(function* (request: Request) {
    // The transaction of an idempotency key stores the response, so its request cannot share another transaction.
    if (Option.isSome(yield* Effect.serviceOption(Transaction))) {
      const [answer] = yield* inTransaction([request])
      return yield* answer ?? unanswered
    }
    const { credentialId, organizationId } = yield* Caller
    return yield* grouped(`${organizationId} ${credentialId}`, request)
  })
})
