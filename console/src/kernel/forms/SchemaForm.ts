/**
 * Forms from JSON Schema: a tree of fields that holds what was typed. A part that no field fits is JSON text. The service judges
 * values, not the form.
 */
import { ExactNumber, isRoundedText, numberOrText, parseForBody } from "../Amount.ts"

/** What stands for a secret: the service returns it, and takes it as "keep it". */
export const KEPT = "***"

interface Common {
  readonly title: unknown
  readonly description: unknown
  /** The value that counts if there is none. */
  readonly fallback: unknown
  readonly isRequired: boolean
  readonly isSecret: boolean
  /** What the field reads as while nothing is typed: `undefined` leaves it out. */
  readonly blank: unknown
}

type Shape =
  | { readonly kind: "text"; readonly text: string | undefined; readonly format: unknown; readonly isLong: boolean }
  | { readonly kind: "number"; readonly text: string | undefined }
  | { readonly kind: "choice"; readonly choices: ReadonlyArray<unknown>; readonly chosen: number }
  | { readonly kind: "object"; readonly members: ReadonlyArray<readonly [name: string, field: Field]> }
  | { readonly kind: "array"; readonly items: ReadonlyArray<Field>; readonly next: Field }
  | { readonly kind: "json"; readonly text: string | undefined }

export type Field = Common & Shape

type Json = Readonly<Record<string, unknown>>

interface Place {
  readonly root: unknown
  readonly isRequired: boolean
  /** Whether the value is new, so that defaults apply. */
  readonly isNew: boolean
  readonly depth: number
  /** References on the way here: one that comes again has no end. */
  readonly refs: ReadonlyArray<unknown>
  /** Schemas that may still be read, as references can multiply a small schema. */
  readonly budget: { left: number }
}

const MAX_DEPTH = 6
const MAX_SCHEMAS = 2_000
/** Longer texts have several lines. */
const MAX_LINE = 4_000
/** Keywords that add properties by conditions, which a form does not follow. */
const CONDITIONS = ["oneOf", "anyOf", "if", "patternProperties", "dependentSchemas", "$dynamicRef"]

const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
const has = (value: unknown, name: string): value is Json => isJson(value) && Object.hasOwn(value, name)
const own = (value: unknown, name: string): unknown => (has(value, name) ? value[name] : undefined)
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The schema that a local reference points to. */
const pointed = (root: unknown, ref: string): unknown =>
  (ref === "#" ? [] : ref.split("/").slice(1))
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((at, part) => (Array.isArray(at) ? at[Number(part)] : own(at, part)), root)

/** Two schemas of one value. A property of both is bound by both. */
const both = (one: Json, other: Json): Json => {
  const properties = [one, other].map((schema) => own(schema, "properties")).filter(isJson)
  const bound = [...new Set(properties.flatMap(Object.keys))].map((name) => {
    const [first, ...more] = properties.filter((some) => has(some, name)).map((some) => some[name])
    return [name, more.length === 0 ? first : { allOf: [first, ...more] }] as const
  })
  const required = [...listOf(one["required"]), ...listOf(other["required"])]
  return { ...other, ...one, required, ...(bound.length > 0 && { properties: Object.fromEntries(bound) }) }
}

/** A schema with its reference and its `allOf` in it, and the references on the way; `undefined` if they have no end. */
const merged = (schema: unknown, place: Place): readonly [schema: Json, refs: Place["refs"]] | undefined => {
  if (!isJson(schema) || place.budget.left-- <= 0) return undefined
  const { $ref: ref, allOf, ...rest } = schema
  const isReference = typeof ref === "string" && /^#(\/|$)/.test(ref) && !place.refs.includes(ref)
  if (ref !== undefined && !isReference) return undefined
  const refs = isReference ? [...place.refs, ref] : place.refs
  const parts = [...listOf(allOf), ...(isReference ? [pointed(place.root, ref)] : [])]
  return parts.reduce<ReturnType<typeof merged>>(
    (before, part) => {
      const found = before && merged(part, { ...place, refs: before[1] })
      return found && [both(before[0], found[0]), found[1]]
    },
    [rest, refs],
  )
}

/** A value that is none of the choices stays as one more. */
const choiceOf = (choices: ReadonlyArray<unknown>, value: unknown): Shape => {
  const chosen = value === undefined ? -1 : choices.findIndex((one) => JSON.stringify(one) === JSON.stringify(value))
  if (value === undefined || chosen >= 0) return { kind: "choice", choices, chosen }
  return { kind: "choice", choices: [...choices, value], chosen: choices.length }
}

/** The properties of the schema, and others that are there. */
const membersOf = (schema: Json, value: Json | undefined, place: Place): Shape | undefined => {
  const properties = own(schema, "properties")
  const isOpen = isJson(own(schema, "additionalProperties")) || CONDITIONS.some((keyword) => has(schema, keyword))
  if (!isJson(properties) || isOpen) return undefined
  const names = new Set([...Object.keys(properties), ...Object.keys(value ?? {})])
  const members = [...names].map((name) => {
    const isRequired = listOf(own(schema, "required")).includes(name)
    return [name, build(own(properties, name), own(value, name), { ...place, isRequired })] as const
  })
  return { kind: "object", members }
}

const itemsOf = (schema: Json, values: ReadonlyArray<unknown>, place: Place): Shape | undefined => {
  const items = own(schema, "items")
  if (!isJson(items) || has(schema, "prefixItems")) return undefined
  const itemOf = (value: unknown, isNew: boolean): Field => {
    const item = build(items, value, { ...place, isNew, isRequired: true })
    // An item cannot be left out.
    return item.blank === undefined ? { ...item, blank: item.kind === "text" ? "" : null } : item
  }
  return { kind: "array", items: values.map((value) => itemOf(value, false)), next: itemOf(undefined, true) }
}

const shapeOf = (schema: Json, value: unknown, place: Place): Shape | undefined => {
  if (Array.isArray(schema["enum"])) return choiceOf(schema["enum"], value)
  if (has(schema, "const")) return choiceOf([schema["const"]], value)
  const types = [schema["type"]].flat().filter((type) => type !== "null")
  const given = value ?? undefined
  const is = (type: string, fits: boolean) => types.length === 1 && types[0] === type && (fits || given === undefined)
  if (is("string", typeof given === "string")) {
    const text = given as string | undefined
    const isLong = Number(schema["maxLength"]) > MAX_LINE || text?.includes("\n") === true
    return { kind: "text", text, format: schema["format"], isLong }
  }
  const isNumber =
    typeof given === "number" ||
    given instanceof ExactNumber ||
    // Outside free JSON, amounts that would be rounded were read as text.
    (typeof given === "string" && isRoundedText(given))
  if (is("number", isNumber) || is("integer", isNumber))
    return { kind: "number", text: isNumber ? String(given) : undefined }
  if (is("boolean", typeof given === "boolean")) return choiceOf([true, false], given)
  if (is("object", isJson(given))) return membersOf(schema, given as Json | undefined, place)
  return is("array", Array.isArray(given)) ? itemsOf(schema, listOf(given), place) : undefined
}

const blankOf = (kind: Field["kind"], value: unknown, isRequired: boolean): unknown => {
  if (value === null) return null
  if (value === undefined && !isRequired) return undefined
  return kind === "object" ? {} : kind === "array" ? [] : undefined
}

const build = (schema: unknown, value: unknown, place: Place): Field => {
  const unknown: readonly [Json, Place["refs"]] = [{}, place.refs]
  const [known, refs] = (place.depth > MAX_DEPTH ? undefined : merged(schema, place)) ?? unknown
  const { const: only, default: fallback, description, title, writeOnly } = known
  const initial = value === undefined && place.isNew ? (fallback ?? (place.isRequired ? only : undefined)) : value
  const inner = { ...place, refs, depth: place.depth + 1, isNew: place.isNew && initial === undefined }
  const shape = shapeOf(known, initial, inner)
  const isSecret = writeOnly === true
  const common = { title, description, fallback, isRequired: place.isRequired, isSecret }
  if (shape === undefined) {
    return { ...common, blank: undefined, kind: "json", text: JSON.stringify(initial, null, 2) }
  }
  const isKept = isSecret && shape.kind === "text" && shape.text === KEPT
  if (isKept) return { ...common, ...shape, text: undefined, blank: KEPT }
  return { ...common, ...shape, blank: blankOf(shape.kind, initial, place.isRequired) }
}

/** The form of a schema for a value. A required one that is missing begins with the defaults. */
export const formOf = (schema: unknown, value: unknown, isRequired = true): Field => {
  const start = { root: schema, isRequired, isNew: value === undefined && isRequired, depth: 0, refs: [] }
  return build(schema, value, { ...start, budget: { left: MAX_SCHEMAS } })
}

/** What was typed, as JSON. Throws if a field of JSON holds something else. */
export const valueOf = (field: Field): unknown => {
  const { blank } = field
  if (field.kind === "choice") return field.chosen < 0 ? blank : field.choices[field.chosen]
  if (field.kind === "array") return field.items.length === 0 ? blank : field.items.map(valueOf)
  if (field.kind === "object") {
    const values = field.members.map(([name, member]) => [name, valueOf(member)] as const)
    const given = values.filter(([, value]) => value !== undefined)
    return given.length === 0 ? blank : Object.fromEntries(given)
  }
  if (field.text === undefined || field.kind === "text") return field.text ?? blank
  return field.kind === "json" ? parseForBody(field.text) : numberOrText(field.text)
}

/** Whether all fields of JSON hold JSON. */
export const isReadable = (field: Field): boolean => {
  try {
    valueOf(field)
    return true
  } catch {
    return false
  }
}
