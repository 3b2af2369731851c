/** Batches concurrent requests, so that many of them share one statement. */
import { Context, Effect, Exit } from "effect"
import { Transaction } from "../database/Transactions.ts"

/** A request that waits for its answer. */
export interface PendingRequest<Question, A> {
  readonly question: Question
  /** Completes the request. Only the first call counts. */
  readonly answer: (answer: Exit.Exit<A>) => void
}

const unanswered = Exit.die(new Error("A question was not answered"))

/**
 * Creates a function that collects questions until all runnable fibers have run, and passes them to `answerAll` as one batch.
 * `answerAll` may complete each question at a different time; if it dies, all unanswered questions of the batch die. Inside a
 * transaction a question is not batched: it must use the transaction's connection.
 *
 * Effect's `RequestResolver` does the same, but empties and reuses sets. The table of an emptied set still references its old
 * entries and the next table. Once the first table is in the old generation, every request outlives its answer and is promoted
 * too. Without that, a request takes 20 % less of the processor (`docs/performance.md`).
 */
export const makeRequestBatcher = <Question, A>(
  answerAll: (batch: ReadonlyArray<PendingRequest<Question, A>>) => Effect.Effect<void>,
): ((question: Question) => Effect.Effect<A>) => {
  let pending: Array<PendingRequest<Question, A>> = []
  const answerBatch = Effect.suspend(() => {
    const batch = pending
    pending = []
    return Effect.onExit(answerAll(batch), (exit) =>
      Effect.sync(() => {
        const missing = Exit.isFailure(exit) ? Exit.failCause(exit.cause) : unanswered
        for (const { answer } of batch) answer(missing)
      }),
    )
  })
  const answerOne = (question: Question): Effect.Effect<A> =>
    Effect.suspend(() => {
      let result: Exit.Exit<A> = unanswered
      const answered = answerAll([{ question, answer: (answer) => (result = answer) }])
      return Effect.flatMap(answered, () => result)
    })
  const answerNextTick = Effect.andThen(Effect.yieldNow, answerBatch)
  return (question) =>
    Effect.withFiber(({ context }) =>
      Context.getOrUndefined(context, Transaction) !== undefined
        ? answerOne(question)
        : Effect.callback((resume) => {
            pending.push({ question, answer: resume })
            // In a separate fiber: an interrupted caller must not interrupt the questions of others.
            if (pending.length === 1) Effect.runForkWith(context)(answerNextTick)
          }),
    )
}
