import { assert, describe, it } from "@effect/vitest"
import { echoOf, isEqualJson, metadataErrors } from "../../src/domains/metadata/ValueRules.ts"

describe("a value that is returned in an error", () => {
  it.each([1023, 1024, 1025])("has at most 1,024 characters as JSON: %d", (length) => {
    const value = "x".repeat(length - 2)
    assert.deepStrictEqual(echoOf(value), length <= 1024 ? { value } : {})
  })

  it("may be absent", () => {
    assert.deepStrictEqual(echoOf(undefined), { value: undefined })
  })
})

describe("the metadata of a record", () => {
  const archivedAt = new Date(0)
  const text = { type: "string", maxLength: 3 }
  const fields = [
    { key: "region", jsonSchema: text, archivedAt: null },
    { key: "old", jsonSchema: text, archivedAt },
    { key: "both", jsonSchema: { type: "number" }, archivedAt },
    { key: "both", jsonSchema: text, archivedAt: null },
    { key: "list", jsonSchema: { items: text }, archivedAt: null },
  ]
  const errors = (after: object, before: object = {}) =>
    metadataErrors(fields, before as Record<string, unknown>, after as Record<string, unknown>).map(
      ({ location, value }) => [location, value],
    )

  it("fits its fields, also where it did not change", () => {
    assert.deepStrictEqual(errors({ region: "eu", both: "x", list: ["a"] }), [])
    assert.deepStrictEqual(errors({ region: "long" }, { region: "long" }), [["body.metadata.region", "long"]])
    assert.deepStrictEqual(errors({ both: 1 }), [["body.metadata.both", 1]])
    assert.deepStrictEqual(errors({ list: ["a", "long"] }), [["body.metadata.list/1", undefined]])
  })

  it("has only keys of fields, and of archived ones only what is stored", () => {
    assert.deepStrictEqual(errors({ x: 1 }), [["body.metadata.x", 1]])
    assert.deepStrictEqual(errors({ old: { b: 1, a: 2 } }, { old: { a: 2, b: 1 } }), [])
    assert.deepStrictEqual(errors({ old: "b" }, { old: "a" }), [["body.metadata.old", "b"]])
    assert.deepStrictEqual(errors({ old: "a" }), [["body.metadata.old", "a"]])
    assert.deepStrictEqual(errors({}, { old: "a" }), [])
  })

  it("is compared as JSON", () => {
    assert.isTrue(isEqualJson({ a: 1, b: [2] }, { b: [2], a: 1 }))
    assert.isFalse(isEqualJson([1, 2], [2, 1]))
  })
})
