import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { FreeObject, Name } from "../../src/kernel/values/Text.ts"
import { TimestampInput } from "../../src/kernel/values/Timestamp.ts"

const isName = Schema.is(Name)
const isFreeObject = Schema.is(FreeObject)

describe("texts", () => {
  it.each(["a", "Łukasz", "שלום", "🚀".repeat(255), "x".repeat(255), "<b>&\"'"])("%s is a name", (text) => {
    assert.isTrue(isName(text))
  })

  it.each(["", "x".repeat(256), "🚀".repeat(256), "a\u0000b", "\ud800", "a\udfff"])("%j is not a name", (text) => {
    assert.isFalse(isName(text))
  })

  it("a free object with too many levels, keys or bytes, or with unstorable texts is rejected", () => {
    assert.isTrue(isFreeObject({ a: { b: { c: { d: 1 } } } }))
    assert.isFalse(isFreeObject({ a: { b: { c: { d: { e: 1 } } } } }))
    assert.isTrue(isFreeObject(Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`k${index}`, index]))))
    assert.isFalse(isFreeObject(Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, index]))))
    assert.isFalse(isFreeObject({ text: "x".repeat(17_000) }))
    assert.isFalse(isFreeObject({ text: "a\u0000" }))
    assert.isFalse(isFreeObject({ "\ud800": 1 }))
  })
})

describe("timestamps", () => {
  const decode = Schema.decodeUnknownExit(TimestampInput)

  it.each([
    ["2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31T10:00:00+01:00", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31t09:00:00z", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31t09:00:00.5Z", "2026-01-31T09:00:00.500Z"],
    ["2026-01-31T10:00:00.123456+01:00", "2026-01-31T09:00:00.123Z"],
    ["2026-01-31T09:00:00.1239999999999999999999999999Z", "2026-01-31T09:00:00.123Z"],
    ["1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"],
    ["2026-01-31T09:00:00-00:00", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31T23:59:59+23:59", "2026-01-31T00:00:59.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["0099-03-01T00:00:00+01:00", "0099-02-28T23:00:00.000Z"],
    ["9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"],
    ["2017-01-01T00:59:60.75+01:00", "2016-12-31T23:59:59.999Z"],
    ["9999-12-31T23:59:60Z", "9999-12-31T23:59:59.999Z"],
  ])("%s is read as %s", (text, instant) => {
    assert.deepStrictEqual(decode(text), Exit.succeed(new Date(instant)))
  })

  it.each([
    "2026-01-31",
    "2026-01-31T09:00:00",
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "tomorrow",
    "",
    "2026-13-01T00:00:00Z",
    "2026-01-01T25:00:00Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-01:00",
    "0001-01-01T00:00:00+00:01",
    "1900-02-29T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T09:60:00Z",
    "2026-01-31T09:00:60Z",
    "2026-01-30T23:59:60Z",
    "2026-01-31T09:00:61Z",
    "2026-01-31T09:00Z",
    "2026-01-31T09Z",
    "2026-01-31T09:00:00+01",
    "2026-01-31T09:00:00+0100",
    "2026-01-31T09:00:00+24:00",
    "2026-01-31T09:00:00+01:60",
    "2026-01-31T09:00:00,5Z",
    "2026-01-31T09:00:00.Z",
    "2026-01-31 09:00:00Z",
    "2026-01-31T09:00:00 Z",
    " 2026-01-31T09:00:00Z",
    "2026-01-31T09:00:00Z\n",
    "20260131T090000Z",
    "2026-W05-6T09:00:00Z",
    "2026-031T09:00:00Z",
    "+002026-01-31T09:00:00Z",
    "-0001-01-31T09:00:00Z",
    "\u0662026-01-31T09:00:00Z",
    "2026-01-31T09:00:00\u221201:00",
    "1769850000",
  ])("%s is not an instant", (text) => {
    assert.isTrue(Exit.isFailure(decode(text)))
  })

  it.effect.prop("an instant in a response can be sent back", [Schema.Date], ([date]) =>
    Effect.gen(function* () {
      const year = date.getUTCFullYear()
      if (year < 1 || year > 9999) return
      const back = yield* Schema.decodeEffect(TimestampInput)(date.toISOString())
      assert.strictEqual(back.getTime(), date.getTime())
    }),
  )
})
