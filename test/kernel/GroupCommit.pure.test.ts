import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Latch, Scope } from "effect"
import { makeGroupCommit } from "../../src/kernel/concurrency/GroupCommit.ts"
import type { GroupCommitOptions } from "../../src/kernel/concurrency/GroupCommit.ts"

/** A group commit whose batches wait for a latch, and that records them. */
const recording = (options?: GroupCommitOptions<number>) => {
  const batches: Array<ReadonlyArray<number>> = []
  const latch = Latch.makeUnsafe(false)
  const commit = makeGroupCommit(
    (requests: ReadonlyArray<number>) =>
      Effect.suspend(() => {
        batches.push(requests)
        return Effect.as(
          latch.await,
          requests.map((request) => Exit.succeed(`committed ${request}`)),
        )
      }),
    options,
  )
  return { batches, latch, commit }
}

const start = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

/** Lets the fiber of a batch start. */
const settle = Effect.andThen(Effect.yieldNow, Effect.yieldNow)

describe("the group commit", () => {
  it.effect("requests that arrive while a batch of their key runs share the next one", () =>
    Effect.gen(function* () {
      const { batches, commit, latch } = recording()
      const first = yield* start(commit("a", 1))
      yield* settle
      const later = yield* Effect.forEach([2, 3], (request) => start(commit("a", request)))
      const other = yield* start(commit("b", 4))
      yield* settle
      assert.deepStrictEqual(batches, [[1], [4]])
      latch.openUnsafe()
      const results = yield* Effect.forEach([first, ...later, other], Fiber.join)
      assert.deepStrictEqual(results, ["committed 1", "committed 2", "committed 3", "committed 4"])
      assert.deepStrictEqual(batches, [[1], [4], [2, 3]])
    }),
  )

  it.effect("a batch has at most `maxBatch` requests", () =>
    Effect.gen(function* () {
      const { batches, commit, latch } = recording({ maxBatch: 2 })
      const fibers = yield* Effect.forEach([1, 2, 3, 4, 5], (request) => start(commit("a", request)))
      latch.openUnsafe()
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(batches, [[1, 2], [3, 4], [5]])
    }),
  )

  it.effect("a batch that cannot take all takes one request of each owner by turns", () =>
    Effect.gen(function* () {
      const { batches, commit, latch } = recording({ maxBatch: 3, ownerOf: (request) => (request < 10 ? "a" : "b") })
      const fibers = yield* Effect.forEach([1, 2, 3, 4, 5, 11, 12], (request) => start(commit("all", request)))
      latch.openUnsafe()
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(batches, [[1, 11, 2], [3, 12, 4], [5]])
    }),
  )

  it.effect("a batch that dies kills its own requests, and the next batch runs", () =>
    Effect.gen(function* () {
      const commit = makeGroupCommit(([request]: ReadonlyArray<number>) =>
        request === 1 ? Effect.die("broken") : Effect.succeed([Exit.succeed(request)]),
      )
      const [one, two] = yield* Effect.all([commit("a", 1), commit("b", 2)].map(Effect.exit), {
        concurrency: "unbounded",
      })
      assert.isTrue(one !== undefined && Exit.isFailure(one) && Cause.squash(one.cause) === "broken")
      assert.deepStrictEqual(two, Exit.succeed(2))
      assert.strictEqual(yield* commit("a", 3), 3)
    }),
  )

  it.effect("a request for which its batch returns nothing dies", () =>
    Effect.gen(function* () {
      const commit = makeGroupCommit((_: ReadonlyArray<number>) => Effect.succeed<ReadonlyArray<Exit.Exit<number>>>([]))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(commit("a", 1))))
    }),
  )

  it.effect("an interrupted caller does not interrupt its batch", () =>
    Effect.gen(function* () {
      const { batches, commit, latch } = recording()
      const interrupted = yield* start(commit("a", 1))
      const staying = yield* start(commit("a", 2))
      yield* settle
      yield* Fiber.interrupt(interrupted)
      latch.openUnsafe()
      assert.strictEqual(yield* Fiber.join(staying), "committed 2")
      assert.deepStrictEqual(batches, [[1, 2]])
    }),
  )

  it.effect("a closed scope interrupts the running batch", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      let isInterrupted = false
      const commit = makeGroupCommit(
        (_: ReadonlyArray<number>) =>
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isInterrupted = true))),
        { scope },
      )
      const waiting = yield* start(commit("a", 1))
      yield* settle
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(isInterrupted)
      yield* Fiber.interrupt(waiting)
    }),
  )
})
