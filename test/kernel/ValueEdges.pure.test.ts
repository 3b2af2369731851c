import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Clock, Effect, Option, Schema } from "effect"
import { canonicalJson } from "../../src/kernel/values/CanonicalJson.ts"
import {
  amountOf,
  decimalText,
  isAmount,
  isStorable,
  isWhole,
  parseDecimal,
  parseJson,
} from "../../src/kernel/values/Decimal.ts"
import { etagOf, matchesEtag } from "../../src/kernel/values/EntityTag.ts"
import { isJsonType } from "../../src/kernel/values/MediaTypes.ts"
import { isSameSecret } from "../../src/kernel/values/SecretComparison.ts"
import { shiftedClock } from "../../src/kernel/values/ShiftedClock.ts"
import { WholeNumberText } from "../../src/kernel/values/WholeNumbers.ts"

describe("amounts", () => {
  it.each([
    ["999999999999999999", true],
    ["1000000000000000000", false],
    ["-999999999999999999", true],
    ["-1000000000000000000", false],
    ["0.000000000000000001", true],
    ["0.0000000000000000001", false],
    ["1.00000000000000000", true],
    ["12.3456789012345678", true],
    ["12.34567890123456789", false],
    ["1e17", true],
    ["1e18", false],
  ])("of at most 18 digits can be stored: %s %s", (text, expected) => {
    assert.strictEqual(isStorable(BigDecimal.fromStringUnsafe(text)), expected)
  })

  it("are whole if they have no fraction", () => {
    const decimals = ["1", "1.0", "1.5", "10", "0"].map(BigDecimal.fromStringUnsafe)
    assert.deepStrictEqual(decimals.map(isWhole), [true, true, false, true, true])
  })

  it("are read from numbers and numeric texts", () => {
    const texts = [
      7,
      "7",
      "+7",
      "-7.50",
      "1e3",
      "",
      "x",
      "1.",
      "9".repeat(64),
      "9".repeat(65),
      `0.${"1".repeat(65)}`,
      true,
      null,
      Infinity,
    ]
    assert.deepStrictEqual(
      texts.map((text) => parseDecimal(text) !== undefined),
      [true, true, true, true, true, false, false, false, true, false, false, false, false, false],
    )
    assert.strictEqual(decimalText(BigDecimal.fromStringUnsafe("-0.5")), "-0.5")
    assert.deepStrictEqual([1, Number.NaN, "1", null].map(isAmount), [true, false, false, false])
  })

  it("are written without an exponent up to a hundred zeros", () => {
    assert.strictEqual(decimalText(BigDecimal.make(1n, -100)), `1${"0".repeat(100)}`)
    assert.include(decimalText(BigDecimal.make(1n, -101)), "e")
    assert.strictEqual(decimalText(BigDecimal.make(1n, 100)), `0.${"0".repeat(99)}1`)
    assert.include(decimalText(BigDecimal.make(1n, 101)), "e")
  })

  it("of up to 15 digits are numbers, longer ones keep their text", () => {
    for (const text of [
      "999999999999999",
      "1000000000000000",
      "-1000000000000001",
      "9007199254740993",
      "999999999999999999",
    ]) {
      assert.strictEqual(JSON.stringify(amountOf(BigDecimal.fromStringUnsafe(text))), text)
    }
  })

  it("with the largest exponents are parsed as exactly as they can be stored", () => {
    for (const [text, stored] of [
      ["1.5e1", true],
      ["1.000000000000000000000001e2", false],
      ["1e-18", true],
      ["1e-19", false],
      ["0e5", true],
    ] as const) {
      const amount = parseJson(text)
      const decimal = parseDecimal(amount)
      assert.strictEqual(decimal !== undefined && isStorable(decimal), stored, text)
    }
  })
})

describe("other values", () => {
  it("a tag matches itself, also weak, unquoted, in a list, or marked by a proxy", () => {
    const etag = etagOf("body")
    const opaque = etag.slice(1, -1)
    const matches = [
      etag,
      `W/${etag}`,
      opaque,
      `"x", ${etag}`,
      "*",
      " * ",
      `"${opaque}-gzip"`,
      `"${opaque}--br"`,
      `"${opaque};zstd"`,
      `"${opaque}-deflate"`,
    ]
    for (const header of matches) assert.isTrue(matchesEtag(etag, header), header)
    for (const header of [undefined, "", '"x"', `"${opaque}x"`, `"${opaque}-lz"`, '"a*"'])
      assert.isFalse(matchesEtag(etag, header), header)
  })

  it.each([
    ["application/json", true],
    ["Application/JSON; charset=utf-8", true],
    ["application/problem+json", true],
    ["text/json", true],
    ["application/jsonl", false],
    ["application/+json", false],
    ["json", false],
    ["", false],
  ])("a type is JSON: %s %s", (type, expected) => {
    assert.strictEqual(isJsonType(type), expected)
  })

  it("secrets are the same only if all their bytes are", () => {
    const bytes = (...values: ReadonlyArray<number>) => Uint8Array.from(values)
    assert.isTrue(isSameSecret(bytes(1, 2), bytes(1, 2)))
    assert.isTrue(isSameSecret(bytes(), bytes()))
    for (const other of [bytes(1), bytes(1, 2, 3), bytes(1, 3), bytes(2, 2)])
      assert.isFalse(isSameSecret(bytes(1, 2), other))
  })

  it.effect("a shifted clock is ahead of another one in all its units", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const shifted = shiftedClock(clock, () => 250)
      assert.strictEqual(shifted.currentTimeMillisUnsafe() - clock.currentTimeMillisUnsafe(), 250)
      assert.strictEqual(shifted.currentTimeNanosUnsafe() - clock.currentTimeNanosUnsafe(), 250_000_000n)
      assert.strictEqual((yield* shifted.currentTimeMillis) - (yield* clock.currentTimeMillis), 250)
      assert.strictEqual((yield* shifted.currentTimeNanos) - (yield* clock.currentTimeNanos), 250_000_000n)
    }),
  )

  it("whole numbers of queries are digits within their bounds", () => {
    const decode = Schema.decodeUnknownOption(WholeNumberText(1, 100, "d"))
    const read = (text: string) => Option.getOrUndefined(decode(text))
    assert.deepStrictEqual(["0", "1", "100", "101"].map(read), [undefined, 1, 100, undefined])
    assert.deepStrictEqual(["007", "1e2", "0x10", " 5", "-1", "", "1.0", "00000000005", "0000000005"].map(read), [
      7,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      5,
    ])
  })

  it("equal JSON has one canonical text, and different numbers have two", () => {
    const same = [
      ['{"b":1,"a":[2]}', ' {"a":[2.0],"b":1e0}'],
      ["100000000000000000000", "1e20"],
      ["1e-300", "0.01e-298"],
      ["123456789012345.0", "123456789012345"],
      ["1234567890123456", "1234567890123456.00"],
      ["0", "-0.00"],
      ["1.0e290", "10e289"],
      ["0e999999999999999999999999999999999999999", "0"],
    ] as const
    for (const [one, other] of same) assert.strictEqual(canonicalJson(one), canonicalJson(other), one)
    const different = [
      ["9007199254740993", "9007199254740992"],
      ["1e400", "1e401"],
      ["-1e400", "1e400"],
      ["1e-400", "1e-401"],
      ["1", "1.0000000000000000001"],
      ["0.1", "0.01"],
    ] as const
    for (const [one, other] of different) assert.notStrictEqual(canonicalJson(one), canonicalJson(other), one)
    assert.strictEqual(canonicalJson("{no"), "{no")
  })
})
