import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Option, Schema } from "effect"
import {
  amountOf,
  decimalOfAmount,
  decimalOfText,
  isAmount,
  isStorable,
  mayLoseDigits,
  parseJson,
  nearestNumber,
  decimalText,
} from "../../src/kernel/values/Decimal.ts"

const roundTrip = (json: string): string => JSON.stringify(parseJson(json))
const decimal = (json: string): BigDecimal.BigDecimal => decimalOfAmount(parseJson(json) as number)

/** Any decimal with up to 18 digits before and 18 digits after the point. */
const decimals = Arbitrary.schema(
  Schema.Tuple([
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -(10n ** 18n) + 1n, maximum: 10n ** 18n - 1n })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 18 })),
  ]),
)

describe("JSON numbers", () => {
  it("are parsed to JavaScript numbers if no digits are lost", () => {
    const texts = [
      "0",
      "-1",
      "0.1",
      "1.50",
      "123456789012345",
      "0.30000000000000004",
      "9007199254740991",
      "1e3",
      "1.0",
      "-0",
    ]
    for (const text of [...texts, "1.000000000000000000000", "12.3400000000000000000"]) {
      assert.strictEqual(parseJson(text), JSON.parse(text), text)
    }
  })

  it("are parsed to JavaScript numbers if they are exact with an exponent, or too large to store", () => {
    for (const text of [
      "1.2345e2",
      "1E+21",
      "1e-30",
      "-1.5e0",
      "0.000e-9999",
      "-0e5",
      "1e400",
      "-1e99999999999999999999",
      `1${"0".repeat(100_000)}`,
      `${"7".repeat(100_000)}e3`,
    ]) {
      assert.strictEqual(parseJson(text), JSON.parse(text), text.slice(0, 40))
    }
  })

  it("with an exponent keep digits that a JavaScript number would lose, and are never rounded to zero", () => {
    assert.strictEqual(decimalText(decimal("1.23456789012345678e3")), "1234.56789012345678")
    assert.strictEqual(decimalText(decimal("123456789012345678E-18")), "0.123456789012345678")
    assert.strictEqual(decimalText(decimal("0.0000123456789012345678e+5")), "1.23456789012345678")
    for (const text of [
      "1e-400",
      "[1e-324]",
      "4e-324",
      "1.2345678901234567e-99999999",
      `1e-${"9".repeat(400)}`,
      `1.${"3".repeat(70)}e10`,
      `${"1".repeat(100_000)}e-99999`,
    ]) {
      const parsed = [parseJson(text)].flat()[0] as number
      assert.isFalse(isStorable(decimalOfAmount(parsed)), text.slice(0, 40))
      assert.isFalse(BigDecimal.isZero(decimalOfAmount(parsed)), text.slice(0, 40))
    }
  })

  it("may lose digits only in texts that are looked at", () => {
    for (const text of ["1e-400", '{"a":1E2}', "[1, -1e9]", "12345.67890123456", " 1.5e3"])
      assert.isTrue(mayLoseDigits(text), text)
    for (const text of ['{"a":123456789012345}', '["a1e5","0198c2b0-1e11"]', '"2026-01-31T09:00:00.000Z"']) {
      assert.isFalse(mayLoseDigits(text), text)
    }
  })

  it("keep digits that a JavaScript number would lose", () => {
    for (const text of ["123456789012345678", "-0.123456789012345678", "9007199254740993", "123456789.123456789"]) {
      assert.strictEqual(roundTrip(text), text)
      assert.strictEqual(decimalText(decimal(text)), text)
      assert.strictEqual(nearestNumber(parseJson(text) as number), Number(text))
      assert.isTrue(isAmount(parseJson(text)))
    }
    assert.strictEqual(roundTrip(`[{"a":0.1234567890123456780}]`), `[{"a":0.123456789012345678}]`)
  })

  it("with too many digits to store are truncated and remain larger than their truncated digits", () => {
    const long = decimal(`0.5${"0".repeat(900_000)}1`)
    assert.isTrue(BigDecimal.isGreaterThan(long, BigDecimal.make(5n, 1)))
    assert.isBelow(decimalText(long).length, 100)
  })

  it("in strings are not changed, however many digits they have", () => {
    const body = { id: "12345678901234567890", at: "2026-11-21T09:30:00.000Z", list: [true, null, 1.5, {}] }
    assert.deepStrictEqual(parseJson(JSON.stringify(body)), body)
    assert.throws(() => parseJson("1234567890123456789 x"))
  })

  it("of up to 15 digits are converted from decimals to JavaScript numbers, whatever their exponent", () => {
    for (const number of [0, -1, 0.1, 1e-9, 1e21, 123456789012345, 1e300]) {
      assert.strictEqual(amountOf(BigDecimal.fromNumberUnsafe(number)), number)
    }
    assert.strictEqual(amountOf(BigDecimal.make(1_500_000_000_000_000_000n, 18)), 1.5)
  })

  it("are parsed from valid texts to decimals, and invalid texts are rejected", () => {
    for (const text of ["7", "-7", "0007", "1e3", "-0.50", "98765432109876543210"]) {
      const read = Option.getOrThrow(decimalOfText(text))
      assert.isTrue(BigDecimal.equals(read, BigDecimal.fromStringUnsafe(text)), text)
    }
    for (const text of ["-", "1-", "1 ", "0x1", "1n", "one", "1.2.3"])
      assert.isTrue(Option.isNone(decimalOfText(text)), text)
  })

  it.prop(
    "converted to a decimal and back keep every digit",
    { parts: decimals },
    ({ parts: [digits, scale] }) => {
      const text = decimalText(BigDecimal.make(digits, scale))
      const serialized = JSON.stringify(amountOf(decimal(text)))
      // JavaScript serializes small numbers with an exponent.
      assert.strictEqual(/e/.test(serialized) ? decimalText(BigDecimal.fromStringUnsafe(serialized)) : serialized, text)
      assert.isTrue(BigDecimal.equals(decimal(text), BigDecimal.make(digits, scale)))
      assert.isTrue(BigDecimal.equals(Option.getOrThrow(decimalOfText(text)), BigDecimal.make(digits, scale)))
    },
    { arbitrary: { runs: 2000 } },
  )
})
