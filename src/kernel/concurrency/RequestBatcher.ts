/** Questions that are asked in the same moment and answered together, so that many requests share a statement. */
import { Context, Effect, Exit } from "effect"
import { Transaction } from "../database/Transactions.ts"

/** A question that waits for its answer. */
export interface Waiting<Question, A> {
  readonly question: Question
  /** Answers it; only the first answer counts. */
  readonly answer: (answer: Exit.Exit<A>) => void
}

const unanswered = Exit.die(new Error("A question was not answered"))

/**
 * Gathers the questions that are asked until whoever can run now has run, and has them answered together. `answerAll` may answer
 * each at its time; if it dies, it dies for all that it has not answered. Who is in a transaction asks for himself: its connection
 * is nobody else's.
 *
 * Effect's `RequestResolver` does the same, but empties sets and uses them again. The table that an emptied set leaves behind
 * keeps what it held and leads to the next one; once the first is old, every request outlives its answer and is carried to the
 * old generation. Without that, a request takes the process a fifth less (`docs/performance.md`).
 */
export const gathered = <Question, A>(
  answerAll: (waiting: ReadonlyArray<Waiting<Question, A>>) => Effect.Effect<void>,
): ((question: Question) => Effect.Effect<A>) => {
  let waiting: Array<Waiting<Question, A>> = []
  const answerThem = Effect.suspend(() => {
    const asked = waiting
    waiting = []
    return Effect.onExit(answerAll(asked), (exit) =>
      Effect.sync(() => {
        const left = Exit.isFailure(exit) ? Exit.failCause(exit.cause) : unanswered
        for (const { answer } of asked) answer(left)
      }),
    )
  })
  const alone = (question: Question): Effect.Effect<A> =>
    Effect.suspend(() => {
      let told: Exit.Exit<A> = unanswered
      const answers = answerAll([{ question, answer: (answer) => (told = answer) }])
      return Effect.flatMap(answers, () => told)
    })
  const afterOthers = Effect.andThen(Effect.yieldNow, answerThem)
  return (question) =>
    Effect.withFiber(({ context }) =>
      Context.getOrUndefined(context, Transaction) !== undefined
        ? alone(question)
        : Effect.callback((resume) => {
            waiting.push({ question, answer: resume })
            // In a fiber of its own: others' answers do not depend on whether this one stays.
            if (waiting.length === 1) Effect.runForkWith(context)(afterOthers)
          }),
    )
}
