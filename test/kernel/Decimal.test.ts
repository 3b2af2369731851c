import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Option, Schema } from "effect"
import {
  amountOf,
  decimalOfAmount,
  decimalOfText,
  isAmount,
  parseJson,
  nearestNumber,
  decimalText,
} from "../../src/kernel/values/Decimal.ts"

const written = (json: string): string => JSON.stringify(parseJson(json))
const decimal = (json: string): BigDecimal.BigDecimal => decimalOfAmount(parseJson(json) as number)

/** Any decimal of up to 18 digits before and 18 behind the point, written without idle zeros. */
const decimals = Arbitrary.schema(
  Schema.Tuple([
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -(10n ** 18n) + 1n, maximum: 10n ** 18n - 1n })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 18 })),
  ]),
)

describe("numbers of JSON", () => {
  it("are JavaScript numbers where those lose nothing", () => {
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

  it("are what JavaScript makes of them where an exponent is written, and beyond what anyone stores", () => {
    for (const text of [
      "1.2345678901234567890e2",
      "1e400",
      "1.2345678901234567e-99999999",
      `1.${"3".repeat(70)}e10`,
      `1${"0".repeat(100_000)}`,
    ]) {
      assert.strictEqual(parseJson(text), JSON.parse(text), text.slice(0, 40))
    }
  })

  it("keep their digits where JavaScript would drop some", () => {
    for (const text of ["123456789012345678", "-0.123456789012345678", "9007199254740993", "123456789.123456789"]) {
      assert.strictEqual(written(text), text)
      assert.strictEqual(decimalText(decimal(text)), text)
      assert.strictEqual(nearestNumber(parseJson(text) as number), Number(text))
      assert.isTrue(isAmount(parseJson(text)))
    }
    assert.strictEqual(written(`[{"a":0.1234567890123456780}]`), `[{"a":0.123456789012345678}]`)
  })

  it("are cut far behind the digits that can be stored, and stay larger than what is cut", () => {
    const long = decimal(`0.5${"0".repeat(900_000)}1`)
    assert.isTrue(BigDecimal.isGreaterThan(long, BigDecimal.make(5n, 1)))
    assert.isBelow(decimalText(long).length, 100)
  })

  it("leave texts with many digits alone", () => {
    const body = { id: "12345678901234567890", at: "2026-11-21T09:30:00.000Z", list: [true, null, 1.5, {}] }
    assert.deepStrictEqual(parseJson(JSON.stringify(body)), body)
    assert.throws(() => parseJson("1234567890123456789 x"))
  })

  it("are plain numbers in answers up to 15 digits, whatever their exponent", () => {
    for (const number of [0, -1, 0.1, 1e-9, 1e21, 123456789012345, 1e300]) {
      assert.strictEqual(amountOf(BigDecimal.fromNumberUnsafe(number)), number)
    }
    assert.strictEqual(amountOf(BigDecimal.make(1_500_000_000_000_000_000n, 18)), 1.5)
  })

  it("are read of texts that say one, and of no others", () => {
    for (const text of ["7", "-7", "0007", "1e3", "-0.50", "98765432109876543210"]) {
      const read = Option.getOrThrow(decimalOfText(text))
      assert.isTrue(BigDecimal.equals(read, BigDecimal.fromStringUnsafe(text)), text)
    }
    for (const text of ["-", "1-", "1 ", "0x1", "1n", "one", "1.2.3"])
      assert.isTrue(Option.isNone(decimalOfText(text)), text)
  })

  it.prop(
    "come back from a decimal digit for digit",
    { parts: decimals },
    ({ parts: [digits, scale] }) => {
      const text = decimalText(BigDecimal.make(digits, scale))
      const answered = JSON.stringify(amountOf(decimal(text)))
      // JavaScript writes small numbers of few digits with an exponent.
      assert.strictEqual(/e/.test(answered) ? decimalText(BigDecimal.fromStringUnsafe(answered)) : answered, text)
      assert.isTrue(BigDecimal.equals(decimal(text), BigDecimal.make(digits, scale)))
      assert.isTrue(BigDecimal.equals(Option.getOrThrow(decimalOfText(text)), BigDecimal.make(digits, scale)))
    },
    { arbitrary: { runs: 2000 } },
  )
})
