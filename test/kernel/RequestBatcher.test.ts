import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option } from "effect"
import { gathered } from "../../src/kernel/concurrency/RequestBatcher.ts"
import type { Waiting } from "../../src/kernel/concurrency/RequestBatcher.ts"
import { Transaction } from "../../src/kernel/database/Transactions.ts"

type Asked = ReadonlyArray<Waiting<number, string>>

/** Answers by `answerAll`, and notes which questions came together. */
const noting = (answerAll: (waiting: Asked) => Effect.Effect<void>) => {
  const groups: Array<ReadonlyArray<number>> = []
  const ask = gathered<number, string>((waiting) => {
    groups.push(waiting.map(({ question }) => question))
    return answerAll(waiting)
  })
  return { ask, groups }
}

const answered = (waiting: Asked) =>
  Effect.sync(() => {
    for (const { answer, question } of waiting) answer(Exit.succeed(`answer ${question}`))
  })

const together = <A>(effects: ReadonlyArray<Effect.Effect<A>>) => Effect.all(effects, { concurrency: "unbounded" })

describe("questions of one moment", () => {
  it.effect("are answered together, each by its own answer", () =>
    Effect.gen(function* () {
      const { ask, groups } = noting(answered)
      const answers = yield* together([ask(1), ask(2), ask(3)])
      assert.deepStrictEqual(answers, ["answer 1", "answer 2", "answer 3"])
      assert.deepStrictEqual(groups, [[1, 2, 3]])
    }),
  )

  it.effect("do not wait for those before, which are being answered", () =>
    Effect.gen(function* () {
      const { ask, groups } = noting((waiting) => (waiting[0]?.question === 1 ? Effect.never : answered(waiting)))
      const first = yield* Effect.forkChild(ask(1))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      assert.strictEqual(yield* ask(2), "answer 2")
      assert.deepStrictEqual(groups, [[1], [2]])
      assert.isUndefined(first.pollUnsafe())
    }),
  )

  it.effect("are answered at their own time", () =>
    Effect.gen(function* () {
      const { ask } = noting((waiting) => {
        waiting[1]?.answer(Exit.succeed("early"))
        return Effect.never
      })
      const [winner] = yield* together([Effect.raceFirst(ask(1), ask(2))])
      assert.strictEqual(winner, "early")
    }),
  )

  it.effect("die with what was to answer them, but for those that have their answer", () =>
    Effect.gen(function* () {
      const { ask } = noting(([first]) => {
        first?.answer(Exit.succeed("in time"))
        return Effect.die("broken")
      })
      const [one, two] = yield* together([ask(1), ask(2)].map(Effect.exit))
      assert.deepStrictEqual(one, Exit.succeed("in time"))
      assert.isTrue(two !== undefined && Exit.isFailure(two) && Cause.squash(two.cause) === "broken")
    }),
  )

  it.effect("die if they are forgotten", () =>
    Effect.gen(function* () {
      const { ask } = noting(() => Effect.void)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(ask(1))))
    }),
  )

  it.effect("leave alone who asks within a transaction, and nobody uses its connection", () =>
    Effect.gen(function* () {
      const inside: Array<boolean> = []
      const { ask, groups } = noting((waiting) =>
        Effect.flatMap(Effect.serviceOption(Transaction), (transaction) => {
          inside.push(Option.isSome(transaction))
          return answered(waiting)
        }),
      )
      const within = Effect.provideService(ask(1), Transaction, { open: true, afterRollback: () => {} })
      assert.deepStrictEqual(yield* together([within, ask(2), ask(3)]), ["answer 1", "answer 2", "answer 3"])
      assert.deepStrictEqual(groups, [[1], [2, 3]])
      assert.deepStrictEqual(inside, [true, false])
    }),
  )

  it.effect("are answered though one who asked has gone", () =>
    Effect.gen(function* () {
      const { ask, groups } = noting(answered)
      const gone = yield* Effect.forkChild(ask(1), { startImmediately: true })
      const staying = yield* Effect.forkChild(ask(2), { startImmediately: true })
      yield* Fiber.interrupt(gone)
      assert.strictEqual(yield* Fiber.join(staying), "answer 2")
      assert.deepStrictEqual(groups, [[1, 2]])
    }),
  )
})
