/** Where schemas stand inside a JSON Schema 2020-12, and what its references name. Pure. */
import { Predicate } from "effect"
import { below, fragmentOf } from "./JsonPointer.ts"

/** A schema is an object of keywords; `true` and `false` are schemas too. */
export type Keywords = Readonly<Record<string, unknown>>

export const isKeywords = (schema: unknown): schema is Keywords => Predicate.isObject(schema) && !Array.isArray(schema)

interface Place {
  readonly form: "one" | "list" | "map"
  /** Whether the subschema judges the same value as the schema around it; otherwise a part of it, or nothing. */
  readonly judges: "same" | "part" | "nothing"
}

const place = (form: Place["form"], judges: Place["judges"], ...keywords: ReadonlyArray<string>) =>
  keywords.map((keyword) => [keyword, { form, judges }] as const)

const places: ReadonlyArray<readonly [keyword: string, place: Place]> = [
  ...place("list", "same", "allOf", "anyOf", "oneOf"),
  ...place("one", "same", "not", "if", "then", "else"),
  ...place("map", "same", "dependentSchemas"),
  ...place("map", "part", "properties", "patternProperties"),
  ...place("one", "part", "additionalProperties", "propertyNames", "unevaluatedProperties"),
  ...place("list", "part", "prefixItems"),
  ...place("one", "part", "items", "contains", "unevaluatedItems"),
  ...place("one", "nothing", "contentSchema"),
  ...place("map", "nothing", "$defs", "definitions"),
]

interface Subschema {
  readonly schema: unknown
  readonly pointer: string
  readonly judges: Place["judges"]
}

const inside = (form: Place["form"], value: unknown): ReadonlyArray<readonly [string | number | null, unknown]> => {
  if (form === "one") return [[null, value]]
  if (form === "list") return Array.isArray(value) ? value.map((item, index) => [index, item]) : []
  return isKeywords(value) ? Object.entries(value) : []
}

/** The schemas that stand directly in this one. */
export const subschemasOf = (schema: Keywords, pointer: string): ReadonlyArray<Subschema> =>
  places.flatMap(([keyword, { form, judges }]) =>
    Object.hasOwn(schema, keyword)
      ? inside(form, schema[keyword]).map(([key, inner]) => ({
          schema: inner,
          pointer: key === null ? below(pointer, keyword) : below(below(pointer, keyword), key),
          judges,
        }))
      : [],
  )

/** Every place of a schema by its pointer, and its anchors: the schema itself stands at `""`. */
export interface Index {
  readonly byPointer: ReadonlyMap<string, unknown>
  /** Pointers of `$anchor` and `$dynamicAnchor`, all of them: a name that is given twice has two. */
  readonly anchors: ReadonlyMap<string, ReadonlyArray<string>>
}

const ANCHORS = ["$anchor", "$dynamicAnchor"] as const

/** Finds all schemas inside a schema whose depth is bounded. */
export const indexOf = (root: unknown): Index => {
  const byPointer = new Map<string, unknown>()
  const anchors = new Map<string, Array<string>>()
  const visit = (schema: unknown, pointer: string): void => {
    byPointer.set(pointer, schema)
    if (!isKeywords(schema)) return
    for (const keyword of ANCHORS) {
      const name = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined
      if (typeof name === "string") anchors.set(name, [...(anchors.get(name) ?? []), pointer])
    }
    for (const inner of subschemasOf(schema, pointer)) visit(inner.schema, inner.pointer)
  }
  visit(root, "")
  return { byPointer, anchors }
}

/**
 * The pointer of the schema that a local reference names; nothing if it names none. A `$dynamicRef` names the same: in
 * a schema without embedded resources the outermost one of its dynamic scope is the schema itself.
 */
export const targetOf = (index: Index, reference: string): string | undefined => {
  const fragment = fragmentOf(reference)
  if (fragment === undefined) return undefined
  if (fragment !== "" && !fragment.startsWith("/")) return index.anchors.get(fragment)?.[0]
  return index.byPointer.has(fragment) ? fragment : undefined
}
