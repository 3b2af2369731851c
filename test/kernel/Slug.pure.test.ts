import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Slug, slugify, insertWithFreeSlug } from "../../src/kernel/values/Slug.ts"

const isSlug = Schema.is(Slug)

describe("slugs", () => {
  it.prop("every text gives a valid slug", [Schema.String], ([text]) => isSlug(slugify(text, "thing")))

  it.prop("a valid slug of up to 93 characters gives itself", [Slug], ([slug]) =>
    slug.length > 93 || slug.includes("--") ? true : slugify(slug, "thing") === slug,
  )

  it.each([
    ["Acme GmbH & Co. KG", "acme-gmbh-co-kg"],
    ["Crème Brûlée", "creme-brulee"],
    ["1.2.3+build", "1-2-3-build"],
    ["Straße", "strasse"],
    ["GROẞ", "gross"],
    ["Łódź", "lodz"],
    ["Ørsted", "orsted"],
    ["Æon Œuvre Ǽ", "aeon-oeuvre-ae"],
    ["Đặng Þór Ægir Eiður", "dang-thor-aegir-eidur"],
    ["Ħal Ŋaro Işık Əli", "hal-naro-isik-eli"],
    ["İstanbul", "istanbul"],
    ["ﬁnance ſt", "finance-st"],
    ["ø", "customer-o"],
    ["ß".repeat(100), "s".repeat(93)],
    ["null", "customer-null"],
    ["NULL!", "customer-null"],
    ["True", "customer-true"],
    ["false", "customer-false"],
    ["nullable", "nullable"],
    ["Null Inc", "null-inc"],
    ["株式会社", "customer"],
    ["🚀", "customer"],
    ["'; DROP TABLE customers; --", "drop-table-customers"],
    ["<script>alert(1)</script>", "script-alert-1-script"],
    ["x", "customer-x"],
    ["a".repeat(300), "a".repeat(93)],
  ])("%s becomes %s", (text, slug) => {
    assert.strictEqual(slugify(text, "customer"), slug)
  })

  it.each(["a", "-ab", "ab-", "Ab", "a_b", "a b", "", "a".repeat(101), "ä-b"])("%s is not a slug", (text) => {
    assert.isFalse(isSlug(text))
  })

  it.effect("a suggested slug that is taken gets six random characters", () =>
    Effect.gen(function* () {
      const taken = new Set(["acme"])
      const slug = yield* insertWithFreeSlug({
        explicit: undefined,
        suggested: "acme",
        insert: (slug) => Effect.sync(() => !taken.has(slug)),
        taken: () => "taken",
      })
      assert.match(slug, /^acme-[a-z0-9]{6}$/)
    }),
  )

  it.effect("an explicit slug that is taken is rejected", () =>
    Effect.gen(function* () {
      const error = yield* insertWithFreeSlug({
        explicit: "acme",
        suggested: "other",
        insert: () => Effect.succeed(false),
        taken: (slug) => `${slug} is taken`,
      }).pipe(Effect.flip)
      assert.strictEqual(error, "acme is taken")
    }),
  )
})
