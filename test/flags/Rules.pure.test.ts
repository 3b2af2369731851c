import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import type { Condition, EvaluatedFlag, Operator } from "../../src/domains/flags/Model.ts"
import { reduce } from "../../src/domains/flags/ofrep/ReductionRules.ts"
import { applyUpdate, validateFlag, toManifestFlag } from "../../src/domains/flags/Rules.ts"
import { bucketOf, BUCKETS, evaluateRule, isInPercentage } from "../../src/offline/Flags.ts"

const keys = Array.from({ length: 10_000 }, (_, index) => `user-${index}`)

describe("a percentage rollout", () => {
  it("a bucket equals the documented hash", () => {
    const digits = createHash("sha256").update("new-search/beta/anna").digest("hex").slice(0, 8)
    assert.strictEqual(bucketOf("new-search", "beta", "anna"), Number.parseInt(digits, 16) % 100_000)
    // printf %s new-search/beta/anna | sha256sum
    assert.strictEqual(bucketOf("new-search", "beta", "anna"), 38_728)
  })

  it("every key has a bucket that 0 % excludes and 100 % includes", () => {
    for (const key of keys) {
      const bucket = bucketOf("flag", "rule", key)
      assert.isTrue(bucket >= 0 && bucket < BUCKETS)
      assert.isFalse(isInPercentage(bucket, 0))
      assert.isTrue(isInPercentage(bucket, 100))
    }
  })

  it("a percentage of p includes the buckets 0 to 1000 p - 1: it ends before the bucket that equals it", () => {
    for (const percentage of [0, 0.001, 0.29, 12.5, 33.333, 57.3, 99.999, 100]) {
      const end = Math.round(percentage * 1000)
      assert.isFalse(isInPercentage(end, percentage), `${percentage} % and the bucket ${end}`)
      if (end > 0) assert.isTrue(isInPercentage(end - 1, percentage), `${percentage} % and the bucket ${end - 1}`)
    }
    assert.isFalse(isInPercentage(0, 0))
  })

  it("a rollout serves its percentage of the keys", () => {
    for (const percentage of [1, 10, 33.333, 50, 90]) {
      const share = keys.filter((key) => isInPercentage(bucketOf("flag", "rule", key), percentage)).length / keys.length
      // Four standard deviations of a uniform distribution.
      const tolerance = 4 * Math.sqrt((percentage / 100) * (1 - percentage / 100) * keys.length) * (1 / keys.length)
      assert.closeTo(share, percentage / 100, tolerance, `${percentage} %`)
    }
  })

  it("a growing percentage never excludes an included key", () => {
    const percentages = [0, 0.001, 0.5, 1, 12.345, 50, 99.999, 100]
    for (const key of keys.slice(0, 2000)) {
      const within = percentages.map((percentage) => isInPercentage(bucketOf("flag", "rule", key), percentage))
      assert.strictEqual(within.indexOf(true), within.lastIndexOf(false) + 1, key)
    }
  })

  it("rollouts of different flags and targetings select keys independently", () => {
    const first = keys.filter((key) => isInPercentage(bucketOf("one", "rule", key), 10))
    for (const [flag, targeting] of [
      ["two", "rule"],
      ["one", "other"],
    ] as const) {
      const both = first.filter((key) => isInPercentage(bucketOf(flag, targeting, key), 10)).length
      assert.closeTo(both / first.length, 0.1, 0.05)
    }
  })
})

const evaluate = (evaluated: EvaluatedFlag, context: Readonly<Record<string, unknown>>) =>
  evaluateRule(reduce(evaluated), context)

const flag: EvaluatedFlag = {
  key: "theme",
  enabled: true,
  metadata: { team: "web", fallback_value: "plain", nested: {} },
  variants: [
    { name: "light", value: "#fff" },
    { name: "dark", value: "#000" },
  ],
  defaultVariant: "light",
  targetings: [],
}
const pro: Condition = { attribute: "plan", operator: "EQUALS", values: ["pro"] }
const adult: Condition = { attribute: "age", operator: "GTE", values: [18] }

describe("flag evaluation", () => {
  it("without a matching targeting the default variant is served", () => {
    const targetings = [{ name: "pro", conditions: [pro], variant: "dark" }]
    assert.deepStrictEqual(evaluate({ ...flag, targetings }, { plan: "free" }), {
      key: "theme",
      value: "#fff",
      variant: "light",
      reason: "STATIC",
      metadata: { team: "web" },
    })
  })

  it("the first targeting whose conditions all match is served", () => {
    const targetings = [
      { name: "both", conditions: [pro, adult], variant: "light" },
      { name: "pro", conditions: [pro], variant: "dark" },
      { name: "all", conditions: [], variant: "light" },
    ]
    const result = evaluate({ ...flag, targetings }, { plan: "pro", age: 17 })
    assert.deepInclude(result, { variant: "dark", reason: "TARGETING_MATCH" })
    assert.deepInclude(evaluate({ ...flag, targetings }, { age: 17 }), { variant: "light", reason: "TARGETING_MATCH" })
  })

  it("a targeting key outside the percentage falls through to the next targeting", () => {
    const targetings = [{ name: "some", conditions: [], variant: "dark", percentage: 25 }]
    const split = { ...flag, targetings }
    for (const targetingKey of keys.slice(0, 200)) {
      const isIn = isInPercentage(bucketOf("theme", "some", targetingKey), 25)
      assert.deepInclude(
        evaluate(split, { targetingKey }),
        isIn ? { variant: "dark", reason: "SPLIT" } : { variant: "light", reason: "STATIC" },
      )
    }
  })

  it("a missing targeting key is an error only if a percentage decides", () => {
    const targetings = [{ name: "some", conditions: [pro], variant: "dark", percentage: 25 }]
    assert.deepInclude(evaluate({ ...flag, targetings }, { plan: "free" }), { reason: "STATIC" })
    for (const unnamed of [{ plan: "pro" }, { plan: "pro", targetingKey: "" }]) {
      assert.deepInclude(evaluate({ ...flag, targetings }, unnamed), { errorCode: "TARGETING_KEY_MISSING" })
    }
  })

  it("a disabled flag and a flag without default variant serve the fallback", () => {
    const targetings = [{ name: "all", conditions: [], variant: "dark" }]
    const disabled = evaluate({ ...flag, targetings, enabled: false }, {})
    assert.deepStrictEqual(disabled, { key: "theme", value: "plain", reason: "DISABLED", metadata: { team: "web" } })
    assert.deepInclude(evaluate({ ...flag, defaultVariant: null }, {}), { value: "plain", reason: "STATIC" })
  })

  it("without a fallback the evaluation has no value", () => {
    const bare = { ...flag, metadata: {}, defaultVariant: null }
    assert.deepStrictEqual(evaluate(bare, {}), { key: "theme", reason: "STATIC", metadata: {} })
    assert.deepStrictEqual(evaluate({ ...bare, enabled: false }, {}), {
      key: "theme",
      reason: "DISABLED",
      metadata: {},
    })
  })
})

describe("flag validation", () => {
  const places = (type: "boolean" | "integer" | "float" | "string" | "object", properties: object, key = "flag") =>
    validateFlag({ key, type, ...applyUpdate(key, properties) }).map(({ location }) => location)

  it("variant and fallback values must have the flag's type", () => {
    const values = [true, "text", 1, 1.5, { a: 1 }, [1], null, 2 ** 60, "\u0000"]
    const valid = {
      boolean: [true],
      string: ["text"],
      integer: [1],
      float: [1, 1.5, 2 ** 60],
      object: [{ a: 1 }],
    }
    for (const type of ["boolean", "string", "integer", "float", "object"] as const) {
      const fits = values.filter((value) => places(type, { variants: [{ name: "a", value }] }).length === 0)
      assert.deepStrictEqual(fits, valid[type], type)
      const fallbacks = values.filter((value) => places(type, { metadata: { fallback_value: value } }).length === 0)
      assert.deepStrictEqual(
        fallbacks.filter((value) => value !== null),
        valid[type],
        type,
      )
    }
  })

  it("values that an operator does not support are rejected", () => {
    const invalid: ReadonlyArray<readonly [Operator, ReadonlyArray<unknown>]> = [
      ["EQUALS", []],
      ["EQUALS", ["a", "b"]],
      ["EQUALS", [{}]],
      ["IN", []],
      ["IN", ["a", null]],
      ["STARTS_WITH", [1]],
      ["GT", ["5"]],
      ["LTE", [1, 2]],
      ["SEMVER_GT", ["1.4"]],
      ["SEMVER_LTE", ["v1.4.0"]],
      ["BEFORE", ["2026-02-30T00:00:00Z"]],
      ["AFTER", ["2026-01-31"]],
      ["EXISTS", ["yes"]],
      ["EXISTS", [true, false]],
    ]
    for (const [operator, values] of invalid) {
      const targetings = [{ name: "x", conditions: [{ attribute: "a", operator, values }], variant: "on" }]
      const found = places("boolean", { variants: [{ name: "on", value: true }], targetings })
      assert.strictEqual(found.length, 1, `${operator} ${JSON.stringify(values)}`)
      assert.match(found[0] ?? "", /^body\.targetings\[0\]\.conditions\[0\]\.values(\[\d\])?$/)
    }
  })

  it("percentages must be 0 to 100 with at most three decimals", () => {
    const of = (percentage: number) =>
      places("boolean", {
        variants: [{ name: "on", value: true }],
        targetings: [{ name: "x", conditions: [], variant: "on", percentage }],
      })
    for (const valid of [0, 0.001, 0.1, 12.345, 33.3, 99.999, 100]) assert.deepStrictEqual(of(valid), [], `${valid}`)
    for (const invalid of [-1, 100.001, 0.0001, 33.3333]) {
      assert.deepStrictEqual(of(invalid), ["body.targetings[0].percentage"], `${invalid}`)
    }
  })

  it("omitted properties stay unchanged, and `null` resets a property to its default", () => {
    const before = applyUpdate("a", { name: "A", description: "d", enabled: false, metadata: { x: 1 } })
    assert.deepStrictEqual(applyUpdate("a", {}, before), before)
    assert.deepStrictEqual(
      applyUpdate("a", { name: null, description: null, enabled: null, metadata: null }, before),
      applyUpdate("a", {}),
    )
    assert.strictEqual(applyUpdate("a", {}).name, "a")
  })

  it("name and description in the manifest are single lines", () => {
    const flag = {
      key: "a",
      name: "\n",
      description: "One\r\nimport evil\u2028x",
      type: "boolean",
      fallback: true,
    } as const
    assert.deepInclude(toManifestFlag(flag), { name: "a", description: "One import evil x" })
    assert.deepInclude(toManifestFlag({ ...flag, description: null }), { description: "" })
  })
})
