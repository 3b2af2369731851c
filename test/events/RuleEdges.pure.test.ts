import { assert, describe, it } from "@effect/vitest"
import { boundsOf, listingOf, lowestIdAt, previousOf } from "../../src/domains/events/Rules.ts"
import { wantsStream } from "../../src/kernel/values/MediaTypes.ts"
import { parseJson } from "../../src/kernel/values/Decimal.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

describe("what a record was before a change", () => {
  it("are the properties with another value, but who changed it and when", () => {
    const before = { a: 1, b: [1, 2], c: { x: 1, y: 2 }, gone: 5, updatedAt: 1, updatedBy: "ann", at: new Date(0) }
    const after = { a: 2, b: [1, 2], c: { y: 2, x: 1 }, come: 7, updatedAt: 2, updatedBy: "bob", at: new Date(0) }
    assert.deepStrictEqual(previousOf(before, after), { a: 1, come: null, gone: 5 })
    assert.deepStrictEqual(previousOf({ a: null }, {}), {})
    assert.deepStrictEqual(previousOf({}, { a: null }), {})
  })

  it("keeps all digits of amounts", () => {
    const [one, other] = ["0.123456789012345678", "0.123456789012345679"].map(parseJson)
    assert.deepStrictEqual(Object.keys(previousOf({ a: one }, { a: other })), ["a"])
    assert.deepStrictEqual(previousOf({ a: one }, { a: parseJson("0.123456789012345678") }), {})
  })
})

describe("a filtered stream", () => {
  const organizationId = organizationIdOf("o")
  const since = new Date(1_000_000_000)
  const until = new Date(2_000_000_000)

  it("names its filter, and its order unless it is the oldest first", () => {
    const filters = { type: "A,B", resource: "r", actor: "a", since: since.toISOString(), until: until.toISOString() }
    const filter = { types: ["A", "B"], resources: ["r"], actor: "a", since, until } as unknown as Parameters<
      typeof listingOf
    >[1]
    assert.deepStrictEqual(listingOf(organizationId, filter), {
      name: "events",
      organizationId,
      filters: { ...filters, order: undefined, related: undefined },
    })
    assert.strictEqual(listingOf(organizationId, filter, "asc").filters?.["order"], undefined)
    assert.strictEqual(listingOf(organizationId, filter, "desc").filters?.["order"], "desc")
  })

  it("is bounded by ids five minutes before and after", () => {
    assert.deepStrictEqual(boundsOf({ since, until }), {
      since: lowestIdAt(new Date(since.getTime() - 300_000)),
      until: lowestIdAt(new Date(until.getTime() + 300_000)),
    })
    assert.deepStrictEqual(boundsOf({}), {})
    assert.deepStrictEqual(Object.keys(boundsOf({ since })), ["since"])
  })

  it("before 1970 begins with the lowest of all ids", () => {
    const zero = "00000000-0000-0000-0000-000000000000"
    assert.deepStrictEqual(
      [-5, 0, 1].map((millis) => lowestIdAt(new Date(millis))),
      [zero, zero, "00000000-0001-0000-0000-000000000000"],
    )
  })
})

describe("an Accept header", () => {
  it.each([
    ["text/event-stream;q=0.1", true],
    ["text/event-stream;q=0", false],
    ["text/event-stream, application/json;q=2", false],
    ["text/event-stream;q=1.5, application/json;q=2", false],
    ["text/event-stream;q=0.7, application/json;q=0.7", true],
    ["text/event-stream;q=10, application/json;q=5", true],
    ["text/event-stream;q=x, application/json;q=x", false],
    ["text/event-stream, application/json;q=1.1", false],
    ["text/event-stream, application/json;q=x", true],
    ["text/event-stream;q=-1", false],
  ])("%s requests the stream: %s", (accept, expected) => {
    assert.strictEqual(wantsStream(accept), expected)
  })
})
