/** The rules of all JSON Schema 2020-12 keywords: those of single values, and those that combine schemas. Pure. */
import { all, arrayRules, matches, objectRules, own, unevaluatedRules } from "./ArrayAndObjectKeywords.ts"
import type { Rule, Rules } from "./ArrayAndObjectKeywords.ts"
import { canonical, isMultiple } from "./Equality.ts"
import type { EvaluationContext } from "./EvaluationContext.ts"

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}

const isType = (type: string, value: unknown): boolean =>
  type === "integer" ? Number.isInteger(value) : type === typeOf(value)

const number =
  (holds: (value: number, bound: number) => boolean, relation: string): Rule =>
  (bound: number, { fail, value }) =>
    typeof value !== "number" || holds(value, bound) || fail(`must be ${relation} ${bound}`)

const string =
  (holds: (length: number, bound: number) => boolean, relation: string): Rule =>
  (bound: number, { budget, fail, value }) => {
    if (typeof value !== "string") return true
    budget.spend(value.length / 32)
    let length = 0
    for (const _ of value) length++
    return holds(length, bound) || fail(`must have ${relation} ${bound} characters`)
  }

/** Counts the schemas that the value matches, up to `enough`. */
const countMatches = (context: EvaluationContext, schemas: ReadonlyArray<unknown>, enough: number): number => {
  let count = 0
  for (const schema of schemas) {
    if (context.applyInPlace(schema, false)) count++
    if (count >= enough) break
  }
  return count
}

const valueRules: Rules = [
  [
    "type",
    (types: string | ReadonlyArray<string>, { fail, value }) =>
      [types].flat().some((type) => isType(type, value)) || fail(`must be of type ${[types].flat().join(" or ")}`),
  ],
  [
    "enum",
    (values: ReadonlyArray<unknown>, { budget, canonicalTexts, fail, value }) => {
      const text = canonical(value)
      budget.spend(text.length / 8)
      return canonicalTexts(values).has(text) || fail("must be one of the allowed values")
    },
  ],
  [
    "const",
    (allowed: unknown, { budget, fail, value }) => {
      const texts = [canonical(allowed), canonical(value)] as const
      budget.spend((texts[0].length + texts[1].length) / 8)
      return texts[0] === texts[1] || fail("must be the only allowed value")
    },
  ],
  [
    "multipleOf",
    (of: number, { budget, fail, value }) => {
      if (typeof value !== "number") return true
      // The arithmetic is exact, on numbers of up to 600 digits.
      budget.spend(10)
      return isMultiple(value, of) || fail(`must be a multiple of ${of}`)
    },
  ],
  ["minimum", number((value, bound) => value >= bound, "at least")],
  ["maximum", number((value, bound) => value <= bound, "at most")],
  ["exclusiveMinimum", number((value, bound) => value > bound, "greater than")],
  ["exclusiveMaximum", number((value, bound) => value < bound, "less than")],
  ["minLength", string((length, bound) => length >= bound, "at least")],
  ["maxLength", string((length, bound) => length <= bound, "at most")],
  [
    "pattern",
    (source: string, context) =>
      typeof context.value !== "string" ||
      matches(context, source, context.value) ||
      context.fail(`must match the pattern ${source}`),
  ],
]

const combiningRules: Rules = [
  ["$ref", (reference: string, context) => context.applyInPlace(context.resolve(reference), context.reporting)],
  ["$dynamicRef", (reference: string, context) => context.applyInPlace(context.resolve(reference), context.reporting)],
  [
    "allOf",
    (schemas: ReadonlyArray<unknown>, { applyInPlace, reporting }) =>
      all(schemas, reporting, (schema) => applyInPlace(schema, reporting)),
  ],
  [
    "anyOf",
    // Every matching alternative marks properties as evaluated, so all are tried if that matters.
    (schemas: ReadonlyArray<unknown>, context) =>
      countMatches(context, schemas, context.evaluated === undefined ? 1 : Infinity) > 0 ||
      context.fail("must match at least one of the alternatives of anyOf"),
  ],
  [
    "oneOf",
    (schemas: ReadonlyArray<unknown>, context) =>
      countMatches(context, schemas, 2) === 1 || context.fail("must match exactly one of the alternatives of oneOf"),
  ],
  [
    "not",
    (schema: unknown, context) => !context.testInPlace(schema) || context.fail("must not match the schema of not"),
  ],
  [
    "if",
    (schema: unknown, context) => {
      const next = own(context.schema, context.applyInPlace(schema, false) ? "then" : "else")
      return next === undefined || context.applyInPlace(next, context.reporting)
    },
  ],
]

/** All asserting keywords in the order of evaluation: `unevaluated...` comes after the keywords that it depends on. */
export const rules: Rules = [...valueRules, ...arrayRules, ...objectRules, ...combiningRules, ...unevaluatedRules]
