/**
 * What a PUT of settings means: `***` or nothing keeps a stored secret, everything else is as it was sent. Pure.
 *
 * - A secret that is sent as `***` without a stored one is a fault.
 * - An array that is omitted is kept whole if it holds secrets: its items could not be named one by one.
 * - Items of a sent array are matched to stored ones by a declared `id`, `key` or `name`, never by position.
 * - `null` replaces: it deletes the secret.
 */
import { Predicate } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { ProblemFault } from "../../../kernel/contract/Problem.ts"
import type { JsonObject } from "../Model.ts"
import { holdsSecrets, MASK } from "./Redaction.ts"
import { declaredMembers, defaultOf, exposesSecrets, isSecret, itemAt, memberAt } from "../schema/SchemaWalk.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"

/** The settings to validate and store, what could not be kept, and whether any secret was kept. */
export interface Merged {
  readonly settings: JsonObject
  readonly faults: ReadonlyArray<ProblemFault>
  readonly keptSecrets: boolean
}

interface Progress {
  readonly faults: Array<ProblemFault>
  /** `null` removes the member instead of being stored. */
  readonly nullRemoves: boolean
  kept: boolean
}

const isRecord = (value: unknown): value is JsonObject => Predicate.isObject(value)

const ownMember = (value: unknown, key: string): unknown =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined

const holdsMask = (value: unknown): boolean =>
  value === MASK || (Predicate.isObjectOrArray(value) && Object.values(value).some(holdsMask))

/** The part of an omitted value that is kept: its secrets, and whole arrays that hold some. */
const keptOf = (at: Applicable, stored: unknown): unknown => {
  if (stored === null || stored === undefined || isSecret(at)) return stored ?? undefined
  if (Array.isArray(stored)) return holdsSecrets(at, stored) ? stored : undefined
  if (!isRecord(stored)) return undefined
  const kept = Object.entries(stored)
    .map(([key, member]) => [key, keptOf(memberAt(at, key), member)] as const)
    .filter(([, member]) => member !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

const identityNames = (at: Applicable): ReadonlyArray<string> => {
  const declared = declaredMembers(at)
  return ["id", "key", "name"].filter((name) => declared.includes(name) && !isSecret(memberAt(at, name)))
}

const isScalar = (value: unknown): boolean => Predicate.isString(value) || Predicate.isNumber(value)

/** The member that names an item among its siblings, and its value. */
const identityOf = (at: Applicable, item: unknown): readonly [name: string, value: unknown] | undefined => {
  const name = identityNames(at).find((candidate) => isScalar(ownMember(item, candidate)))
  return name === undefined ? undefined : [name, ownMember(item, name)]
}

/** The stored item of the same identity; none if two items share it. */
const counterpart = (at: Applicable, item: unknown, sent: ReadonlyArray<unknown>, stored: unknown): unknown => {
  const identity = identityOf(at, item)
  if (identity === undefined || !Array.isArray(stored)) return undefined
  const [name, value] = identity
  const same = (candidate: unknown) => ownMember(candidate, name) === value
  const matches = (stored as ReadonlyArray<unknown>).filter(same)
  return matches.length === 1 && sent.filter(same).length === 1 ? matches[0] : undefined
}

const mergeSecret = (sent: unknown, stored: unknown, location: string, progress: Progress): unknown => {
  if (sent === MASK) {
    if (stored !== undefined && stored !== null) {
      progress.kept = true
      return stored
    }
    progress.faults.push({ location, message: "has no stored value that `***` could keep" })
  } else if (holdsMask(sent)) {
    progress.faults.push({ location, message: "is secret as a whole: send it whole, or `***` for all of it" })
  }
  return sent
}

const mergeObject = (
  at: Applicable,
  sent: JsonObject,
  stored: unknown,
  location: string,
  progress: Progress,
): JsonObject => {
  const members = Object.entries(sent)
    .filter(
      ([key, member]) =>
        !(progress.nullRemoves && member === null && holdsSecrets(memberAt(at, key), ownMember(stored, key))),
    )
    .map(([key, member]): readonly [string, unknown] => [
      key,
      mergeAt(memberAt(at, key), member, ownMember(stored, key), `${location}.${key}`, progress),
    ])
  const omitted = (isRecord(stored) ? Object.entries(stored) : [])
    .filter(([key]) => !Object.hasOwn(sent, key))
    .map(([key, member]): readonly [string, unknown] => [key, keptOf(memberAt(at, key), member)])
    .filter(([, member]) => member !== undefined)
  if (omitted.length > 0) progress.kept = true
  return Object.fromEntries([...members, ...omitted])
}

const mergeAt = (at: Applicable, sent: unknown, stored: unknown, location: string, progress: Progress): unknown => {
  if (isSecret(at)) return mergeSecret(sent, stored, location, progress)
  if (Array.isArray(sent)) {
    return sent.map((item: unknown, index) => {
      const itemsAt = itemAt(at, index)
      return mergeAt(itemsAt, item, counterpart(itemsAt, item, sent, stored), `${location}[${index}]`, progress)
    })
  }
  return isRecord(sent) ? mergeObject(at, sent, stored, location, progress) : sent
}

/** Merges what was sent with what is stored. `nullRemoves`: a `null` for a secret removes its member. */
export const merge = (
  at: Applicable,
  sent: JsonObject,
  stored: JsonObject | undefined,
  options: { readonly location: string; readonly nullRemoves: boolean },
): Merged => {
  const progress: Progress = { faults: [], nullRemoves: options.nullRemoves, kept: false }
  const settings = mergeObject(at, sent, stored, options.location, progress)
  return { settings, faults: progress.faults, keptSecrets: progress.kept }
}

/**
 * The stored settings without what only an older schema calls secret: under the newer one it would be shown. `both` is
 * what the two schemas say together.
 */
export const withoutFormerSecrets = (both: Applicable, newer: Applicable, stored: unknown): unknown => {
  if (isSecret(newer)) return stored
  if (isSecret(both)) return undefined
  if (Array.isArray(stored)) {
    return stored
      .map((item: unknown, index) => withoutFormerSecrets(itemAt(both, index), itemAt(newer, index), item))
      .filter((item) => item !== undefined)
  }
  if (!isRecord(stored)) return stored
  return Object.fromEntries(
    Object.entries(stored)
      .map(([key, member]) => [key, withoutFormerSecrets(memberAt(both, key), memberAt(newer, key), member)] as const)
      .filter(([, member]) => member !== undefined),
  )
}

interface Exposure {
  readonly location: string
  readonly value: unknown
  readonly fallback: unknown
}

/** Every value that decides where secrets are sent. Items of arrays are told apart by their identities. */
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
    for (const [name, member] of Object.entries(value)) {
      exposuresOf(memberAt(at, name), member, `${key}.${JSON.stringify(name)}`, `${location}.${name}`, found)
    }
  }
  return found
}

/** Places whose change could send kept secrets to somebody else. An absent value counts as its default. */
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
    // An item that is gone takes its address and its secrets with it.
    if (next === undefined && key.includes("[")) return []
    const was = old === undefined ? next?.fallback : old.value
    const is = next === undefined ? old?.fallback : next.value
    return isDeepStrictEqual(was, is) ? [] : [(next ?? old)?.location ?? location]
  })
}
