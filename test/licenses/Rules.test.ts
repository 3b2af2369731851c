import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { entitlementTypes } from "../../src/domains/entitlements/Model.ts"
import { Slug } from "../../src/kernel/values/Slug.ts"
import { lifecycleStates } from "../../src/domains/licenses/Model.ts"
import {
  archiveRefusal,
  currentVersion,
  faultOfOverage,
  faultOfValue,
  slugOfVersion,
} from "../../src/domains/licenses/Rules.ts"

const version = Schema.Struct({
  lifecycleState: Schema.Literals(lifecycleStates),
  chosen: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
})

// A family as it can be: versions numbered from 1, at most one default, and that one published.
const family = Arbitrary.map(Arbitrary.schema(Schema.Array(version)), (versions) => {
  const chosen = versions.findIndex((one) => one.lifecycleState === "PUBLISHED" && one.chosen === 0)
  return versions.map(({ lifecycleState }, index) => ({
    version: String(index + 1),
    lifecycleState,
    isDefault: index === chosen,
  }))
})

describe("what a family resolves to", () => {
  it.prop("is a published version, whenever there is one", { family }, ({ family }) => {
    const current = currentVersion(family)
    assert.strictEqual(
      current !== undefined,
      family.some((one) => one.lifecycleState === "PUBLISHED"),
    )
    assert.isTrue(current === undefined || current.lifecycleState === "PUBLISHED")
  })

  it.prop("is the default, whenever there is one", { family }, ({ family }) => {
    const preferred = family.find((one) => one.isDefault)
    if (preferred !== undefined) assert.strictEqual(currentVersion(family), preferred)
  })

  it.prop("is the highest published version without a default", { family }, ({ family }) => {
    const withoutDefault = family.map((one) => ({ ...one, isDefault: false }))
    const current = currentVersion(withoutDefault)
    for (const one of withoutDefault) {
      if (one.lifecycleState !== "PUBLISHED") continue
      assert.isAtMost(Number(one.version), Number(current?.version))
    }
  })

  it.prop("does not depend on the order of the versions", { family }, ({ family }) => {
    assert.deepStrictEqual(currentVersion(family.toReversed()), currentVersion(family))
  })

  it("counts versions as numbers: 10 is higher than 9", () => {
    const published = { lifecycleState: "PUBLISHED", isDefault: false } as const
    assert.strictEqual(
      currentVersion([
        { ...published, version: "9" },
        { ...published, version: "10" },
      ])?.version,
      "10",
    )
  })
})

describe("the slug of a version", () => {
  it("follows the family's", () => {
    assert.strictEqual(slugOfVersion("gold", 2), "gold-v2")
  })

  it.prop(
    "is a slug, also with a random suffix and under a family slug of any length",
    {
      length: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 100 })),
      hyphens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 })),
      version: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 2_147_483_647 })),
    },
    ({ hyphens, length, version }) => {
      const familySlug = `${"a".repeat(Math.max(1, length - hyphens - 1))}${"-".repeat(Math.min(hyphens, length - 2))}z`
      assert.isTrue(Schema.is(Slug)(familySlug))
      assert.isTrue(Schema.is(Slug)(slugOfVersion(familySlug, version)))
      assert.isTrue(Schema.is(Slug)(`${slugOfVersion(familySlug, version)}-abc123`))
    },
  )
})

it("the state refuses an archive before the default does", () => {
  const license = { version: "1", isDefault: false, lifecycleState: "PUBLISHED" } as const
  assert.isUndefined(archiveRefusal(license))
  assert.strictEqual(archiveRefusal({ ...license, isDefault: true }), "default")
  assert.strictEqual(archiveRefusal({ ...license, lifecycleState: "DRAFT", isDefault: true }), "not-published")
  assert.strictEqual(archiveRefusal({ ...license, lifecycleState: "ARCHIVED" }), "not-published")
})

describe("the value of a grant", () => {
  it.prop(
    "fits one type of entitlement at most",
    { value: Schema.Union([Schema.Finite, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)]) },
    ({ value }) => {
      assert.isAtMost(entitlementTypes.filter((type) => faultOfValue(type, value) === undefined).length, 1)
    },
  )

  it.prop(
    "is any whole amount up to fifteen digits",
    { value: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999_999_999_999 })) },
    ({ value }) => {
      assert.isUndefined(faultOfValue("NUMBER", value))
      assert.strictEqual(faultOfValue("NUMBER", -value - 2), "is at least 0, or -1 for unlimited")
    },
  )

  it("has at most 18 digits, before and behind the point", () => {
    for (const value of [0, -0, -1, 0.1 + 0.2, 1e-18, 999_999_999_999_999_900, 123_456.789]) {
      assert.isUndefined(faultOfValue("NUMBER", value), String(value))
    }
    for (const value of [1e18, 1e300, 1e-19, Number.MIN_VALUE, Number.MAX_VALUE]) {
      assert.strictEqual(faultOfValue("NUMBER", value), "has at most 18 digits", String(value))
    }
  })

  it("has an overage for a number only", () => {
    for (const type of entitlementTypes) {
      assert.isUndefined(faultOfOverage(type, 0))
      assert.strictEqual(faultOfOverage(type, 5) === undefined, type === "NUMBER")
    }
  })
})
