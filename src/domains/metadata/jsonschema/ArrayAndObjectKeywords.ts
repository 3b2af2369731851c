/** The JSON Schema 2020-12 keywords that apply to arrays and objects. Pure. */
import { Predicate } from "effect"
import { canonical } from "./Equality.ts"
import type { EvaluationContext } from "./EvaluationContext.ts"
import type { Keywords } from "./Subschemas.ts"

/** Evaluates a value by the argument of one keyword. A value of a type that the keyword does not apply to is valid. */
export type Rule = (argument: never, context: EvaluationContext) => boolean

/** Rules by keyword, in the order of evaluation. */
export type Rules = ReadonlyArray<readonly [keyword: string, rule: Rule]>

/** Reads the argument of a keyword, ignoring inherited properties. */
export const own = (schema: Keywords, keyword: string): unknown =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined

/** Whether all items are valid. Continues after an error only if errors are reported. */
export const all = <A>(items: Iterable<A>, reporting: boolean, isValid: (item: A) => boolean): boolean => {
  let valid = true
  for (const item of items) {
    if (isValid(item)) continue
    valid = false
    if (!reporting) return false
  }
  return valid
}

/** Whether a text matches a pattern. Spends the budget for compiling and matching it. */
export const matches = (context: EvaluationContext, source: string, text: string): boolean => {
  const pattern = context.pattern(source)
  context.budget.spendOnce(pattern, pattern.size * 32)
  context.budget.spend(1 + (text.length * pattern.size) / 8)
  return pattern.matches(text)
}

const array =
  (rule: (argument: never, items: ReadonlyArray<unknown>, context: EvaluationContext) => boolean): Rule =>
  (argument, context) =>
    !Array.isArray(context.value) || rule(argument, context.value, context)

const object =
  (rule: (argument: never, value: Readonly<Record<string, unknown>>, context: EvaluationContext) => boolean): Rule =>
  (argument, context) => {
    if (!Predicate.isObject(context.value) || Array.isArray(context.value)) return true
    return rule(argument, context.value, context)
  }

const applyToItem = (context: EvaluationContext, schema: unknown, index: number, value: unknown) => {
  context.evaluated?.items.add(index)
  return context.applyToChild(schema, index, value, context.reporting)
}

const applyToProperty = (context: EvaluationContext, schema: unknown, key: string, value: unknown) => {
  context.budget.spend(1)
  context.evaluated?.properties.add(key)
  return context.applyToChild(schema, key, value, context.reporting)
}

const isAdditional = (context: EvaluationContext, key: string): boolean =>
  !Object.hasOwn((own(context.schema, "properties") as object | undefined) ?? {}, key) &&
  !Object.keys((own(context.schema, "patternProperties") as object | undefined) ?? {}).some((source) =>
    matches(context, source, key),
  )

const hasProperty = (value: object, key: string, fail: EvaluationContext["fail"]): boolean =>
  Object.hasOwn(value, key) || fail(`must have the property ${JSON.stringify(key)}`)

/** Keywords of arrays, except `unevaluatedItems`. */
export const arrayRules: Rules = [
  [
    "minItems",
    array((bound: number, items, { fail }) => items.length >= bound || fail(`must have at least ${bound} items`)),
  ],
  [
    "maxItems",
    array((bound: number, items, { fail }) => items.length <= bound || fail(`must have at most ${bound} items`)),
  ],
  [
    "uniqueItems",
    array((isRequired: boolean, items, { budget, fail }) => {
      if (!isRequired) return true
      const texts = items.map(canonical)
      budget.spend(items.length / 2 + texts.reduce((sum, text) => sum + text.length, 0) / 6)
      return new Set(texts).size === items.length || fail("must not contain duplicate items")
    }),
  ],
  [
    "contains",
    array((schema: unknown, items, context) => {
      const minimum = (own(context.schema, "minContains") as number | undefined) ?? 1
      const maximum = (own(context.schema, "maxContains") as number | undefined) ?? Infinity
      let count = 0
      for (const [index, value] of items.entries()) {
        if (!context.applyToChild(schema, index, value, false)) continue
        count++
        context.evaluated?.items.add(index)
      }
      if (count < minimum) return context.fail(`must have at least ${minimum} items that match contains`)
      return count <= maximum || context.fail(`must have at most ${maximum} items that match contains`)
    }),
  ],
  [
    "prefixItems",
    array((schemas: ReadonlyArray<unknown>, items, context) =>
      all(schemas.slice(0, items.length).entries(), context.reporting, ([index, schema]) =>
        applyToItem(context, schema, index, items[index]),
      ),
    ),
  ],
  [
    "items",
    array((schema: unknown, items, context) => {
      const start = (own(context.schema, "prefixItems") as ReadonlyArray<unknown> | undefined)?.length ?? 0
      return all(items.slice(start).entries(), context.reporting, ([index, value]) =>
        applyToItem(context, schema, start + index, value),
      )
    }),
  ],
]

/** Keywords of objects, except `unevaluatedProperties`. */
export const objectRules: Rules = [
  [
    "required",
    object((keys: ReadonlyArray<string>, value, { budget, fail, reporting }) => {
      budget.spend(keys.length / 8)
      return all(keys, reporting, (key) => hasProperty(value, key, fail))
    }),
  ],
  [
    "minProperties",
    object(
      (bound: number, value, { fail }) =>
        Object.keys(value).length >= bound || fail(`must have at least ${bound} properties`),
    ),
  ],
  [
    "maxProperties",
    object(
      (bound: number, value, { fail }) =>
        Object.keys(value).length <= bound || fail(`must have at most ${bound} properties`),
    ),
  ],
  [
    "dependentRequired",
    object((dependents: Readonly<Record<string, ReadonlyArray<string>>>, value, { budget, fail, reporting }) =>
      all(Object.entries(dependents), reporting, ([key, keys]) => {
        budget.spend(1 + keys.length / 8)
        return !Object.hasOwn(value, key) || all(keys, reporting, (dependent) => hasProperty(value, dependent, fail))
      }),
    ),
  ],
  [
    "properties",
    object((schemas: Keywords, value, context) =>
      all(Object.entries(value), context.reporting, ([key, inner]) => {
        context.budget.spend(1)
        return !Object.hasOwn(schemas, key) || applyToProperty(context, schemas[key], key, inner)
      }),
    ),
  ],
  [
    "patternProperties",
    object((schemas: Keywords, value, context) =>
      all(Object.entries(schemas), context.reporting, ([source, schema]) =>
        all(
          Object.entries(value),
          context.reporting,
          ([key, inner]) => !matches(context, source, key) || applyToProperty(context, schema, key, inner),
        ),
      ),
    ),
  ],
  [
    "additionalProperties",
    object((schema: unknown, value, context) =>
      all(
        Object.entries(value),
        context.reporting,
        ([key, inner]) => !isAdditional(context, key) || applyToProperty(context, schema, key, inner),
      ),
    ),
  ],
  [
    "propertyNames",
    object((schema: unknown, value, context) =>
      all(
        Object.keys(value),
        context.reporting,
        (key) =>
          context.applyToChild(schema, key, key, false) ||
          context.fail(`must not have the property ${JSON.stringify(key)}`),
      ),
    ),
  ],
  [
    "dependentSchemas",
    object((schemas: Keywords, value, context) =>
      all(Object.entries(schemas), context.reporting, ([key, schema]) => {
        context.budget.spend(1)
        return !Object.hasOwn(value, key) || context.applyInPlace(schema, context.reporting)
      }),
    ),
  ],
]

/** `unevaluatedItems` and `unevaluatedProperties`, which depend on the results of all other keywords. */
export const unevaluatedRules: Rules = [
  [
    "unevaluatedItems",
    array((schema: unknown, items, context) =>
      all(items.entries(), context.reporting, ([index, value]) => {
        context.budget.spend(1)
        return context.evaluated?.items.has(index) === true || applyToItem(context, schema, index, value)
      }),
    ),
  ],
  [
    "unevaluatedProperties",
    object((schema: unknown, value, context) =>
      all(Object.entries(value), context.reporting, ([key, inner]) => {
        context.budget.spend(1)
        return context.evaluated?.properties.has(key) === true || applyToProperty(context, schema, key, inner)
      }),
    ),
  ],
]
