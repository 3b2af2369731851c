/**
 * Compares schemas of two versions of the API. A request must accept what it accepted, and a response must hold what clients read of it.
 * Pure.
 */
import { isPart, listOf, partOf } from "../../src/openapi/Parts.ts"
import type { Part } from "../../src/openapi/Parts.ts"

/** Who writes the values: clients write requests, the service writes responses and the events of webhooks. */
export type Direction = "request" | "response"

/** A change that a client of the version before notices. */
export interface Break {
  /** Where: an operation with its part, or a component with its property, such as `Customer.domain`. */
  readonly path: string
  readonly what: string
}

/** The documents of a schema before and after, which its references lead into. */
export interface Schemas {
  readonly before: Part
  readonly after: Part
}

interface Place {
  readonly path: string
  readonly direction: Direction
}

/** Enums that clients must expect new values of: event types, and the reasons and codes of answers. */
const GROWING = /^EventName$|Reason$|ErrorCode$/

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"]

const nameOf = (schema: Part): string | undefined => {
  const reference = schema["$ref"]
  return typeof reference === "string" ? reference.slice(reference.lastIndexOf("/") + 1) : undefined
}

const targetOf = (document: Part, schema: Part): Part => {
  const name = nameOf(schema)
  return name === undefined ? schema : partOf(partOf(partOf(document, "components"), "schemas"), name)
}

/** Parts that all apply, as one schema: the later part of `allOf` is the more specific one. */
const mergedAllOf = (document: Part, schema: Part): Part => {
  const { allOf: _, ...own } = schema
  return [...listOf(schema, "allOf"), own].filter(isPart).reduce<Part>((merged, part) => {
    const resolved = resolve(document, part)
    const properties = { ...partOf(merged, "properties") }
    for (const [name, property] of Object.entries(partOf(resolved, "properties"))) {
      properties[name] = { ...partOf(properties, name), ...(isPart(property) ? property : {}) }
    }
    const required = [...new Set([...listOf(merged, "required"), ...listOf(resolved, "required")])]
    return { ...merged, ...resolved, properties, required }
  }, {})
}

/** A schema without a reference and without `allOf`. */
const resolve = (document: Part, schema: Part): Part => {
  const target = targetOf(document, schema)
  return "allOf" in target ? mergedAllOf(document, target) : target
}

/** The schemas of which a value matches one, with the name of each that is a component. */
const alternativesOf = (document: Part, schema: Part): ReadonlyArray<Part> => {
  const choices = listOf(schema, "anyOf").filter(isPart)
  if (choices.length > 0) return choices.flatMap((choice) => alternativesOf(document, choice))
  const target = targetOf(document, schema)
  return "anyOf" in target ? alternativesOf(document, target) : [schema]
}

const typesOf = (schema: Part): ReadonlyArray<string> => {
  const type = schema["type"]
  if (typeof type === "string") return [type]
  return Array.isArray(type) ? type.map(String) : TYPES
}

const includesType = (types: ReadonlyArray<string>, type: string): boolean =>
  types.includes(type) || (type === "integer" && types.includes("number"))

const valuesOf = (schema: Part): ReadonlyArray<unknown> | undefined => {
  const values = "const" in schema ? [schema["const"]] : schema["enum"]
  return Array.isArray(values) ? values : undefined
}

const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]

const numberIn = (schema: Part, name: string, fallback: number): number => {
  const value = schema[name]
  return typeof value === "number" ? value : fallback
}

/** Bounds that are narrower than before. A length of at least 0 is no bound. */
const narrowedBounds = (before: Part, after: Part): ReadonlyArray<string> => [
  ...LOWER.filter((name) => {
    const fallback = name.startsWith("min") && name !== "minimum" ? 0 : -Infinity
    return numberIn(after, name, fallback) > numberIn(before, name, fallback)
  }),
  ...UPPER.filter((name) => numberIn(after, name, Infinity) < numberIn(before, name, Infinity)),
]

/** What a value must match as a whole: a new or another one may reject values that were accepted. */
const FORMS = ["pattern", "format", "multipleOf", "uniqueItems"]

const requiresAnother = (before: Part, after: Part, name: string): boolean =>
  after[name] !== undefined && after[name] !== false && after[name] !== before[name]

const typeBreaks = (before: Part, after: Part, { direction, path }: Place): ReadonlyArray<Break> => {
  const [wide, narrow] = direction === "request" ? [after, before] : [before, after]
  const missing = typesOf(narrow).filter((type) => !includesType(typesOf(wide), type))
  if (missing.length === 0) return []
  const what = direction === "request" ? "no longer accepts" : "can be"
  return [{ path, what: `${what} ${missing.length > 2 ? "another type" : missing.join(" or ")}` }]
}

const enumBreaks = (before: Part, after: Part, { direction, path }: Place, name: string): ReadonlyArray<Break> => {
  if (direction === "response" && GROWING.test(name)) return []
  const [wide, narrow] = direction === "request" ? [after, before] : [before, after]
  const [allowed, sent] = [valuesOf(wide), valuesOf(narrow)]
  if (allowed === undefined) return []
  const what = direction === "request" ? "no longer accepts" : "can be"
  if (sent === undefined) return [{ path, what: `${what} other values than ${allowed.join(", ")}` }]
  const missing = sent.filter((value) => !allowed.includes(value))
  return missing.length === 0 ? [] : [{ path, what: `${what} ${missing.join(", ")}` }]
}

const formBreaks = (before: Part, after: Part, { direction, path }: Place): ReadonlyArray<Break> => {
  if (direction === "request") {
    const narrowed = [...narrowedBounds(before, after), ...FORMS.filter((name) => requiresAnother(before, after, name))]
    return narrowed.map((name) => ({ path, what: `accepts less: ${name} is ${String(after[name])}` }))
  }
  // Clients read a time or an identifier by its format.
  return before["format"] === undefined || before["format"] === after["format"]
    ? []
    : [{ path, what: `no longer has the format ${String(before["format"])}` }]
}

/** Compares schemas. Each pair of components is compared once, so that a schema may contain itself. */
export const makeSchemaComparison = (schemas: Schemas) => {
  const compared = new Map<string, ReadonlyArray<Break>>()

  const memberBreaks = (before: Part, after: Part, place: Place): ReadonlyArray<Break> => {
    const [old, now] = [partOf(before, "properties"), partOf(after, "properties")]
    const [wasRequired, isRequired] = [listOf(before, "required"), listOf(after, "required")]
    const kept = Object.entries(old).flatMap(([name, property]) => {
      const path = `${place.path}.${name}`
      const next = now[name]
      if (next === undefined) return [{ path, what: `is gone from ${place.direction}s` }]
      return compare(isPart(property) ? property : {}, isPart(next) ? next : {}, { ...place, path })
    })
    const [more, less, what] =
      place.direction === "request"
        ? [isRequired, wasRequired, "is required in requests"]
        : [wasRequired.filter((name) => String(name) in now), isRequired, "is no longer always in responses"]
    const changed = more.filter((name) => !less.includes(name))
    return [...kept, ...changed.map((name) => ({ path: `${place.path}.${String(name)}`, what }))]
  }

  /** The values of a map, or the properties that an object may have beside those with names. */
  const otherBreaks = (before: Part, after: Part, place: Place): ReadonlyArray<Break> => {
    const [old, now] = [before["additionalProperties"] ?? true, after["additionalProperties"] ?? true]
    const path = `${place.path}.*`
    if (isPart(old) && isPart(now)) return compare(old, now, { ...place, path })
    if (place.direction === "request") {
      if (old !== false && now === false) return [{ path, what: "no longer accepts further properties" }]
      return old !== false && isPart(now) ? compare(isPart(old) ? old : {}, now, { ...place, path }) : []
    }
    return isPart(old) ? [{ path, what: "is gone from responses" }] : []
  }

  const resolvedBreaks = (before: Part, after: Part, place: Place, name: string): ReadonlyArray<Break> => {
    const types = typeBreaks(before, after, place)
    if (types.length > 0) return types
    return [
      ...enumBreaks(before, after, place, name),
      ...formBreaks(before, after, place),
      ...("properties" in before || "properties" in after ? memberBreaks(before, after, place) : []),
      ...(typesOf(before).includes("object") && "type" in before ? otherBreaks(before, after, place) : []),
      ...(isPart(before["items"]) || isPart(after["items"])
        ? compare(partOf(before, "items"), partOf(after, "items"), { ...place, path: `${place.path}[]` })
        : []),
    ]
  }

  /** Two schemas that are no choice. A component begins a path of its own: its change is one, wherever it is used. */
  const single = (before: Part, after: Part, place: Place): ReadonlyArray<Break> => {
    const [old, now] = [nameOf(before), nameOf(after)]
    const from = () => [resolve(schemas.before, before), resolve(schemas.after, after)] as const
    if (old === undefined || now === undefined) return resolvedBreaks(...from(), place, now ?? "")
    const key = `${place.direction} ${old} ${now}`
    const known = compared.get(key)
    if (known !== undefined) return known
    compared.set(key, [])
    const found = resolvedBreaks(...from(), { ...place, path: old === now ? old : place.path }, now)
    compared.set(key, found)
    return found
  }

  const isNull = (schema: Part) => schema["type"] === "null"

  /** A problem that is new is no break, if it has what all problems have. */
  const known = (schema: Part, choices: ReadonlyArray<Part>): ReadonlyArray<Part> => {
    const parts = listOf(targetOf(schemas.after, schema), "allOf").filter(isPart)
    const base = parts.find((part) => nameOf(part) === "Problem")
    return base === undefined ? choices : [...choices, base]
  }

  const choice = (before: Part, after: Part, place: Place): ReadonlyArray<Break> => {
    const [old, now] = [alternativesOf(schemas.before, before), alternativesOf(schemas.after, after)]
    const isRequest = place.direction === "request"
    return (isRequest ? old : now).flatMap((schema) => {
      const others = isRequest ? now : known(schema, old)
      const found = others.map((other) => (isRequest ? single(schema, other, place) : single(other, schema, place)))
      if (found.some((breaks) => breaks.length === 0)) return []
      if (isNull(schema)) return [{ path: place.path, what: isRequest ? "no longer accepts null" : "can be null" }]
      const same = others.findIndex((other) => nameOf(other) !== undefined && nameOf(other) === nameOf(schema))
      const [first, ...more] = found.filter((_, index) => !isNull(others[index] ?? {}))
      const breaks = found[same] ?? (more.length === 0 ? first : undefined)
      const name = nameOf(schema) ?? typesOf(schema).join(" or ")
      return breaks ?? [{ path: place.path, what: `${isRequest ? "no longer accepts" : "can be"} ${name}` }]
    })
  }

  /** The breaks between two schemas, as clients see them. */
  const compare = (before: Part, after: Part, place: Place): ReadonlyArray<Break> =>
    "anyOf" in before || "anyOf" in after ? choice(before, after, place) : single(before, after, place)

  return compare
}
