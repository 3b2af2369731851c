import { assert, layer } from "@effect/vitest"
import { BigDecimal, Effect } from "effect"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import { fold } from "../../src/domains/usage/rules/Aggregation.ts"
import type { UsageEvent } from "../../src/domains/usage/rules/Aggregation.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { randomIntegers } from "./RandomGenerator.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const LENGTH = 40

layer(TestService.layer, { excludeTestServices: true })("histories of late, repeated and replacing reports", (it) => {
  it.effect(
    "return the usage of all their events after each report",
    () =>
      Effect.gen(function* () {
        const { metered, report } = yield* openMeteredShop
        const start = Date.now() - 10 * DAY_MS
        for (const [seed, method] of aggregationMethods.entries()) {
          const random = randomIntegers(seed + 7)
          const slug = `by-${method.toLowerCase().replace("_", "-")}`
          yield* metered(slug, -1, { aggregationMethod: method })
          const events: Array<UsageEvent> = []
          for (let index = 0; index < LENGTH; index++) {
            const event = {
              timestamp: new Date(start + random(20) * 60_000),
              behavior: method !== "UNIQUE_COUNT" && random(5) === 0 ? ("set" as const) : ("append" as const),
              value: BigDecimal.make(BigInt(random(1000)), 2),
              uniqueKey: `key ${random(8)}`,
            }
            events.push(event)
            const body = {
              ...event,
              value: BigDecimal.toNumberUnsafe(event.value),
              transactionId: `report ${index}`,
            }
            const answer = yield* report(slug, body)
            const expected = fold(method, events)
            const { usageValue } = answer.body
            assert.strictEqual(usageValue.value, BigDecimal.toNumberUnsafe(expected.value), `${method} ${index}`)
            assert.strictEqual(usageValue.event_count, expected.eventCount)
            if (random(4) === 0) assert.deepStrictEqual((yield* report(slug, body)).body.usageValue, usageValue)
          }
        }
      }),
    120_000,
  )
})
