import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Schema } from "effect"
import { insertWithFreeSlug, Slug, slugify, withRandomSuffix } from "../../src/kernel/values/Slug.ts"
import { Description, fitsBytes, FreeObject, Name, PathName } from "../../src/kernel/values/Text.ts"

describe("texts", () => {
  const fits = (schema: Schema.Codec<string>, text: string) => Option.isSome(Schema.decodeOption(schema)(text))

  it("have a minimum and a maximum of characters", () => {
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

  it("say how long they may be", () => {
    const message = (schema: Schema.Codec<string>, text: string) =>
      Result.match(Schema.decodeResult(schema)(text), { onFailure: String, onSuccess: () => "" })
    assert.include(message(Name, ""), "1 to 255 characters")
    assert.include(message(Description, "x".repeat(4001)), "at most 4000 characters")
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
      assert.isFalse(fits({ a: ["x", text] }))
      assert.isFalse(fits({ a: "x", b: text }))
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
