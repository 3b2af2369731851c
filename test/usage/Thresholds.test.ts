import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"

layer(TestService.layer, { excludeTestServices: true })("thresholds", (it) => {
  it.effect("emit one event when usage crosses them, with the usage entry", () =>
    Effect.gen(function* () {
      const { call, instance, metered, report, thresholds } = yield* openMeteredShop
      yield* metered("calls", 10, { warningThresholdPercent: 80 })
      yield* report("calls", { value: 7 })
      assert.deepStrictEqual(yield* thresholds, [])
      yield* report("calls", { value: 1 })
      yield* report("calls", { value: 1 })
      assert.deepStrictEqual(yield* thresholds, ["WARNING"])
      yield* report("calls", { value: 1 })
      assert.deepStrictEqual(yield* thresholds, ["WARNING", "LIMIT"])
      assert.strictEqual((yield* report("calls", { value: 1 })).status, 409)
      assert.strictEqual((yield* report("calls", { value: 1 })).status, 409)
      assert.deepStrictEqual(yield* thresholds, ["WARNING", "LIMIT", "CAP_EXCEEDED"])
      const { body } = yield* call("GET", "/events?limit=200")
      const { data } = body.items.at(-1)
      assert.deepStrictEqual(
        [data.instanceId, data.instanceSlug, data.licenseSlug, data.entitlementSlug, data.usageValue.value],
        [instance.id, "prod", "pro", "calls", 10],
      )
    }),
  )

  it.effect("emit another event after usage fell below them, and in another period", () =>
    Effect.gen(function* () {
      const { metered, report, thresholds } = yield* openMeteredShop
      yield* metered("calls", 10, { resetPeriod: "DAY" })
      yield* report("calls", { value: 10 })
      yield* report("calls", { value: 1 })
      yield* report("calls", { value: -1 })
      yield* report("calls", { value: 1 })
      yield* report("calls", { value: 1 })
      assert.deepStrictEqual(yield* thresholds, ["LIMIT", "CAP_EXCEEDED", "LIMIT", "CAP_EXCEEDED"])
      yield* report("calls", { value: 10, timestamp: daysAgo(2) })
      assert.strictEqual((yield* thresholds).length, 5)
    }),
  )

  it.effect("emit one event when parallel requests cross them", () =>
    Effect.gen(function* () {
      const { check, metered, report, thresholds } = yield* openMeteredShop
      yield* metered("calls", 20, { warningThresholdPercent: 50 })
      yield* Effect.all(
        Array.from({ length: 60 }, (_, index) =>
          index % 2 === 0 ? report("calls", { value: 1 }) : check([{ entitlement: "calls" }]),
        ),
        { concurrency: 20 },
      )
      assert.deepStrictEqual((yield* thresholds).toSorted(), ["CAP_EXCEEDED", "LIMIT", "WARNING"])
    }),
  )

  it.effect("emit one event when parallel requests under keys are rejected, and answer all of them", () =>
    Effect.gen(function* () {
      const { metered, report, thresholds } = yield* openMeteredShop
      yield* metered("calls", 1)
      const responses = yield* Effect.all(
        Array.from({ length: 40 }, (_, index) => report("calls", { value: 2 }, { "idempotency-key": `key-${index}` })),
        { concurrency: 40 },
      ).pipe(Effect.timeout("20 seconds"))
      assert.deepStrictEqual(
        responses.filter(({ status }) => status !== 409),
        [],
      )
      assert.deepStrictEqual(yield* thresholds, ["CAP_EXCEEDED"])
    }),
  )

  it.effect("emit the event of a rejection under an idempotency key before the response", () =>
    Effect.gen(function* () {
      const { metered, report, thresholds } = yield* openMeteredShop
      yield* metered("calls", 1)
      const rejected = yield* report("calls", { value: 2 }, { "idempotency-key": "once" })
      assert.strictEqual(rejected.status, 409)
      assert.deepStrictEqual(yield* thresholds, ["CAP_EXCEEDED"])
      const replayed = [
        yield* report("calls", { value: 1 }, { "idempotency-key": "twice" }),
        yield* report("calls", { value: 1 }, { "idempotency-key": "twice" }),
      ]
      for (const { body } of replayed)
        assert.deepStrictEqual(body.usageValue, { type: "number", value: 1, event_count: 1 })
    }),
  )
})
