/** Batches concurrent questions, so that many requests share a statement. */
import { Context, Effect, Exit } from "effect"
import { Transaction } from "../database/Transactions.ts"

/** A question of a batch, and the function that answers it. */
export interface PendingQuestion<Question, A> {
  readonly question: Question
  /** Resolves the question. Only the first call counts. */
  readonly answer: (answer: Exit.Exit<A>) => void
}

const unanswered = Exit.die(new Error("The batch ended without an answer to this question"))

/**
 * Batches the questions that all currently runnable fibers ask, and passes them to `answerAll`. It may answer each one
 * as soon as it can. If it dies, the unanswered questions die too. Inside a transaction a question is not batched: it
 * must use the transaction's connection.
 *
 * Effect's `RequestResolver` does the same, but clears and reuses sets. The hash table of a cleared set references its
 * entries and the next table. Once the first one is old, every request is promoted to the old generation. Avoiding this
 * saves a fifth of the processor time of a request (`docs/performance.md`).
 */
export const makeRequestBatcher = <Question, A>(
  answerAll: (waiting: ReadonlyArray<PendingQuestion<Question, A>>) => Effect.Effect<void>,
): ((question: Question) => Effect.Effect<A>) => {
  let pending: Array<PendingQuestion<Question, A>> = []
  const runBatch = Effect.suspend(() => {
    const batch = pending
    pending = []
    return Effect.onExit(answerAll(batch), (exit) =>
      Effect.sync(() => {
        const rest = Exit.isFailure(exit) ? Exit.failCause(exit.cause) : unanswered
        for (const { answer } of batch) answer(rest)
      }),
    )
  })
  const askAlone = (question: Question): Effect.Effect<A> =>
    Effect.suspend(() => {
      let result: Exit.Exit<A> = unanswered
      const answers = answerAll([{ question, answer: (answer) => (result = answer) }])
      return Effect.flatMap(answers, () => result)
    })
  const runBatchLater = Effect.andThen(Effect.yieldNow, runBatch)
  return (question) =>
    Effect.withFiber(({ context }) =>
      Context.getOrUndefined(context, Transaction) !== undefined
        ? askAlone(question)
        : Effect.callback((resume) => {
            pending.push({ question, answer: resume })
            // A separate fiber: interrupting the first request must not interrupt the batch.
            if (pending.length === 1) Effect.runForkWith(context)(runBatchLater)
          }),
    )
}
