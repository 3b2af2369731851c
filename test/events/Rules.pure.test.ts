import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { lowestIdAt, resourceOf, wantsStream } from "../../src/domains/events/Rules.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"

const STREAM = "text/event-stream"

describe("requests for the live stream", () => {
  it.each([
    [undefined, false],
    ["", false],
    ["*/*", false],
    ["text/*", false],
    ["application/json", false],
    [STREAM, true],
    ["Text/Event-Stream; charset=utf-8", true],
    [`application/json;q=0.9, ${STREAM}`, true],
    [`application/json, ${STREAM}`, true],
    [`application/json, ${STREAM};q=0.9`, false],
    [`${STREAM};q=0`, false],
    [`${STREAM};q=nonsense`, false],
    [`*/*, ${STREAM};q=0.1`, true],
  ])("Accept: %s", (accept, expected) => {
    assert.strictEqual(wantsStream(accept), expected)
  })
})

describe("the resource of an event", () => {
  it.prop(
    "is the id of its data, whatever other properties it has",
    [Schema.String, Schema.Record(Schema.String, Schema.String)],
    ([id, others]) => resourceOf({ ...others, id }) === id,
  )

  it("is the next identifying property if the data has no id", () => {
    assert.strictEqual(resourceOf({ slug: "gold", licenseSlug: "other" }), "gold")
    assert.strictEqual(resourceOf({ instanceId: "i", licenseSlug: "gold" }), "i")
    assert.strictEqual(resourceOf({ id: null, connectorName: "crm" }), "crm")
    assert.strictEqual(resourceOf({ name: "nothing" }), null)
  })
})

describe("the lowest id of a time", () => {
  it.effect("is greater than ids generated before and less than ids generated since", () =>
    Effect.gen(function* () {
      const at = Date.UTC(2100, 0, 1)
      yield* TestClock.setTime(at - 1)
      const before = yield* newId
      yield* TestClock.setTime(at)
      const since = yield* newId
      const lowest = lowestIdAt(new Date(at))
      assert.isTrue(before < lowest && lowest < since, `${before} ${lowest} ${since}`)
    }),
  )
})
