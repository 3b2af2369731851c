/** Checks settings schemas at registration: valid, self-contained, and unambiguous about secrets. Pure. */
import { Predicate } from "effect"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import type { JsonObject } from "../Model.ts"
import { unsupportedReason, resolveRef } from "./SchemaWalk.ts"
import { compile } from "./SettingsValidator.ts"

const DIALECT = "https://json-schema.org/draft/2020-12/schema"
const MAX_LENGTH = 64 * 1024
const MAX_DEPTH = 32

const SCHEMAS = ["if", "then", "else", "not", "additionalProperties", "unevaluatedProperties", "items"]
const SCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"]
const SCHEMA_MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]

const errorsOf = (
  schema: unknown,
  root: JsonObject,
  location: string,
  depth: number,
): ReadonlyArray<ValidationError> => {
  if (!Predicate.isObject(schema)) return []
  if (depth > MAX_DEPTH) return [{ location, message: `must not be nested deeper than ${MAX_DEPTH} levels` }]
  const own = Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<ValidationError> => {
    const at = `${location}.${keyword}`
    const reason = unsupportedReason(keyword, value)
    if (reason !== undefined) return [{ location: at, message: reason }]
    if (keyword === "$ref" && resolveRef(root, value) === undefined) {
      return [{ location: at, message: "must point to a schema in this document (`#/...`)" }]
    }
    if (keyword === "$id" && depth > 0) return [{ location: at, message: "is allowed only at the top of the schema" }]
    return []
  })
  const inside = Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<ValidationError> => {
    const at = `${location}.${keyword}`
    if ([...SCHEMAS, "unevaluatedItems", "contains"].includes(keyword)) return errorsOf(value, root, at, depth + 1)
    if (SCHEMA_LISTS.includes(keyword) && Array.isArray(value)) {
      return value.flatMap((child, index) => errorsOf(child, root, `${at}[${index}]`, depth + 1))
    }
    if (SCHEMA_MAPS.includes(keyword) && Predicate.isObject(value)) {
      return Object.entries(value).flatMap(([key, child]) => errorsOf(child, root, `${at}.${key}`, depth + 1))
    }
    return []
  })
  return [...own, ...inside]
}

/** Returns the errors of a schema to register, or an empty list if it is accepted. */
export const lint = (schema: JsonObject): ReadonlyArray<ValidationError> => {
  const location = "body.settings_schema"
  if (JSON.stringify(schema).length > MAX_LENGTH) return [{ location, message: "must be at most 64 KiB" }]
  const dialect = schema["$schema"]
  if (dialect !== undefined && dialect !== DIALECT && dialect !== `${DIALECT}#`) {
    return [{ location: `${location}.$schema`, message: `must be ${DIALECT}` }]
  }
  if (schema["type"] !== "object") return [{ location: `${location}.type`, message: 'must be "object"' }]
  if (schema["writeOnly"] === true) {
    return [
      { location: `${location}.writeOnly`, message: "is allowed only on properties, not at the top of the schema" },
    ]
  }
  const errors = errorsOf(schema, schema, location, 0)
  if (errors.length > 0) return errors.slice(0, 20)
  const compiled = compile(schema)
  return "error" in compiled
    ? [{ location, message: `is not a valid JSON Schema 2020-12: ${compiled.error.slice(0, 200)}` }]
    : []
}
