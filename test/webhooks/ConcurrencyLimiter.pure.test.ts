import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { makeConcurrencyLimiter } from "../../src/domains/webhooks/delivery/ConcurrencyLimiter.ts"

/** Work that lasts until the test ends it. */
const work = Effect.gen(function* () {
  const started = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void>()
  return {
    started: Deferred.isDone(started),
    end: Deferred.succeed(end, undefined),
    effect: Deferred.succeed(started, undefined).pipe(
      Effect.andThen(Deferred.await(end)),
      Effect.andThen(Effect.succeedSome("done")),
    ),
  }
})

/** Starts works with a limit, one after another. */
const startWorks = Effect.fnUntraced(function* (count: number, limit: number) {
  const runLimited = makeConcurrencyLimiter(limit)
  const works = yield* Effect.replicateEffect(work, count)
  const fibers = yield* Effect.forEach(works, ({ effect }) => Effect.forkChild(runLimited("a", effect)))
  yield* Effect.yieldNow
  return { runLimited, works, fibers, started: Effect.forEach(works, ({ started }) => started) }
})

describe("the concurrency limit of an endpoint", () => {
  it.effect("work starts in its order of arrival, and ended work is followed by the one that has waited longest", () =>
    Effect.gen(function* () {
      const { started, fibers, works } = yield* startWorks(4, 2)
      assert.deepStrictEqual(yield* started, [true, true, false, false])
      yield* works[1]?.end ?? Effect.void
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* started, [true, true, true, false])
      yield* Effect.forEach(works, ({ end }) => end)
      assert.deepStrictEqual(
        yield* Fiber.joinAll(fibers),
        Array.from({ length: 4 }, () => Option.some("done")),
      )
    }),
  )

  it.effect("work that has waited for a second is given up, and later work can start", () =>
    Effect.gen(function* () {
      const { started, fibers, runLimited, works } = yield* startWorks(3, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers.slice(1)), [Option.none(), Option.none()])
      assert.deepStrictEqual(yield* started, [true, false, false])
      yield* works[0]?.end ?? Effect.void
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* runLimited("a", Effect.succeedSome("next")), Option.some("next"))
    }),
  )

  it.effect("work that fails or is interrupted, even while it waits, frees its permit", () =>
    Effect.gen(function* () {
      const { started, fibers, runLimited } = yield* startWorks(3, 1)
      yield* Fiber.interruptAll(fibers.slice(1, 2))
      yield* Fiber.interruptAll(fibers.slice(0, 1))
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* started, [true, false, true])
      yield* Fiber.interruptAll(fibers.slice(2, 3))
      yield* Effect.exit(runLimited("a", Effect.fail("broken")))
      assert.deepStrictEqual(yield* runLimited("a", Effect.succeedSome("next")), Option.some("next"))
    }),
  )

  it.effect("a full endpoint does not block another one", () =>
    Effect.gen(function* () {
      const { runLimited } = yield* startWorks(1, 1)
      assert.deepStrictEqual(yield* runLimited("b", Effect.succeedSome("at once")), Option.some("at once"))
    }),
  )
})
