import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { makeConcurrencyLimiter } from "../../src/domains/webhooks/delivery/ConcurrencyLimiter.ts"

/** Work that lasts until it is told to end. */
const work = Effect.gen(function* () {
  const began = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void>()
  return {
    began: Deferred.isDone(began),
    end: Deferred.succeed(end, undefined),
    effect: Deferred.succeed(began, undefined).pipe(
      Effect.andThen(Deferred.await(end)),
      Effect.andThen(Effect.succeedSome("done")),
    ),
  }
})

/** Works in a slot, each begun behind the one before it. */
const working = Effect.fnUntraced(function* (count: number, cap: number) {
  const inSlot = makeConcurrencyLimiter(cap)
  const works = yield* Effect.replicateEffect(work, count)
  const fibers = yield* Effect.forEach(works, ({ effect }) => Effect.forkChild(inSlot("a", effect)))
  yield* Effect.yieldNow
  return { inSlot, works, fibers, began: Effect.forEach(works, ({ began }) => began) }
})

describe("the slots of an endpoint", () => {
  it.effect("are taken in the order of coming, and each that is left by who waits longest", () =>
    Effect.gen(function* () {
      const { began, fibers, works } = yield* working(4, 2)
      assert.deepStrictEqual(yield* began, [true, true, false, false])
      yield* works[1]?.end ?? Effect.void
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* began, [true, true, true, false])
      yield* Effect.forEach(works, ({ end }) => end)
      assert.deepStrictEqual(
        yield* Fiber.joinAll(fibers),
        Array.from({ length: 4 }, () => Option.some("done")),
      )
    }),
  )

  it.effect("are waited for no longer than a second, and then are others' again", () =>
    Effect.gen(function* () {
      const { began, fibers, inSlot, works } = yield* working(3, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers.slice(1)), [Option.none(), Option.none()])
      assert.deepStrictEqual(yield* began, [true, false, false])
      yield* works[0]?.end ?? Effect.void
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* inSlot("a", Effect.succeedSome("next")), Option.some("next"))
    }),
  )

  it.effect("are left by work that fails or is interrupted, and by who is interrupted while he waits", () =>
    Effect.gen(function* () {
      const { began, fibers, inSlot } = yield* working(3, 1)
      yield* Fiber.interruptAll(fibers.slice(1, 2))
      yield* Fiber.interruptAll(fibers.slice(0, 1))
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* began, [true, false, true])
      yield* Fiber.interruptAll(fibers.slice(2, 3))
      yield* Effect.exit(inSlot("a", Effect.fail("broken")))
      assert.deepStrictEqual(yield* inSlot("a", Effect.succeedSome("next")), Option.some("next"))
    }),
  )

  it.effect("of others are free all the while", () =>
    Effect.gen(function* () {
      const { inSlot } = yield* working(1, 1)
      assert.deepStrictEqual(yield* inSlot("b", Effect.succeedSome("at once")), Option.some("at once"))
    }),
  )
})
