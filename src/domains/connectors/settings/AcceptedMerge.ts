/**
 * Merges settings to a document that its schema accepts. The rule: from the inside out, each part that the schema rejects keeps as
 * much of what is optional in it as the schema accepts. Pure.
 */
import { Predicate } from "effect"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import type { JsonObject } from "../Model.ts"
import { applicable, itemNodes, propertyNodes } from "../schema/SchemaWalk.ts"
import type { Applicable, SchemaNode } from "../schema/SchemaWalk.ts"
import { partValidator } from "../schema/SettingsValidator.ts"
import { merge } from "./SettingsMerge.ts"
import type { Path } from "./SettingsMerge.ts"

/** The optional parts in a value, by their place. */
interface Places {
  readonly isOptional: boolean
  readonly inside: ReadonlyMap<string, Places>
}

const placesOf = (paths: ReadonlyArray<Path>): Places => ({
  isOptional: paths.some((path) => path.length === 0),
  inside: new Map(
    [
      ...Map.groupBy(
        paths.filter((path) => path.length > 0),
        ([first = ""]) => first,
      ),
    ].map(([name, those]) => [name, placesOf(those.map((path) => path.slice(1)))]),
  ),
})

/** All optional parts in a value, the outer ones first. */
const optionalIn = ({ inside }: Places): ReadonlyArray<Places> =>
  [...inside.values()].flatMap((part) => [...(part.isOptional ? [part] : []), ...optionalIn(part)])

/** The value without some of its optional parts. An omitted object in which nothing is left goes too. */
const without = (value: unknown, places: Places, dropped: ReadonlySet<Places>): unknown => {
  if (dropped.has(places)) return undefined
  if (places.inside.size === 0 || !Predicate.isObjectOrArray(value)) return value
  const partOf = (part: unknown, key: string) => {
    const inside = places.inside.get(key)
    return inside === undefined ? part : without(part, inside, dropped)
  }
  if (Array.isArray(value)) return value.map((item, index) => partOf(item, String(index)))
  const left = Object.entries(value)
    .map(([key, property]) => [key, partOf(property, key)] as const)
    .filter(([, property]) => property !== undefined)
  return places.isOptional && left.length === 0 ? undefined : Object.fromEntries(left)
}

/** Adds as many of the candidates as are accepted. Halves at a time: mostly one is to blame, so that few trials are enough. */
const asManyAs = <T>(
  isAccepted: (kept: ReadonlyArray<T>) => boolean,
  candidates: ReadonlyArray<T>,
  kept: ReadonlyArray<T> = [],
): ReadonlyArray<T> => {
  const all = [...kept, ...candidates]
  if (candidates.length === 0 || isAccepted(all)) return all
  if (candidates.length === 1) return kept
  const half = candidates.length >> 1
  return asManyAs(isAccepted, candidates.slice(half), asManyAs(isAccepted, candidates.slice(0, half), kept))
}

/** A part of the settings, and the subschemas for it. */
interface Part {
  readonly value: unknown
  readonly places: Places
  readonly schemas: ReadonlyArray<SchemaNode>
}

const partsIn = ({ places, schemas, value }: Part): ReadonlyArray<Part> => {
  const at = applicable(schemas)
  return [...places.inside].map(([key, inside]) => ({
    value: Reflect.get(Object(value), key),
    places: inside,
    schemas: Array.isArray(value) ? itemNodes(at, Number(key)) : propertyNodes(at, key),
  }))
}

// Each validates a part that may be as large as the settings. They find one part to blame among thousands, or all of few dozens.
const MAX_TRIALS = 64

/** The optional parts to drop for the schema to accept the settings. If it accepts them in no way, others are dropped too. */
const rejectedParts = (schema: JsonObject, settings: JsonObject, places: Places): ReadonlySet<Places> => {
  const isValid = partValidator(schema)
  const dropped = new Set<Places>()
  let trials = 0
  // Any of them: which branches apply is decided by the whole.
  const accepts = ({ places, schemas, value }: Part, but: ReadonlySet<Places> = dropped): boolean => {
    const left = without(value, places, but)
    const own = schemas.filter(({ root }) => root === schema)
    return left === undefined || own.length === 0 || own.some((node) => isValid(node.schema, left))
  }
  const settle = (part: Part): void => {
    if (accepts(part)) return
    for (const inside of partsIn(part)) settle(inside)
    const open = optionalIn(part.places).filter((one) => !dropped.has(one))
    const allBut = (kept: ReadonlyArray<Places>): ReadonlySet<Places> => {
      const left = new Set(kept)
      return new Set([...dropped, ...open.filter((one) => !left.has(one))])
    }
    if (accepts(part, allBut([]))) {
      const isAccepted = (kept: ReadonlyArray<Places>) => trials++ < MAX_TRIALS && accepts(part, allBut(kept))
      for (const one of allBut(asManyAs(isAccepted, open))) dropped.add(one)
    } else if (part.places.isOptional) dropped.add(part.places)
  }
  settle({ value: settings, places, schemas: [{ schema, root: schema }] })
  return dropped
}

/** What to merge, and the schema that the result should match. */
interface MergeRequest {
  readonly at: Applicable
  readonly schema: JsonObject
  readonly sent: JsonObject
  readonly stored: JsonObject | undefined
  readonly location: string
}

/** The settings to store if they are valid, the errors of the merge, and whether any stored secret is in them. */
interface AcceptedMerge {
  readonly settings: JsonObject
  readonly errors: ReadonlyArray<ValidationError>
  readonly retainsSecrets: boolean
}

const holds = (value: unknown, path: Path): boolean =>
  path.every((key) => {
    if (!Predicate.isObjectOrArray(value) || !Object.hasOwn(value, key)) return false
    value = Reflect.get(value, key)
    return true
  })

/** Merges the settings, and drops of the optional parts what the schema rejects. The result may still be invalid. */
export const mergeAccepted = ({ at, location, schema, sent, stored }: MergeRequest): AcceptedMerge => {
  const { errors, optional, retained, settings } = merge(at, sent, stored, location)
  const places = placesOf(optional)
  const isOpen = errors.length === 0 && optional.length > 0
  const accepted = isOpen ? without(settings, places, rejectedParts(schema, settings, places)) : settings
  return {
    settings: accepted as JsonObject,
    errors,
    retainsSecrets: retained.some((path) => holds(accepted, path)),
  }
}
