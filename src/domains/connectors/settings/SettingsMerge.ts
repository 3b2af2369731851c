/**
 * Merges the settings of a PUT with the stored ones: a secret that is omitted or `***` keeps its stored value,
 * everything else is replaced. Pure.
 *
 * - `***` without a stored secret is an error.
 * - An omitted array that contains secrets is retained as a whole, because its items cannot be matched one by one.
 * - Items of a sent array are matched to stored ones by a declared `id`, `key` or `name`, never by position.
 * - `null` replaces the secret, or removes its property.
 * - `AcceptedMerge` decides which of the optional parts the settings keep.
 */
import { Predicate } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import type { JsonObject } from "../Model.ts"
import { holdsSecrets, MASK } from "./Redaction.ts"
import { declaredProperties, defaultOf, exposesSecrets, isSecret, itemAt, propertyAt } from "../schema/SchemaWalk.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"

/** A place in the settings: the names of properties and the indexes of items. */
export type Path = ReadonlyArray<string>

/** The settings with all that they may retain, the errors, and what of it is open. */
interface Merged {
  readonly settings: JsonObject
  readonly errors: ReadonlyArray<ValidationError>
  /** The stored secrets in the settings. */
  readonly retained: ReadonlyArray<Path>
  /** The parts that the caller does not insist on: omitted objects that are retained for their secrets, and `null` for a secret. */
  readonly optional: ReadonlyArray<Path>
}

interface Progress {
  readonly errors: Array<ValidationError>
  readonly retained: Array<Path>
  readonly optional: Array<Path>
}

/** A place as an error names it, and as a path. */
interface Place {
  readonly location: string
  readonly path: Path
}

const propertyPlace = ({ location, path }: Place, key: string): Place => ({
  location: `${location}.${key}`,
  path: [...path, key],
})

const itemPlace = ({ location, path }: Place, index: number): Place => ({
  location: `${location}[${index}]`,
  path: [...path, String(index)],
})

const isRecord = (value: unknown): value is JsonObject => Predicate.isObject(value)

const ownProperty = (value: unknown, key: string): unknown =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined

const containsMask = (value: unknown): boolean =>
  value === MASK || (Predicate.isObjectOrArray(value) && Object.values(value).some(containsMask))

/** The part of an omitted value that is retained: its secrets, and whole arrays that contain secrets. */
const retainedPart = (at: Applicable, stored: unknown, path: Path, progress: Progress): unknown => {
  if (stored === null || stored === undefined) return undefined
  if (isSecret(at) || (Array.isArray(stored) && holdsSecrets(at, stored))) {
    progress.retained.push(path)
    return stored
  }
  if (!isRecord(stored)) return undefined
  const retained = Object.entries(stored)
    .map(([key, property]) => [key, retainedPart(propertyAt(at, key), property, [...path, key], progress)] as const)
    .filter(([, property]) => property !== undefined)
  if (retained.length === 0) return undefined
  progress.optional.push(path)
  return Object.fromEntries(retained)
}

const identityNames = (at: Applicable): ReadonlyArray<string> => {
  const declared = declaredProperties(at)
  return ["id", "key", "name"].filter((name) => declared.includes(name) && !isSecret(propertyAt(at, name)))
}

const isScalar = (value: unknown): boolean => Predicate.isString(value) || Predicate.isNumber(value)

/** The property that identifies an item among its siblings, and its value. */
const identityOf = (at: Applicable, item: unknown): readonly [name: string, value: unknown] | undefined => {
  const name = identityNames(at).find((candidate) => isScalar(ownProperty(item, candidate)))
  return name === undefined ? undefined : [name, ownProperty(item, name)]
}

/** The stored item with the same identity, or `undefined` if it is missing or not unique. */
const counterpart = (at: Applicable, item: unknown, sent: ReadonlyArray<unknown>, stored: unknown): unknown => {
  const identity = identityOf(at, item)
  if (identity === undefined || !Array.isArray(stored)) return undefined
  const [name, value] = identity
  const isSame = (candidate: unknown) => ownProperty(candidate, name) === value
  const matches = (stored as ReadonlyArray<unknown>).filter(isSame)
  return matches.length === 1 && sent.filter(isSame).length === 1 ? matches[0] : undefined
}

const mergeSecret = (sent: unknown, stored: unknown, { location, path }: Place, progress: Progress): unknown => {
  if (sent === MASK) {
    if (stored !== undefined && stored !== null) {
      progress.retained.push(path)
      return stored
    }
    progress.errors.push({ location, message: "must not be `***`, because no value is stored. Send the secret" })
  } else if (containsMask(sent)) {
    progress.errors.push({ location, message: "is entirely secret. Send the complete value, or `***` instead of it" })
  }
  return sent
}

const mergeObject = (
  at: Applicable,
  sent: JsonObject,
  stored: unknown,
  place: Place,
  progress: Progress,
): JsonObject => {
  const properties = Object.entries(sent).map(([key, property]): readonly [string, unknown] => {
    const inside = propertyPlace(place, key)
    const propertyIs = propertyAt(at, key)
    const before = ownProperty(stored, key)
    if (property === null && holdsSecrets(propertyIs, before)) progress.optional.push(inside.path)
    return [key, mergeAt(propertyIs, property, before, inside, progress)]
  })
  const omitted = (isRecord(stored) ? Object.entries(stored) : [])
    .filter(([key]) => !Object.hasOwn(sent, key))
    .map(([key, property]): readonly [string, unknown] => [
      key,
      retainedPart(propertyAt(at, key), property, [...place.path, key], progress),
    ])
    .filter(([, property]) => property !== undefined)
  return Object.fromEntries([...properties, ...omitted])
}

const mergeAt = (at: Applicable, sent: unknown, stored: unknown, place: Place, progress: Progress): unknown => {
  if (isSecret(at)) return mergeSecret(sent, stored, place, progress)
  if (Array.isArray(sent)) {
    return sent.map((item: unknown, index) => {
      const itemsAt = itemAt(at, index)
      return mergeAt(itemsAt, item, counterpart(itemsAt, item, sent, stored), itemPlace(place, index), progress)
    })
  }
  return isRecord(sent) ? mergeObject(at, sent, stored, place, progress) : sent
}

/** Merges the sent settings with the stored ones. */
export const merge = (at: Applicable, sent: JsonObject, stored: JsonObject | undefined, location: string): Merged => {
  const progress: Progress = { errors: [], retained: [], optional: [] }
  const settings = mergeObject(at, sent, stored, { location, path: [] }, progress)
  return { settings, ...progress }
}

/**
 * Removes the values that only the older schema marks as secret, because the newer one would show them. `both` is the
 * union of the two schemas.
 */
export const removeFormerSecrets = (both: Applicable, newer: Applicable, stored: unknown): unknown => {
  if (isSecret(newer)) return stored
  if (isSecret(both)) return undefined
  if (Array.isArray(stored)) {
    return stored
      .map((item: unknown, index) => removeFormerSecrets(itemAt(both, index), itemAt(newer, index), item))
      .filter((item) => item !== undefined)
  }
  if (!isRecord(stored)) return stored
  return Object.fromEntries(
    Object.entries(stored)
      .map(
        ([key, property]) =>
          [key, removeFormerSecrets(propertyAt(both, key), propertyAt(newer, key), property)] as const,
      )
      .filter(([, property]) => property !== undefined),
  )
}

interface Exposure {
  readonly location: string
  readonly value: unknown
  readonly fallback: unknown
}

/** Collects every value that determines where secrets are sent. Array items are keyed by their identity. */
const exposuresOf = (at: Applicable, value: unknown, key: string, location: string, found: Map<string, Exposure>) => {
  if (exposesSecrets(at)) found.set(key, { location, value, fallback: defaultOf(at) })
  if (Array.isArray(value)) {
    value.forEach((item: unknown, index) => {
      const itemsAt = itemAt(at, index)
      const identity = identityOf(itemsAt, item)
      const itemKey = identity === undefined ? `#${index}` : JSON.stringify(identity)
      exposuresOf(itemsAt, item, `${key}[${itemKey}]`, `${location}[${index}]`, found)
    })
  } else if (isRecord(value)) {
    for (const [name, property] of Object.entries(value)) {
      exposuresOf(propertyAt(at, name), property, `${key}.${JSON.stringify(name)}`, `${location}.${name}`, found)
    }
  }
  return found
}

/** The places whose change could send retained secrets to a third party. An absent value counts as its default. */
export const changedExposures = (
  at: Applicable,
  stored: JsonObject,
  merged: JsonObject,
  location: string,
): ReadonlyArray<string> => {
  const before = exposuresOf(at, stored, "", location, new Map<string, Exposure>())
  const after = exposuresOf(at, merged, "", location, new Map<string, Exposure>())
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const old = before.get(key)
    const next = after.get(key)
    // Removing an item removes its address and its secrets.
    if (next === undefined && key.includes("[")) return []
    const was = old === undefined ? next?.fallback : old.value
    const is = next === undefined ? old?.fallback : next.value
    return isDeepStrictEqual(was, is) ? [] : [(next ?? old)?.location ?? location]
  })
}
