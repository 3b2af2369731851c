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
import { insertWithFreeSlug, Slug, slugify, withRandomSuffix } from "../../src/kernel/values/Slug.ts"
import { Description, fitsBytes, FreeObject, Name, PathName } from "../../src/kernel/values/Text.ts"
import {
  FIRST_INSTANT_MS,
  isBefore,
  isSameInstant,
  isWritable,
  LAST_INSTANT_MS,
  monthStartMs,
  nearestWritable,
  parseInstant,
} from "../../src/kernel/values/Timestamp.ts"
import { WholeNumberText } from "../../src/kernel/values/WholeNumbers.ts"

describe("the instants that can be written", () => {
  it.each([
    [FIRST_INSTANT_MS - 1, false],
    [FIRST_INSTANT_MS, true],
    [LAST_INSTANT_MS, true],
    [LAST_INSTANT_MS + 1, false],
  ])("are those of the years 1 to 9999: %d %s", (millis, expected) => {
    assert.strictEqual(isWritable(millis), expected)
    assert.strictEqual(nearestWritable(millis).getTime() === millis, expected)
    assert.match(nearestWritable(millis).toISOString(), /^(0001-01-01T00:00:00.000Z|9999-12-31T23:59:59.999Z)$/)
  })

  it("are before others, or the same", () => {
    const at = (millis: number | null) => (millis === null ? null : new Date(millis))
    assert.deepStrictEqual(
      [0, 1, 2].map((millis) => isBefore(new Date(millis), new Date(1))),
      [true, false, false],
    )
    const pairs = [
      [1, 1],
      [1, 2],
      [1, null],
      [null, null],
    ] as const
    assert.deepStrictEqual(
      pairs.map(([one, other]) => isSameInstant(at(one), at(other))),
      [true, false, false, true],
    )
  })
})

describe("an instant of a request", () => {
  it.each([
    ["2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31t09:00:00.5z", "2026-01-31T09:00:00.500Z"],
    ["2026-01-31T09:00:00.1239Z", "2026-01-31T09:00:00.123Z"],
    ["2026-01-31T10:30:00+01:30", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31T07:30:00-01:30", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31T23:59:59+23:59", "2026-01-31T00:00:59.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["0099-03-01T00:00:00Z", "0099-03-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60.9Z", "2016-12-31T23:59:59.999Z"],
    ["2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59.999Z"],
  ])("is read: %s", (text, expected) => {
    assert.strictEqual(parseInstant(text)?.toISOString(), expected)
  })

  it.each([
    "2026-01-00T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T00:60:00Z",
    "2026-01-31T00:00:61Z",
    "2026-01-31T00:00:60Z",
    "2026-01-30T23:59:60Z",
    "2026-01-31T00:00:00+24:00",
    "2026-01-31T00:00:00+00:60",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-01-31T00:00:00",
    "2026-01-31 00:00:00Z",
  ])("is not %s", (text) => {
    assert.isUndefined(parseInstant(text))
  })

  it.each([1, 3, 5, 7, 8, 10, 12])("has 31 days in month %d", (month) => {
    const day = (count: number) => `2026-${String(month).padStart(2, "0")}-${count}T00:00:00Z`
    assert.isDefined(parseInstant(day(31)))
    assert.isUndefined(parseInstant(day(32)))
  })

  it.each([4, 6, 9, 11])("has 30 days in month %d", (month) => {
    const day = (count: number) => `2026-${String(month).padStart(2, "0")}-${count}T00:00:00Z`
    assert.isDefined(parseInstant(day(30)))
    assert.isUndefined(parseInstant(day(31)))
  })

  it("has a month that begins in any year", () => {
    for (const [year, month, expected] of [
      [1970, 1, "1970-01-01"],
      [1969, 13, "1970-01-01"],
      [2026, 0, "2025-12-01"],
      [50, 3, "0050-03-01"],
    ] as const) {
      assert.strictEqual(new Date(monthStartMs(year, month)).toISOString(), `${expected}T00:00:00.000Z`)
    }
  })
})

describe("texts", () => {
  const fits = (schema: Schema.Codec<string>, text: string) => Option.isSome(Schema.decodeOption(schema)(text))

  it("have at least and at most so many characters", () => {
    assert.deepStrictEqual(
      [0, 1, 255, 256].map((length) => fits(Name, "x".repeat(length))),
      [false, true, true, false],
    )
    assert.deepStrictEqual(
      [1, 255, 256].map((length) => fits(Name, "🔑".repeat(length))),
      [true, true, false],
    )
    assert.deepStrictEqual(
      [0, 4000, 4001].map((length) => fits(Description, "x".repeat(length))),
      [true, true, false],
    )
    assert.isFalse(fits(Name, "🔑".repeat(200) + "x".repeat(56)))
    assert.isTrue(fits(Name, "🔑".repeat(200) + "x".repeat(55)))
  })

  it("can be stored", () => {
    for (const text of ["a\u0000", "\ud800"]) {
      assert.isFalse(fits(PathName, text))
      assert.isFalse(fits(Name, text))
    }
    assert.isTrue(fits(PathName, ""))
  })

  it.each([
    ["xxx", 3, true],
    ["xxxx", 3, false],
    ["ü", 1, false],
    ["ü", 2, true],
    ["üü", 4, true],
    ["üü", 3, false],
    ["€", 3, true],
    ["€", 2, false],
  ])("%s have at most %d bytes: %s", (text, maximum, expected) => {
    assert.strictEqual(fitsBytes(text, maximum), expected)
  })
})

describe("a free object", () => {
  const fits = (value: object) => Schema.is(FreeObject)(value as Record<string, unknown>)
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, key) => [`k${key}`, 1]))

  it("has at most four levels of objects and lists", () => {
    assert.isTrue(fits({ a: { b: { c: { d: 1 } } } }))
    assert.isFalse(fits({ a: { b: { c: { d: {} } } } }))
    assert.isTrue(fits({ a: [[["x"]]] }))
    assert.isFalse(fits({ a: [[[[]]]] }))
  })

  it("has at most 64 keys in each object", () => {
    assert.deepStrictEqual(
      [63, 64, 65].map((count) => fits(keys(count))),
      [true, true, false],
    )
    assert.deepStrictEqual(
      [64, 65].map((count) => fits({ a: [keys(count)] })),
      [true, false],
    )
  })

  it("has at most 16 KiB", () => {
    const sized = (bytes: number) => ({ a: "x".repeat(bytes - 8) })
    assert.deepStrictEqual(
      [16_383, 16_384, 16_385].map((bytes) => fits(sized(bytes))),
      [true, true, false],
    )
  })

  it("has no text that cannot be stored, also as a key", () => {
    for (const text of ["\u0000", "\udc00"]) {
      assert.isFalse(fits({ a: text }))
      assert.isFalse(fits({ [text]: 1 }))
      assert.isFalse(fits({ a: [{ b: text }] }))
    }
    assert.isTrue(fits({ a: [null, true, 1.5] }))
  })
})

describe("a slug", () => {
  const fits = (text: string) => Schema.is(Slug)(text)
  it("has 2 to 100 characters, and no hyphen at its ends", () => {
    assert.deepStrictEqual(
      [1, 2, 100, 101].map((length) => fits("x".repeat(length))),
      [false, true, true, false],
    )
    assert.deepStrictEqual(["-a", "a-", "a-b", "A1", "a_b"].map(fits), [false, false, true, false, false])
  })

  it("of a long text leaves room for a suffix", () => {
    assert.strictEqual(slugify("x".repeat(200), "f"), "x".repeat(93))
    assert.strictEqual(slugify(`${"x".repeat(92)} y`, "f"), "x".repeat(92))
    assert.deepStrictEqual(
      ["a", "ab", "null", "!", "true", "False"].map((text) => slugify(text, "f")),
      ["f-a", "ab", "f-null", "f", "f-true", "f-false"],
    )
  })

  it.effect("gets a suffix of six letters or digits", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      for (let run = 0; run < 500; run++) {
        const slug = yield* withRandomSuffix("a")
        assert.match(slug, /^a-[a-z0-9]{6}$/)
        for (const letter of slug.slice(2)) seen.add(letter)
      }
      assert.lengthOf([...seen], 36)
    }),
  )

  it.effect("is the explicit one, the suggested one, or the suggested one with a suffix", () =>
    Effect.gen(function* () {
      const insertion = (
        options: { readonly explicit?: string; readonly alwaysSuffixed?: boolean },
        taken: (tries: number) => boolean,
      ) => {
        let tries = 0
        const insert = () => Effect.sync(() => !taken(++tries))
        const inserted = insertWithFreeSlug({
          explicit: options.explicit,
          suggested: "free",
          insert,
          taken: (slug) => `${slug} is taken`,
          ...(options.alwaysSuffixed === undefined ? {} : { alwaysSuffixed: options.alwaysSuffixed }),
        })
        return Effect.map(
          Effect.exit(inserted),
          (exit) => [exit._tag === "Success" ? exit.value : exit._tag, tries] as const,
        )
      }
      const free = () => false
      assert.deepStrictEqual(yield* insertion({ explicit: "mine" }, free), ["mine", 1])
      assert.deepStrictEqual(yield* insertion({ explicit: "mine" }, () => true), ["Failure", 1])
      assert.deepStrictEqual(yield* insertion({}, free), ["free", 1])
      assert.deepStrictEqual(yield* insertion({ alwaysSuffixed: false }, free), ["free", 1])
      const [suffixed, tries] = yield* insertion({ alwaysSuffixed: true }, free)
      assert.match(suffixed, /^free-[a-z0-9]{6}$/)
      assert.strictEqual(tries, 1)
      assert.deepStrictEqual((yield* insertion({}, (count) => count < 6))[1], 6)
      assert.deepStrictEqual(yield* insertion({}, () => true), ["Failure", 6])
    }),
  )
})

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
