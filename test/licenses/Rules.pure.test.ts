import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { entitlementTypes } from "../../src/domains/entitlements/Model.ts"
import { Slug } from "../../src/kernel/values/Slug.ts"
import { lifecycleStates } from "../../src/domains/licenses/Model.ts"
import {
  archiveRejection,
  currentVersion,
  overageError,
  valueError,
  slugOfVersion,
} from "../../src/domains/licenses/Rules.ts"

const version = Schema.Struct({
  lifecycleState: Schema.Literals(lifecycleStates),
  chosen: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
})

// A valid family: versions numbered from 1, and at most one default, which is published.
const family = Arbitrary.map(Arbitrary.schema(Schema.Array(version)), (versions) => {
  const chosen = versions.findIndex((version) => version.lifecycleState === "PUBLISHED" && version.chosen === 0)
  return versions.map(({ lifecycleState }, index) => ({
    version: String(index + 1),
    lifecycleState,
    isDefault: index === chosen,
  }))
})

describe("the current version of a family", () => {
  it.prop("is a published version if there is one", { family }, ({ family }) => {
    const current = currentVersion(family)
    assert.strictEqual(
      current !== undefined,
      family.some((version) => version.lifecycleState === "PUBLISHED"),
    )
    assert.isTrue(current === undefined || current.lifecycleState === "PUBLISHED")
  })

  it.prop("is the default if there is one", { family }, ({ family }) => {
    const preferred = family.find((version) => version.isDefault)
    if (preferred !== undefined) assert.strictEqual(currentVersion(family), preferred)
  })

  it.prop("is the highest published version if there is no default", { family }, ({ family }) => {
    const withoutDefault = family.map((version) => ({ ...version, isDefault: false }))
    const current = currentVersion(withoutDefault)
    for (const version of withoutDefault) {
      if (version.lifecycleState !== "PUBLISHED") continue
      assert.isAtMost(Number(version.version), Number(current?.version))
    }
  })

  it.prop("does not depend on the order of the versions", { family }, ({ family }) => {
    assert.deepStrictEqual(currentVersion(family.toReversed()), currentVersion(family))
  })

  it("compares versions as numbers: 10 is higher than 9", () => {
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

describe("the default slug of a version", () => {
  it("is the family slug with the version number", () => {
    assert.strictEqual(slugOfVersion("gold", 2), "gold-v2")
  })

  it.prop(
    "is a valid slug for family slugs of any length, also with a random suffix",
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

it("archiving checks the state before the default", () => {
  const license = { version: "1", isDefault: false, lifecycleState: "PUBLISHED" } as const
  assert.isUndefined(archiveRejection(license))
  assert.strictEqual(archiveRejection({ ...license, isDefault: true }), "default")
  assert.strictEqual(archiveRejection({ ...license, lifecycleState: "DRAFT", isDefault: true }), "not-published")
  assert.strictEqual(archiveRejection({ ...license, lifecycleState: "ARCHIVED" }), "not-published")
})

describe("the value of a grant", () => {
  it.prop(
    "is valid for at most one type of entitlement",
    { value: Schema.Union([Schema.Finite, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)]) },
    ({ value }) => {
      assert.isAtMost(entitlementTypes.filter((type) => valueError(type, value) === undefined).length, 1)
    },
  )

  it.prop(
    "can be any integer up to 15 digits",
    { value: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999_999_999_999 })) },
    ({ value }) => {
      assert.isUndefined(valueError("NUMBER", value))
      assert.strictEqual(valueError("NUMBER", -value - 2), "must be at least 0, or -1 for unlimited")
    },
  )

  it("has at most 18 digits before and after the decimal point", () => {
    for (const value of [0, -0, -1, 0.1 + 0.2, 1e-18, 999_999_999_999_999_900, 123_456.789]) {
      assert.isUndefined(valueError("NUMBER", value), String(value))
    }
    for (const value of [1e18, 1e300, 1e-19, Number.MIN_VALUE, Number.MAX_VALUE]) {
      assert.strictEqual(valueError("NUMBER", value), "must have at most 18 digits", String(value))
    }
  })

  it("can have an overage only for a number", () => {
    for (const type of entitlementTypes) {
      assert.isUndefined(overageError(type, 0))
      assert.strictEqual(overageError(type, 5) === undefined, type === "NUMBER")
    }
  })
})
