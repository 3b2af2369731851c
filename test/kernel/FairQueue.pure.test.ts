import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch } from "effect"
import { makeFairQueue } from "../../src/kernel/concurrency/FairQueue.ts"
import type { FairQueueBounds } from "../../src/kernel/concurrency/FairQueue.ts"

/** A queue whose work runs until it is ended by name, and that records the order of the starts. */
const recording = (bounds: FairQueueBounds) => {
  const queue = makeFairQueue(bounds)
  const started: Array<string> = []
  const latches = new Map<string, Latch.Latch>()
  const latchOf = (name: string) => {
    const latch = latches.get(name) ?? Latch.makeUnsafe(false)
    latches.set(name, latch)
    return latch
  }
  const submit = (key: string, name: string, weight = 1) =>
    Effect.forkChild(
      queue(
        key,
        weight,
        Effect.suspend(() => {
          started.push(name)
          return latchOf(name).await
        }),
      ),
      { startImmediately: true },
    )
  const end = (name: string) => Effect.andThen(latchOf(name).open, settle)
  return { queue, started, submit, end }
}

/** Lets everything start that fits. */
const settle = Effect.forEach([1, 2, 3, 4], () => Effect.promise(() => new Promise((resolve) => setImmediate(resolve))))

describe("the fair queue", () => {
  it.effect("work of a key waits until it fits the bound of its key, in order", () =>
    Effect.gen(function* () {
      const { end, started, submit } = recording({ perKey: 2 })
      yield* Effect.forEach(["a1", "a2", "a3", "a4"], (name) => submit("a", name))
      yield* settle
      assert.deepStrictEqual(started, ["a1", "a2"])
      yield* end("a2")
      assert.deepStrictEqual(started, ["a1", "a2", "a3"])
      yield* end("a1")
      assert.deepStrictEqual(started, ["a1", "a2", "a3", "a4"])
    }),
  )

  it.effect("a key with much work delays another by no more than what runs", () =>
    Effect.gen(function* () {
      const { end, started, submit } = recording({ perKey: 2, total: 2 })
      yield* Effect.forEach(["a1", "a2", "a3", "a4", "a5"], (name) => submit("a", name))
      yield* Effect.forEach(["b1", "b2"], (name) => submit("b", name))
      for (const name of ["a1", "a2", "a3", "b1", "a4"]) yield* end(name)
      assert.deepStrictEqual(started, ["a1", "a2", "a3", "b1", "a4", "b2", "a5"])
    }),
  )

  it.effect("another key starts at once while the bound of all is not reached", () =>
    Effect.gen(function* () {
      const { started, submit } = recording({ perKey: 1, total: 2 })
      yield* Effect.forEach(["a1", "a2"], (name) => submit("a", name))
      yield* submit("b", "b1")
      assert.deepStrictEqual(started, ["a1", "b1"])
    }),
  )

  it.effect("a key that is alone runs more at a time than one beside another", () =>
    Effect.gen(function* () {
      const { end, started, submit } = recording({ perKey: 3, perSharingKey: 1 })
      yield* Effect.forEach(["a1", "a2", "a3"], (name) => submit("a", name))
      assert.deepStrictEqual(started, ["a1", "a2", "a3"])
      yield* submit("b", "b1")
      yield* submit("a", "a4")
      yield* end("a1")
      yield* end("a2")
      assert.deepStrictEqual(started, ["a1", "a2", "a3", "b1"])
      yield* end("a3")
      assert.deepStrictEqual(started, ["a1", "a2", "a3", "b1", "a4"])
    }),
  )

  it.effect("a key is alone again when others have had no work for a moment", () =>
    Effect.gen(function* () {
      const { started, submit } = recording({ perKey: 2, perSharingKey: 1 })
      yield* submit("b", "b1")
      yield* submit("a", "a1")
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 150)))
      yield* submit("a", "a2")
      assert.deepStrictEqual(started, ["b1", "a1", "a2"])
    }),
  )

  it.effect("work heavier than a bound runs alone", () =>
    Effect.gen(function* () {
      const { end, started, submit } = recording({ perKey: 4 })
      yield* submit("a", "light")
      yield* submit("a", "heavy", 9)
      yield* submit("a", "light too")
      yield* settle
      assert.deepStrictEqual(started, ["light"])
      yield* end("light")
      assert.deepStrictEqual(started, ["light", "heavy"])
      yield* end("heavy")
      assert.deepStrictEqual(started, ["light", "heavy", "light too"])
    }),
  )

  it.effect("interrupted work leaves its place, whether it ran or waited", () =>
    Effect.gen(function* () {
      const { started, submit } = recording({ perKey: 1 })
      const running = yield* submit("a", "a1")
      const waiting = yield* submit("a", "a2")
      yield* submit("a", "a3")
      yield* Fiber.interrupt(waiting)
      yield* settle
      assert.deepStrictEqual(started, ["a1"])
      yield* Fiber.interrupt(running)
      yield* settle
      assert.deepStrictEqual(started, ["a1", "a3"])
    }),
  )

  it.effect("work that waits for something else than the process does not hold up its key", () =>
    Effect.gen(function* () {
      const { started, submit } = recording({ perKey: 1, maxTurnMillis: 1 })
      yield* submit("a", "waits for a lock")
      yield* submit("a", "a2")
      while (started.length < 2) yield* settle
      assert.deepStrictEqual(started, ["waits for a lock", "a2"])
    }),
  )

  it.effect("a key whose work costs more than its credit rests after it; other keys do not", () =>
    Effect.gen(function* () {
      const { end, queue, started, submit } = recording({
        perKey: 1,
        costOf: ({ exit }) => (Exit.isFailure(exit) ? 1_020 : 0),
      })
      yield* Effect.exit(queue("a", 1, Effect.fail("rejected")))
      yield* submit("a", "a rests")
      yield* submit("b", "b does not")
      assert.deepStrictEqual(started, ["b does not"])
      while (started.length < 2) yield* settle
      yield* end("a rests")
    }),
  )
})
