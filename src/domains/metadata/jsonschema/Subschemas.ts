/** Finds the subschemas of a JSON Schema 2020-12 and resolves its references. Pure. */
import { Predicate } from "effect"
import { childPointer, fragmentOf } from "./JsonPointer.ts"

/** A schema as an object of keywords. `true` and `false` are schemas too. */
export type Keywords = Readonly<Record<string, unknown>>

export const isKeywords = (schema: unknown): schema is Keywords => Predicate.isObject(schema) && !Array.isArray(schema)

interface Place {
  readonly form: "one" | "list" | "map"
  /** Whether the subschema applies to the same value as its parent schema, to a part of it, or to nothing. */
  readonly appliesTo: "same" | "part" | "nothing"
}

const place = (form: Place["form"], appliesTo: Place["appliesTo"], ...keywords: ReadonlyArray<string>) =>
  keywords.map((keyword) => [keyword, { form, appliesTo }] as const)

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
  readonly appliesTo: Place["appliesTo"]
}

const childrenOf = (form: Place["form"], value: unknown): ReadonlyArray<readonly [string | number | null, unknown]> => {
  if (form === "one") return [[null, value]]
  if (form === "list") return Array.isArray(value) ? value.map((item, index) => [index, item]) : []
  return isKeywords(value) ? Object.entries(value) : []
}

/** The direct subschemas of a schema. */
export const subschemasOf = (schema: Keywords, pointer: string): ReadonlyArray<Subschema> =>
  places.flatMap(([keyword, { appliesTo, form }]) =>
    Object.hasOwn(schema, keyword)
      ? childrenOf(form, schema[keyword]).map(([key, inner]) => ({
          schema: inner,
          pointer: key === null ? childPointer(pointer, keyword) : childPointer(childPointer(pointer, keyword), key),
          appliesTo,
        }))
      : [],
  )

/** All subschemas by pointer, and the anchors. The root schema has the pointer `""`. */
export interface Index {
  readonly byPointer: ReadonlyMap<string, unknown>
  /** The pointers of each `$anchor` and `$dynamicAnchor`. A duplicate name has several. */
  readonly anchors: ReadonlyMap<string, ReadonlyArray<string>>
}

const ANCHORS = ["$anchor", "$dynamicAnchor"] as const

/** Indexes all subschemas of a schema. Recursive, so the depth of the schema must be bounded. */
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
 * Resolves a local reference to the pointer of a schema, or `undefined` if there is none. A `$dynamicRef` resolves like
 * a `$ref`: without embedded resources, the outermost resource of the dynamic scope is the schema itself.
 */
export const targetOf = (index: Index, reference: string): string | undefined => {
  const fragment = fragmentOf(reference)
  if (fragment === undefined) return undefined
  if (fragment !== "" && !fragment.startsWith("/")) return index.anchors.get(fragment)?.[0]
  return index.byPointer.has(fragment) ? fragment : undefined
}
