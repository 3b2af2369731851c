/** Settings as they may be shown: every secret as `***`. Pure. */
import { Predicate } from "effect"
import type { JsonObject } from "../Model.ts"
import { applicable, isSecret, itemAt, memberAt } from "../schema/SchemaWalk.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"

/** What stands in the place of a secret, and sent back keeps it. */
export const MASK = "***"

/** What speaks about a settings document: its schema, and the older one that it was stored under. */
export const settingsAt = (...schemas: ReadonlyArray<JsonObject>): Applicable =>
  applicable(schemas.map((schema) => ({ schema, root: schema })))

const redactAt = (at: Applicable, value: unknown): unknown => {
  // An absent secret looks absent, so that a reader sees what is not set.
  if (value === null || value === undefined) return value
  if (isSecret(at)) return MASK
  if (Array.isArray(value)) return value.map((item, index) => redactAt(itemAt(at, index), item))
  if (Predicate.isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redactAt(memberAt(at, key), member)]))
  }
  return value
}

/** The settings with every secret hidden. A part that the schemas leave unclear is hidden whole. */
export const redact = (at: Applicable, settings: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(settings).map(([key, member]) => [key, redactAt(memberAt(at, key), member)]))

const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (Predicate.isString(value)) return [value]
  if (Predicate.isNumber(value)) return [String(value)]
  return Predicate.isObjectOrArray(value) ? Object.values(value).flatMap(textsOf) : []
}

/** Every text that must not be shown. */
export const secretsOf = (at: Applicable, value: unknown): ReadonlyArray<string> => {
  if (value === null || value === undefined) return []
  if (isSecret(at)) return textsOf(value)
  if (Array.isArray(value)) return value.flatMap((item, index) => secretsOf(itemAt(at, index), item))
  if (!Predicate.isObject(value)) return []
  return Object.entries(value).flatMap(([key, member]) => secretsOf(memberAt(at, key), member))
}

/** Whether a value holds a secret, of whatever type. */
export const holdsSecrets = (at: Applicable, value: unknown): boolean => {
  if (value === null || value === undefined) return false
  if (isSecret(at)) return true
  if (Array.isArray(value)) return value.some((item, index) => holdsSecrets(itemAt(at, index), item))
  if (!Predicate.isObject(value)) return false
  return Object.entries(value).some(([key, member]) => holdsSecrets(memberAt(at, key), member))
}
