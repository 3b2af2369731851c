import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { lowestIdAt, resourceOf, wantsStream } from "../../src/domains/events/Rules.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"

const STREAM = "text/event-stream"

describe("who asks for the live stream", () => {
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

describe("what an event is about", () => {
  it.prop(
    "is its id, whatever else it names",
    [Schema.String, Schema.Record(Schema.String, Schema.String)],
    ([id, others]) => resourceOf({ ...others, id }) === id,
  )

  it("is the next thing that names it where it has no id", () => {
    assert.strictEqual(resourceOf({ slug: "gold", licenseSlug: "other" }), "gold")
    assert.strictEqual(resourceOf({ instanceId: "i", licenseSlug: "gold" }), "i")
    assert.strictEqual(resourceOf({ id: null, connectorName: "crm" }), "crm")
    assert.strictEqual(resourceOf({ name: "nothing" }), null)
  })
})

describe("the lowest id of an instant", () => {
  it.effect("divides the ids made before it from those made since", () =>
    Effect.gen(function* () {
      // Ids never go back within a process, so the instant lies ahead of every clock.
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
