import { assert, describe, it } from "@effect/vitest"
import { sentenceOf } from "../../console/src/flags/Sentence.ts"
import { formatValues, parseValues, valueOfInput } from "../../console/src/flags/Values.ts"
import type { Condition, Targeting } from "../../console/src/flags/Values.ts"
import { formatBoundary } from "../../console/src/kernel/Formats.ts"
import { operators } from "../../src/domains/flags/Model.ts"

const condition = (operator: Condition["operator"], values: ReadonlyArray<unknown>, attribute = "plan"): Condition => ({
  attribute,
  operator,
  values,
})

const targeting = (conditions: ReadonlyArray<Condition>, more: Partial<Targeting> = {}): Targeting => ({
  name: "first",
  variant: "on",
  conditions,
  ...more,
})

describe("the sentence of a targeting", () => {
  it("without conditions is for every context, or for a share of the targeting keys", () => {
    assert.strictEqual(sentenceOf(targeting([])), "For every context, serve the variant on.")
    assert.strictEqual(
      sentenceOf(targeting([], { percentage: 12.5 })),
      "For 12.5 % of the targeting keys, serve the variant on.",
    )
    assert.strictEqual(sentenceOf(targeting([], { percentage: null })), "For every context, serve the variant on.")
  })

  it("joins all conditions, and calls the targeting key by its name", () => {
    const conditions = [condition("IN", ["pro", "max", "team"]), condition("EQUALS", ["acme"], "targetingKey")]
    assert.strictEqual(
      sentenceOf(targeting(conditions, { percentage: 50 })),
      "For 50 % of the targeting keys where plan is pro, max or team and the targeting key is acme, serve the variant on.",
    )
  })

  const phrases = {
    EQUALS: [["pro"], "is pro"],
    NOT_EQUALS: [["pro"], "is not pro"],
    IN: [["pro", "max"], "is pro or max"],
    NOT_IN: [["pro", "max"], "is neither pro nor max"],
    CONTAINS: [["a", "b"], "contains a or b"],
    STARTS_WITH: [["12"], "starts with 12"],
    ENDS_WITH: [["x"], "ends with x"],
    GT: [[1.5], "is more than 1.5"],
    GTE: [[2], "is at least 2"],
    LT: [[3], "is less than 3"],
    LTE: [[4], "is at most 4"],
    SEMVER_GT: [["1.4.0"], "is a version after 1.4.0"],
    SEMVER_GTE: [["1.4.0"], "is version 1.4.0 or later"],
    SEMVER_LT: [["1.4.0"], "is a version before 1.4.0"],
    SEMVER_LTE: [["1.4.0"], "is version 1.4.0 or earlier"],
    BEFORE: [["2026-01-31T00:00:00Z"], `is before ${formatBoundary("2026-01-31T00:00:00Z")}`],
    AFTER: [["2026-01-31T09:00:00Z"], `is after ${formatBoundary("2026-01-31T09:00:00Z")}`],
    EXISTS: [[], "is present"],
  } as const satisfies Record<Condition["operator"], readonly [ReadonlyArray<unknown>, string]>

  it("has words for each operator of the service", () => {
    for (const operator of operators) {
      const [values, words] = phrases[operator]
      assert.strictEqual(
        sentenceOf(targeting([condition(operator, values)])),
        `For contexts where plan ${words}, serve the variant on.`,
      )
    }
    assert.strictEqual(
      sentenceOf(targeting([condition("EXISTS", [false])])),
      "For contexts where plan is absent, serve the variant on.",
    )
    assert.strictEqual(
      sentenceOf(targeting([condition("NOT_IN", ["pro"])])),
      "For contexts where plan is not pro, serve the variant on.",
    )
  })

  it("does not exist for what this version does not know", () => {
    const unknown = condition("SOUNDS_LIKE" as Condition["operator"], ["pro"])
    assert.isUndefined(sentenceOf(targeting([unknown])))
    assert.isUndefined(sentenceOf(targeting([condition("EQUALS", [{ a: 1 }])])))
    assert.isUndefined(sentenceOf(targeting([condition("EQUALS", [])])))
  })
})

describe("values of conditions", () => {
  it("are the same after they were written and read", () => {
    const values = [
      "pro",
      "12",
      12,
      -0.5,
      "true",
      true,
      false,
      "a, b",
      ' "quoted" ',
      "",
      "two\nlines",
      "back\\slash",
      "null",
    ]
    assert.deepStrictEqual(parseValues(formatValues(values, "IN"), "IN"), values)
    const texts = ["12", "true", "a, b", "1.4.0"]
    assert.deepStrictEqual(parseValues(formatValues(texts, "STARTS_WITH"), "STARTS_WITH"), texts)
  })

  it("are read as a person types them", () => {
    assert.deepStrictEqual(parseValues("pro,  enterprise ,12", "IN"), ["pro", "enterprise", 12])
    assert.deepStrictEqual(parseValues('"12", it\'s "fine"', "IN"), ["12", 'it\'s "fine"'])
    assert.deepStrictEqual(parseValues(" , ", "IN"), [])
    assert.deepStrictEqual(parseValues("", "EXISTS"), [])
    assert.deepStrictEqual(parseValues("false", "EXISTS"), [false])
    assert.deepStrictEqual(parseValues("1.4", "SEMVER_GTE"), ["1.4"])
  })
})

describe("values of variants", () => {
  it("have the type of the flag, or stay text for the service to refuse", () => {
    assert.strictEqual(valueOfInput("true", "boolean"), true)
    assert.strictEqual(valueOfInput("12", "string"), "12")
    assert.strictEqual(valueOfInput(" 12 ", "integer"), 12)
    assert.strictEqual(valueOfInput("twelve", "integer"), "twelve")
    assert.deepStrictEqual(valueOfInput('{"a":1}', "object"), { a: 1 })
    assert.strictEqual(valueOfInput("{a}", "object"), "{a}")
  })
})
