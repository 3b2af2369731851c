import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { attemptSchedule, delayBefore, nextAttemptAt } from "../../src/domains/webhooks/delivery/RetrySchedule.ts"

const SECONDS = [0, 5, 300, 1800, 7200, 28_800]
const INSTANTS = [0, 5, 305, 2105, 9305, 38_105]

describe("the retry schedule", () => {
  it("has exactly the six delays of the specification", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6].map((attempt) => Duration.toSeconds(delayBefore(attempt) ?? Duration.infinity)),
      SECONDS,
    )
    for (const attempt of [7, 8, 100]) assert.isUndefined(delayBefore(attempt))
  })

  it.effect("calls a sender that always fails six times over 10 h 35 min 5 s", () =>
    Effect.gen(function* () {
      const calls: Array<number> = []
      // The schedule also delays the first attempt, so the first step only starts it.
      let told = false
      const attempt = Effect.gen(function* () {
        if (told) calls.push((yield* Clock.currentTimeMillis) / 1000)
        told = true
        return yield* Effect.fail("500")
      })
      const sending = yield* Effect.forkChild(Effect.exit(Effect.retry(attempt, attemptSchedule)))
      yield* TestClock.adjust("12 hours")
      yield* Fiber.join(sending)
      assert.deepStrictEqual(calls, INSTANTS)
    }),
  )

  it("returns the same instants from each stored attempt number", () => {
    let at = new Date(0)
    const instants = [0]
    for (let attempt = 1; ; attempt++) {
      const next = nextAttemptAt(attempt, at)
      if (next === null) break
      instants.push(next.getTime() / 1000)
      at = next
    }
    assert.deepStrictEqual(instants, INSTANTS)
  })

  it.effect.prop(
    "adds only the delay to the end of a failed attempt, for the first five attempts",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 })),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4e12 })),
    ],
    ([attempt, endedAt]) =>
      Effect.sync(() => {
        const next = nextAttemptAt(attempt, new Date(endedAt))
        assert.strictEqual(
          next === null ? null : next.getTime() - endedAt,
          attempt >= 6 ? null : (SECONDS[attempt] ?? 0) * 1000,
        )
      }),
  )
})
