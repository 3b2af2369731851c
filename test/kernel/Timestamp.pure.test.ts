import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { instantText, Timestamp } from "../../src/kernel/values/Timestamp.ts"
import { toJson } from "../../src/kernel/contract/JsonResponse.ts"

const YEAR_0 = Date.UTC(0, 0, 1) - 1900 * 365.25 * 86_400_000
const YEAR_10000 = Date.UTC(10_000, 0, 1)
const instants = Schema.Int.check(Schema.isBetween({ minimum: YEAR_0, maximum: YEAR_10000 }))
const encode = Schema.encodeSync(Schema.toCodecJson(Timestamp))

describe("instants", () => {
  it.prop("are formatted like `Date.toISOString`, whatever the year", [instants], ([millis]) => {
    const instant = new Date(millis)
    assert.strictEqual(instantText(instant), instant.toISOString())
    assert.strictEqual(encode(instant), instant.toISOString())
    assert.strictEqual(toJson({ instant })["instant"], instant.toISOString())
  })

  it("are formatted correctly after the cache of days is full", () => {
    for (let day = 0; day < 5000; day++) {
      const instant = new Date(day * 86_400_000 + day)
      assert.strictEqual(instantText(instant), instant.toISOString())
    }
  })

  it.each([
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00.000Z",
    "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
  ])("%s is parsed and formatted to the same text", (text) => {
    assert.strictEqual(instantText(new Date(text)), text)
  })

  it("that are invalid cannot be formatted", () => {
    assert.throws(() => instantText(new Date(Number.NaN)))
  })
})
