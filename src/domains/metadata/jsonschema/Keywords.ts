/** What each keyword of JSON Schema 2020-12 asserts about a value. Pure. */
import { Predicate } from "effect"
import { canonical, isMultiple } from "./Equality.ts"
import type { Moment } from "./EvaluationContext.ts"
import type { Keywords } from "./Subschemas.ts"

/** Judges a value by one keyword's argument; a value of another type than it speaks of passes. */
type Rule = (argument: never, moment: Moment) => boolean

const own = (schema: Keywords, keyword: string): unknown =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}

const isType = (type: string, value: unknown): boolean =>
  type === "integer" ? Number.isInteger(value) : type === typeOf(value)

const number =
  (holds: (value: number, bound: number) => boolean, says: string): Rule =>
  (bound: number, { fail, value }) =>
    typeof value !== "number" || holds(value, bound) || fail(`must be ${says} ${bound}`)

const string =
  (holds: (length: number, bound: number) => boolean, says: string): Rule =>
  (bound: number, { fail, value, work }) => {
    if (typeof value !== "string") return true
    work.spend(value.length / 32)
    let length = 0
    for (const _ of value) length++
    return holds(length, bound) || fail(`must have ${says} ${bound} characters`)
  }

const array =
  (judge: (argument: never, items: ReadonlyArray<unknown>, moment: Moment) => boolean): Rule =>
  (argument, moment) =>
    !Array.isArray(moment.value) || judge(argument, moment.value, moment)

const object =
  (judge: (argument: never, value: Readonly<Record<string, unknown>>, moment: Moment) => boolean): Rule =>
  (argument, moment) => {
    if (!Predicate.isObject(moment.value) || Array.isArray(moment.value)) return true
    return judge(argument, moment.value, moment)
  }

/** Whether all hold; goes on after a fault only if somebody reads the faults. */
const all = <A>(of: Iterable<A>, told: boolean, holds: (item: A) => boolean): boolean => {
  let ok = true
  for (const item of of) {
    if (holds(item)) continue
    ok = false
    if (!told) return false
  }
  return ok
}

const member = (moment: Moment, schema: unknown, key: string, value: unknown) => {
  moment.work.spend(1)
  moment.seen?.members.add(key)
  return moment.part(schema, key, value, moment.told)
}

const item = (moment: Moment, schema: unknown, index: number, value: unknown) => {
  moment.seen?.items.add(index)
  return moment.part(schema, index, value, moment.told)
}

const matches = (moment: Moment, source: string, text: string): boolean => {
  const pattern = moment.pattern(source)
  moment.work.spendOnce(pattern, pattern.size * 32)
  moment.work.spend(1 + (text.length * pattern.size) / 8)
  return pattern.matches(text)
}

const isExtra = (moment: Moment, key: string): boolean =>
  !Object.hasOwn((own(moment.schema, "properties") as object | undefined) ?? {}, key) &&
  !Object.keys((own(moment.schema, "patternProperties") as object | undefined) ?? {}).some((source) =>
    matches(moment, source, key),
  )

const holding = (moment: Moment, schemas: ReadonlyArray<unknown>, enough: number): number => {
  let count = 0
  for (const schema of schemas) {
    if (moment.same(schema, false)) count++
    if (count >= enough) break
  }
  return count
}

/** All asserting keywords in the order in which they are judged: `unevaluated...` comes after what it depends on. */
export const rules: ReadonlyArray<readonly [keyword: string, rule: Rule]> = [
  [
    "type",
    (types: string | ReadonlyArray<string>, { fail, value }) =>
      [types].flat().some((type) => isType(type, value)) || fail(`must be of type ${[types].flat().join(" or ")}`),
  ],
  [
    "enum",
    (values: ReadonlyArray<unknown>, { fail, texts, value, work }) => {
      const text = canonical(value)
      work.spend(text.length / 8)
      return texts(values).has(text) || fail("must be one of the allowed values")
    },
  ],
  [
    "const",
    (wanted: unknown, { fail, value, work }) => {
      const texts = [canonical(wanted), canonical(value)] as const
      work.spend((texts[0].length + texts[1].length) / 8)
      return texts[0] === texts[1] || fail("must be the one allowed value")
    },
  ],
  [
    "multipleOf",
    (of: number, { fail, value, work }) => {
      if (typeof value !== "number") return true
      // Exact arithmetic on numbers of up to 600 digits.
      work.spend(10)
      return isMultiple(value, of) || fail(`must be a multiple of ${of}`)
    },
  ],
  ["minimum", number((value, bound) => value >= bound, "at least")],
  ["maximum", number((value, bound) => value <= bound, "at most")],
  ["exclusiveMinimum", number((value, bound) => value > bound, "more than")],
  ["exclusiveMaximum", number((value, bound) => value < bound, "less than")],
  ["minLength", string((length, bound) => length >= bound, "at least")],
  ["maxLength", string((length, bound) => length <= bound, "at most")],
  [
    "pattern",
    (source: string, moment) =>
      typeof moment.value !== "string" || matches(moment, source, moment.value) || moment.fail(`must match ${source}`),
  ],
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
    array((asked: boolean, items, { fail, work }) => {
      if (!asked) return true
      const texts = items.map(canonical)
      work.spend(items.length / 2 + texts.reduce((sum, text) => sum + text.length, 0) / 6)
      return new Set(texts).size === items.length || fail("must not have the same item twice")
    }),
  ],
  [
    "contains",
    array((schema: unknown, items, moment) => {
      const least = (own(moment.schema, "minContains") as number | undefined) ?? 1
      const most = (own(moment.schema, "maxContains") as number | undefined) ?? Infinity
      let count = 0
      for (const [index, value] of items.entries()) {
        if (!moment.part(schema, index, value, false)) continue
        count++
        moment.seen?.items.add(index)
      }
      if (count < least) return moment.fail(`must contain at least ${least} items of a kind`)
      return count <= most || moment.fail(`must contain at most ${most} items of a kind`)
    }),
  ],
  [
    "prefixItems",
    array((schemas: ReadonlyArray<unknown>, items, moment) =>
      all(schemas.slice(0, items.length).entries(), moment.told, ([index, schema]) =>
        item(moment, schema, index, items[index]),
      ),
    ),
  ],
  [
    "items",
    array((schema: unknown, items, moment) => {
      const start = (own(moment.schema, "prefixItems") as ReadonlyArray<unknown> | undefined)?.length ?? 0
      return all(items.slice(start).entries(), moment.told, ([index, value]) =>
        item(moment, schema, start + index, value),
      )
    }),
  ],
  [
    "required",
    object((keys: ReadonlyArray<string>, value, { fail, told, work }) => {
      work.spend(keys.length / 8)
      return all(keys, told, (key) => Object.hasOwn(value, key) || fail(`must have the member ${JSON.stringify(key)}`))
    }),
  ],
  [
    "minProperties",
    object(
      (bound: number, value, { fail }) =>
        Object.keys(value).length >= bound || fail(`must have at least ${bound} members`),
    ),
  ],
  [
    "maxProperties",
    object(
      (bound: number, value, { fail }) =>
        Object.keys(value).length <= bound || fail(`must have at most ${bound} members`),
    ),
  ],
  [
    "dependentRequired",
    object((dependents: Readonly<Record<string, ReadonlyArray<string>>>, value, { fail, told, work }) =>
      all(Object.entries(dependents), told, ([key, keys]) => {
        work.spend(1 + keys.length / 8)
        return (
          !Object.hasOwn(value, key) ||
          all(
            keys,
            told,
            (other) => Object.hasOwn(value, other) || fail(`must have the member ${JSON.stringify(other)}`),
          )
        )
      }),
    ),
  ],
  [
    "properties",
    object((schemas: Keywords, value, moment) =>
      all(Object.entries(value), moment.told, ([key, inner]) => {
        moment.work.spend(1)
        return !Object.hasOwn(schemas, key) || member(moment, schemas[key], key, inner)
      }),
    ),
  ],
  [
    "patternProperties",
    object((schemas: Keywords, value, moment) =>
      all(Object.entries(schemas), moment.told, ([source, schema]) =>
        all(
          Object.entries(value),
          moment.told,
          ([key, inner]) => !matches(moment, source, key) || member(moment, schema, key, inner),
        ),
      ),
    ),
  ],
  [
    "additionalProperties",
    object((schema: unknown, value, moment) =>
      all(
        Object.entries(value),
        moment.told,
        ([key, inner]) => !isExtra(moment, key) || member(moment, schema, key, inner),
      ),
    ),
  ],
  [
    "propertyNames",
    object((schema: unknown, value, moment) =>
      all(
        Object.keys(value),
        moment.told,
        (key) => moment.part(schema, key, key, false) || moment.fail(`must not have the member ${JSON.stringify(key)}`),
      ),
    ),
  ],
  [
    "dependentSchemas",
    object((schemas: Keywords, value, moment) =>
      all(Object.entries(schemas), moment.told, ([key, schema]) => {
        moment.work.spend(1)
        return !Object.hasOwn(value, key) || moment.same(schema, moment.told)
      }),
    ),
  ],
  ["$ref", (reference: string, moment) => moment.same(moment.target(reference), moment.told)],
  ["$dynamicRef", (reference: string, moment) => moment.same(moment.target(reference), moment.told)],
  ["allOf", (schemas: ReadonlyArray<unknown>, { same, told }) => all(schemas, told, (schema) => same(schema, told))],
  [
    "anyOf",
    // Each alternative that holds has looked at members, so all are asked where that matters.
    (schemas: ReadonlyArray<unknown>, moment) =>
      holding(moment, schemas, moment.seen === undefined ? 1 : Infinity) > 0 ||
      moment.fail("must match one of the alternatives of anyOf"),
  ],
  [
    "oneOf",
    (schemas: ReadonlyArray<unknown>, moment) =>
      holding(moment, schemas, 2) === 1 || moment.fail("must match exactly one of the alternatives of oneOf"),
  ],
  ["not", (schema: unknown, moment) => !moment.apart(schema) || moment.fail("must not match the schema of not")],
  [
    "if",
    (schema: unknown, moment) => {
      const next = own(moment.schema, moment.same(schema, false) ? "then" : "else")
      return next === undefined || moment.same(next, moment.told)
    },
  ],
  [
    "unevaluatedItems",
    array((schema: unknown, items, moment) =>
      all(items.entries(), moment.told, ([index, value]) => {
        moment.work.spend(1)
        return moment.seen?.items.has(index) === true || item(moment, schema, index, value)
      }),
    ),
  ],
  [
    "unevaluatedProperties",
    object((schema: unknown, value, moment) =>
      all(Object.entries(value), moment.told, ([key, inner]) => {
        moment.work.spend(1)
        return moment.seen?.members.has(key) === true || member(moment, schema, key, inner)
      }),
    ),
  ],
]
