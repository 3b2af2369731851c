import { assert, describe, it } from "@effect/vitest"
import { slugOfVersion, valueError } from "../../src/domains/licenses/Rules.ts"
import { parseJson } from "../../src/kernel/values/Decimal.ts"

describe("the slug of a version", () => {
  it("leaves room for a random suffix of seven characters, and no more", () => {
    assert.lengthOf(slugOfVersion("x".repeat(100), 2), 93)
    assert.lengthOf(slugOfVersion("x".repeat(100), 1000), 93)
    assert.strictEqual(slugOfVersion("x".repeat(90), 2), `${"x".repeat(90)}-v2`)
  })
})

describe("the value of a grant", () => {
  const isNumber = (text: string) => valueError("NUMBER", parseJson(text) as number) === undefined
  it.each([
    ["0", true],
    ["-1", true],
    ["-0.5", false],
    ["-2", false],
    ["999999999999999999", true],
    ["1000000000000000000", false],
    ["100000000000000000", true],
    ["0.123456789012345678", true],
    ["0.1234567890123456789", false],
    ["0.000000000000000001", true],
  ])("that is %s is a number of at most 18 digits: %s", (text, expected) => {
    assert.strictEqual(isNumber(text), expected)
  })

  it("that is an object is no number with many digits", () => {
    assert.isUndefined(valueError("CONFIG", { a: 1 }))
    assert.isDefined(valueError("CONFIG", parseJson("123456789012345678") as number))
    assert.isDefined(valueError("CONFIG", 5))
  })
})
