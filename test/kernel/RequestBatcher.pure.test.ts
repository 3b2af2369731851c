import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option } from "effect"
import { makeRequestBatcher } from "../../src/kernel/concurrency/RequestBatcher.ts"
import type { PendingQuestion } from "../../src/kernel/concurrency/RequestBatcher.ts"
import { Transaction } from "../../src/kernel/database/Transactions.ts"

type Batch = ReadonlyArray<PendingQuestion<number, string>>

/** Batches questions for `answerAll` and records the batches. */
const recording = (answerAll: (batch: Batch) => Effect.Effect<void>) => {
  const batches: Array<ReadonlyArray<number>> = []
  const ask = makeRequestBatcher<number, string>((batch) => {
    batches.push(batch.map(({ question }) => question))
    return answerAll(batch)
  })
  return { ask, batches }
}

const answerEach = (batch: Batch) =>
  Effect.sync(() => {
    for (const { answer, question } of batch) answer(Exit.succeed(`answer ${question}`))
  })

const concurrently = <A>(effects: ReadonlyArray<Effect.Effect<A>>) => Effect.all(effects, { concurrency: "unbounded" })

describe("batched questions", () => {
  it.effect("concurrent questions form one batch, and each gets its own answer", () =>
    Effect.gen(function* () {
      const { ask, batches } = recording(answerEach)
      const answers = yield* concurrently([ask(1), ask(2), ask(3)])
      assert.deepStrictEqual(answers, ["answer 1", "answer 2", "answer 3"])
      assert.deepStrictEqual(batches, [[1, 2, 3]])
    }),
  )

  it.effect("a question does not wait for a batch in flight", () =>
    Effect.gen(function* () {
      const { ask, batches } = recording((batch) => (batch[0]?.question === 1 ? Effect.never : answerEach(batch)))
      const first = yield* Effect.forkChild(ask(1))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      assert.strictEqual(yield* ask(2), "answer 2")
      assert.deepStrictEqual(batches, [[1], [2]])
      assert.isUndefined(first.pollUnsafe())
    }),
  )

  it.effect("a question that is answered early does not wait for the rest of its batch", () =>
    Effect.gen(function* () {
      const { ask } = recording((batch) => {
        batch[1]?.answer(Exit.succeed("early"))
        return Effect.never
      })
      const [winner] = yield* concurrently([Effect.raceFirst(ask(1), ask(2))])
      assert.strictEqual(winner, "early")
    }),
  )

  it.effect("a question dies with its batch, unless it is already answered", () =>
    Effect.gen(function* () {
      const { ask } = recording(([first]) => {
        first?.answer(Exit.succeed("in time"))
        return Effect.die("broken")
      })
      const [first, second] = yield* concurrently([ask(1), ask(2)].map(Effect.exit))
      assert.deepStrictEqual(first, Exit.succeed("in time"))
      assert.isTrue(second !== undefined && Exit.isFailure(second) && Cause.squash(second.cause) === "broken")
    }),
  )

  it.effect("a question whose batch ends without an answer dies", () =>
    Effect.gen(function* () {
      const { ask } = recording(() => Effect.void)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(ask(1))))
    }),
  )

  it.effect("a question inside a transaction is not batched and runs in the transaction", () =>
    Effect.gen(function* () {
      const inside: Array<boolean> = []
      const { ask, batches } = recording((batch) =>
        Effect.flatMap(Effect.serviceOption(Transaction), (transaction) => {
          inside.push(Option.isSome(transaction))
          return answerEach(batch)
        }),
      )
      const within = Effect.provideService(ask(1), Transaction, { open: true, afterRollback: () => {} })
      assert.deepStrictEqual(yield* concurrently([within, ask(2), ask(3)]), ["answer 1", "answer 2", "answer 3"])
      assert.deepStrictEqual(batches, [[1], [2, 3]])
      assert.deepStrictEqual(inside, [true, false])
    }),
  )

  it.effect("a batch is answered although the fiber of its first question was interrupted", () =>
    Effect.gen(function* () {
      const { ask, batches } = recording(answerEach)
      const interrupted = yield* Effect.forkChild(ask(1), { startImmediately: true })
      const waiting = yield* Effect.forkChild(ask(2), { startImmediately: true })
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual(yield* Fiber.join(waiting), "answer 2")
      assert.deepStrictEqual(batches, [[1, 2]])
    }),
  )
})
