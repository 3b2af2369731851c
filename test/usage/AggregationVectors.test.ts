import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import metering from "../fixtures/metering.json" with { type: "json" }
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

/** An event is its value, nothing (the property is missing), an empty payload, or a unique key and an operation. */
const Case = Schema.Struct({
  id: Schema.String,
  method: Schema.Literals(aggregationMethods),
  events: Schema.Array(Schema.Unknown),
  expected: Schema.optionalKey(Schema.Struct({ value: Schema.Finite, eventCount: Schema.optionalKey(Schema.Int) })),
  expectedAfterEach: Schema.optionalKey(Schema.Array(Schema.Finite)),
  expectedError: Schema.optionalKey(Schema.String),
})
const cases = Schema.decodeUnknownSync(Schema.Array(Case))(metering.aggregation)

// The specification has no operation that removes a unique key.
const removes = ({ events }: typeof Case.Type) =>
  events.some((event) => Array.isArray(event) && event.includes("remove"))
const applicable = cases.filter((one) => !removes(one))

describe("aggregations of the public test suites", () => {
  it("are all run, except one that removes a unique key", () => {
    assert.deepStrictEqual(
      cases.filter((one) => !applicable.includes(one)).map(({ id }) => id),
      ["unique-removed"],
    )
    assert.strictEqual(applicable.length, 9)
  })
})

layer(TestService.layer, { excludeTestServices: true })(
  "aggregations of the public test suites, sent as events",
  (it) => {
    for (const { events, expected, expectedAfterEach, expectedError, id, method } of applicable) {
      it.effect(id, () =>
        Effect.gen(function* () {
          const { call, metered } = yield* openMeteredShop
          yield* metered("meter", -1, { aggregationMethod: method })
          const usage = Effect.map(
            call("GET", "/instances/prod/entitlements/meter/usage"),
            ({ body }) => body.usageValue,
          )
          for (const [index, value] of events.entries()) {
            const sent = {
              specversion: "1.0",
              id: `${index}`,
              source: "/vectors",
              subject: "prod",
              type: "meter",
              data: method === "COUNT" ? value : { value },
            }
            const { body } = yield* call("POST", "/usage-events", [sent])
            const [{ code, status }] = body.results
            const isRefused = expectedError !== undefined || value === null
            assert.deepStrictEqual(
              [status, code],
              isRefused ? ["rejected", "Request.ValidationFailed"] : ["accepted", undefined],
            )
            if (expectedAfterEach !== undefined) assert.strictEqual((yield* usage).value, expectedAfterEach[index])
          }
          const { event_count, value } = yield* usage
          assert.strictEqual(value, expected?.value ?? 0)
          if (expected?.eventCount !== undefined) assert.strictEqual(event_count, expected.eventCount)
        }),
      )
    }
  },
)
