import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { checkEvent, identityOf, parseEvent } from "../../src/domains/usage/cloudevents/Rules.ts"
import type { ParsedEvent, RejectedEvent } from "../../src/domains/usage/cloudevents/Rules.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import { after, meterWith } from "./meters.ts"

const now = after(60_000)
const valid = { specversion: "1.0", id: "1", source: "s", subject: "prod", type: "calls", data: { value: 2 } }

const parsed = (changes: object): ParsedEvent => {
  const event = parseEvent({ ...valid, ...changes }, now)
  return "outcome" in event ? assert.fail(event.outcome.message) : event
}
const messageOf = (event: RejectedEvent | object): string | undefined =>
  "outcome" in event ? event.outcome.message : undefined

describe("parsing an event", () => {
  it("accepts texts up to their longest", () => {
    const label = "x".repeat(255)
    const event = parsed({ id: label, subject: label, type: label, source: "x".repeat(2048) })
    assert.deepStrictEqual([event.id, event.instance, event.entitlement], [label, label, label])
  })

  it.each([
    ["specversion", "0.3"],
    ["specversion", undefined],
    ["id", ""],
    ["id", "x".repeat(256)],
    ["source", ""],
    ["source", "x".repeat(2049)],
    ["subject", ""],
    ["subject", 7],
    ["type", "x".repeat(256)],
    ["time", "yesterday"],
    ["time", 5],
  ])("names the attribute that is wrong: %s", (name, value) => {
    const event = parseEvent({ ...valid, [name]: value }, now)
    assert.strictEqual(messageOf(event), `\`${name}\` is missing or invalid.`)
    assert.strictEqual(event.id, name === "id" ? value : "1")
  })

  it("names the first of two, and the id only if it is a text", () => {
    assert.strictEqual(messageOf(parseEvent({ ...valid, source: 1, type: 1 }, now)), "`source` is missing or invalid.")
    for (const [sent, id] of [
      [{ ...valid, type: 1, id: 7 }, null],
      [{}, null],
      [{ id: "a" }, "a"],
      [null, null],
      ["text", null],
      [undefined, null],
    ] as const) {
      const event = parseEvent(sent, now)
      assert.strictEqual(event.id, id)
      assert.isDefined(messageOf(event))
    }
  })

  it("takes the present without a time", () => {
    assert.strictEqual(parsed({}).timestamp, now)
    assert.strictEqual(parsed({ time: null }).timestamp, now)
    assert.deepStrictEqual(parsed({ time: "2026-01-02T00:00:00Z" }).timestamp, new Date("2026-01-02T00:00:00Z"))
  })

  it("reads a value that is a number or its text, and a unique key of 1 to 255 characters", () => {
    const valueOf = (value: unknown) => {
      const read = parsed({ data: { value } }).value
      return read === null || read === undefined ? read : BigDecimal.format(read)
    }
    assert.deepStrictEqual([7, "1.50", null, undefined, true, "x"].map(valueOf), [
      "7",
      "1.5",
      undefined,
      undefined,
      null,
      null,
    ])
    const keyOf = (uniqueKey: unknown) => parsed({ data: { uniqueKey } }).uniqueKey
    assert.deepStrictEqual(["ann", "", "x".repeat(256), 7, undefined].map(keyOf), ["ann", null, null, null, null])
  })

  it("rejects data that is sent twice", () => {
    const event = parseEvent({ ...valid, data_base64: "e30=" }, now)
    assert.strictEqual(messageOf(event), "`data` and `data_base64` must not both be sent.")
    assert.strictEqual(event.id, "1")
  })

  it("gives two events one identity only if source and id are the same", () => {
    assert.notStrictEqual(identityOf({ source: "a", id: "bc" }), identityOf({ source: "ab", id: "c" }))
    assert.strictEqual(parsed({}).identity, identityOf({ source: "s", id: "1" }))
  })
})

describe("an event for a meter", () => {
  const outcomeOf = (more: Partial<Meter>, changes: object = {}) => {
    const checked = checkEvent(parsed(changes), meterWith(more), true, now)
    return "outcome" in checked ? checked.outcome.message : BigDecimal.format(checked.value)
  }
  const none = { data: {} }
  const text = { data: { value: "x" } }
  const negative = { data: { value: -1 } }
  const named = { data: { value: "x", uniqueKey: "ann" } }

  it.each([
    ["counts its value", {}, {}, "2"],
    [
      "must be a number",
      { type: "BOOLEAN" },
      {},
      "`type` must be an entitlement of the type NUMBER; its type is BOOLEAN.",
    ],
    ["is in time", {}, { time: "2020-01-01T00:00:00Z" }, "`time` must not be before the license starts."],
    ["is a lease", { aggregationMethod: "CONCURRENT" }, {}, /^The entitlement "calls" is CONCURRENT/],
    ["has a value", {}, none, "`data.value` required."],
    ["has a value that is a number", {}, text, "`data.value` must be a number."],
    ["may lack it for a COUNT", { aggregationMethod: "COUNT" }, none, "0"],
    ["may have any for a COUNT", { aggregationMethod: "COUNT" }, text, "0"],
    ["may have any for a UNIQUE_COUNT", { aggregationMethod: "UNIQUE_COUNT" }, named, "0"],
    [
      "has a key",
      { aggregationMethod: "UNIQUE_COUNT" },
      text,
      "`data.uniqueKey` is required for a UNIQUE_COUNT: 1 to 255 characters.",
    ],
    [
      "is not negative",
      { aggregationMethod: "MAX" },
      negative,
      "`data.value` must not be negative, because the entitlement's aggregation is MAX.",
    ],
    ["may correct a SUM", {}, negative, "-1"],
  ] as ReadonlyArray<readonly [string, Partial<Meter>, object, string | RegExp]>)(
    "%s",
    (_, more, changes, expected) => {
      const outcome = outcomeOf(more, changes) ?? ""
      if (typeof expected === "string") assert.strictEqual(outcome, expected)
      else assert.match(outcome, expected)
    },
  )

  it("is rejected if there is no such entitlement, or no such instance", () => {
    const codeOf = (isInstance: boolean) => {
      const checked = checkEvent(parsed({}), undefined, isInstance, now)
      return "outcome" in checked ? checked.outcome.code : undefined
    }
    assert.deepStrictEqual([codeOf(true), codeOf(false)], ["Entitlement.NotFound", "Instance.NotFound"])
  })
})
