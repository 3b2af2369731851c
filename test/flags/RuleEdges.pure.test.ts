import { assert, describe, it } from "@effect/vitest"
import type { Operator, UpdateFeatureFlag } from "../../src/domains/flags/Model.ts"
import { operators } from "../../src/domains/flags/Model.ts"
import { applyUpdate, toManifestFlag, validateFlag } from "../../src/domains/flags/Rules.ts"

type Type = Parameters<typeof validateFlag>[0]["type"]

const errors = (type: Type, update: object = {}, key = "search") =>
  validateFlag({ ...applyUpdate(key, update as UpdateFeatureFlag), key, type }).map(({ location, message }) => [
    location.replace("body.", ""),
    message,
  ])
const locations = (...sent: Parameters<typeof errors>) => errors(...sent).map(([location]) => location)

describe("the values of a flag", () => {
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, key) => [`k${key}`, key]))
  it.each([
    ["boolean", [true, false], [0, "true", null]],
    ["string", ["", "x".repeat(16_384)], ["x".repeat(16_385), "a\u0000", 1]],
    ["integer", [0, -1, 2 ** 53 - 1], [0.5, 2 ** 53, "1"]],
    ["float", [0.5, -1e300], [Infinity, Number.NaN, "1"]],
    ["object", [{}, keys(64)], [keys(65), [], null, "x"]],
  ] as ReadonlyArray<readonly [Type, ReadonlyArray<unknown>, ReadonlyArray<unknown>]>)(
    "are of its type: %s",
    (type, good, bad) => {
      const variants = [...good, ...bad].map((value, index) => ({ name: `v${index}`, value }))
      assert.deepStrictEqual(
        locations(type, { variants }),
        bad.map((_, index) => `variants[${good.length + index}].value`),
      )
    },
  )

  it("are new ones that are enabled, without variants", () => {
    assert.deepInclude(applyUpdate("k", {}), { name: "k", enabled: true, defaultVariant: null })
    assert.isFalse(applyUpdate("k", { enabled: false }).enabled)
  })
})

describe("a flag", () => {
  const variants = [{ name: "on", value: true }]

  it("has a default variant that exists, names that occur once, and a key that is not of an entitlement", () => {
    assert.deepStrictEqual(locations("boolean", { variants, defaultVariant: "on" }), [])
    assert.deepStrictEqual(locations("boolean", { variants, defaultVariant: "off" }), ["defaultVariant"])
    assert.deepStrictEqual(locations("boolean", { variants: [...variants, ...variants] }), ["variants[1].name"])
    assert.deepStrictEqual(locations("boolean", {}, "entitlement.x"), ["key"])
    assert.deepStrictEqual(locations("boolean", {}, "x.entitlement."), [])
    assert.deepStrictEqual(locations("boolean", { metadata: { fallback_value: 1 } }), ["metadata.fallback_value"])
    assert.deepStrictEqual(locations("boolean", { metadata: { fallback_value: null, other: 1 } }), [])
  })

  it("has one line of name and description in its manifest", () => {
    const flag = { key: "k", type: "boolean", fallback: true } as const
    assert.deepStrictEqual(toManifestFlag({ ...flag, name: "A\nb", description: " c\u2028d " }), {
      key: "k",
      name: "A b",
      description: "c d",
      type: "boolean",
      defaultValue: true,
    })
    assert.deepInclude(toManifestFlag({ ...flag, name: "\n", description: null }), { name: "k", description: "" })
  })
})

describe("a targeting", () => {
  const variants = [{ name: "on", value: true }]
  const targeted = (more: object) =>
    errors("boolean", { variants, targetings: [{ name: "t", variant: "on", conditions: [], ...more }] })

  it.each([
    [undefined, true],
    [null, true],
    [-0.001, false],
    [0, true],
    [0.001, true],
    [0.0005, false],
    [12.345, true],
    [12.3456, false],
    [99.999, true],
    [100, true],
    [100.001, false],
  ])("has a percentage from 0 to 100 with three decimals: %s %s", (percentage, expected) => {
    assert.deepStrictEqual(
      targeted(percentage === undefined ? {} : { percentage }).map(([location]) => location),
      expected ? [] : ["targetings[0].percentage"],
    )
  })

  it("has a variant that exists", () => {
    assert.deepStrictEqual(targeted({ variant: "off" }), [["targetings[0].variant", "must be the name of a variant"]])
  })

  const condition = (operator: Operator, values: ReadonlyArray<unknown>) =>
    targeted({ conditions: [{ attribute: "a", operator, values }] })
  const lists = new Set<Operator>(["IN", "NOT_IN", "CONTAINS", "STARTS_WITH", "ENDS_WITH"])
  const valueOf = (operator: Operator): unknown => {
    if (operator.startsWith("SEMVER")) return "1.4.0"
    if (operator === "BEFORE" || operator === "AFTER") return "2026-01-31T09:00:00Z"
    if (operator === "EXISTS") return true
    return ["GT", "GTE", "LT", "LTE"].includes(operator) ? 5 : "x"
  }

  it.each(operators.map((operator) => [operator] as const))("has as many values as %s takes", (operator) => {
    const least = operator === "EXISTS" ? 0 : 1
    const most = lists.has(operator) ? 100 : 1
    const requirement =
      operator === "EXISTS"
        ? "takes at most 1 value"
        : lists.has(operator)
          ? "requires at least one value"
          : "requires exactly 1 value"
    for (const count of [0, 1, 2, 100, 101]) {
      const found = condition(
        operator,
        Array.from({ length: count }, () => valueOf(operator)),
      )
      const expected = `has the wrong number of values: ${operator} ${requirement}`
      assert.deepStrictEqual(
        found,
        count >= least && count <= most ? [] : [["targetings[0].conditions[0].values", expected]],
      )
    }
  })

  it.each([
    ["EQUALS", ["x", true, 0], [null, {}, Infinity, "\u0000"]],
    ["STARTS_WITH", ["x"], [1, true]],
    ["GT", [1, -0.5], ["1", Infinity]],
    ["SEMVER_GT", ["1.4.0"], ["1", 1]],
    ["BEFORE", ["2026-01-31T09:00:00Z"], ["2026-01-31", 1]],
    ["EXISTS", [true, false], ["true", 1]],
  ] as ReadonlyArray<readonly [Operator, ReadonlyArray<unknown>, ReadonlyArray<unknown>]>)(
    "has values that fit %s",
    (operator, good, bad) => {
      for (const value of good) assert.deepStrictEqual(condition(operator, [value]), [], String(value))
      for (const value of bad) assert.lengthOf(condition(operator, [value]), 1, String(value))
    },
  )
})
