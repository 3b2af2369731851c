/** Replaces every secret in settings with `***`. Pure. */
import { Predicate } from "effect"
import type { JsonObject } from "../Model.ts"
import { applicable, isSecret, itemAt, propertyAt } from "../schema/SchemaWalk.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"

/** The placeholder of a secret. Sending it back keeps the stored secret. */
export const MASK = "***"

/** The schemas that apply to a settings document: the current one, and the older one that it was stored under. */
export const settingsAt = (...schemas: ReadonlyArray<JsonObject>): Applicable =>
  applicable(schemas.map((schema) => ({ schema, root: schema })))

const redactAt = (at: Applicable, value: unknown): unknown => {
  // An absent secret is not masked, so that clients can tell whether it is set.
  if (value === null || value === undefined) return value
  if (isSecret(at)) return MASK
  if (Array.isArray(value)) return value.map((item, index) => redactAt(itemAt(at, index), item))
  if (Predicate.isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, property]) => [key, redactAt(propertyAt(at, key), property)]),
    )
  }
  return value
}

/** Returns the settings with every secret masked. A part whose schema is not understood is masked as a whole. */
export const redact = (at: Applicable, settings: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(settings).map(([key, property]) => [key, redactAt(propertyAt(at, key), property)]))

const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (Predicate.isString(value)) return [value]
  if (Predicate.isNumber(value)) return [String(value)]
  return Predicate.isObjectOrArray(value) ? Object.values(value).flatMap(textsOf) : []
}

/** Collects every secret text in a value. */
export const secretsOf = (at: Applicable, value: unknown): ReadonlyArray<string> => {
  if (value === null || value === undefined) return []
  if (isSecret(at)) return textsOf(value)
  if (Array.isArray(value)) return value.flatMap((item, index) => secretsOf(itemAt(at, index), item))
  if (!Predicate.isObject(value)) return []
  return Object.entries(value).flatMap(([key, property]) => secretsOf(propertyAt(at, key), property))
}

/** Whether a value contains a secret of any type. */
export const holdsSecrets = (at: Applicable, value: unknown): boolean => {
  if (value === null || value === undefined) return false
  if (isSecret(at)) return true
  if (Array.isArray(value)) return value.some((item, index) => holdsSecrets(itemAt(at, index), item))
  if (!Predicate.isObject(value)) return false
  return Object.entries(value).some(([key, property]) => holdsSecrets(propertyAt(at, key), property))
}
