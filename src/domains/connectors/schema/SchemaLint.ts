/** What a settings schema must be to be registered: valid, self-contained, and clear about its secrets. Pure. */
import { Predicate } from "effect"
import type { ProblemFault } from "../../../kernel/contract/Problem.ts"
import type { JsonObject } from "../Model.ts"
import { misunderstood, resolveRef } from "./SchemaWalk.ts"
import { compile } from "./SettingsValidator.ts"

const DIALECT = "https://json-schema.org/draft/2020-12/schema"
const LONGEST = 64 * 1024
const DEEPEST = 32

const SCHEMAS = ["if", "then", "else", "not", "additionalProperties", "unevaluatedProperties", "items"]
const SCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"]
const SCHEMA_MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]

const faultsOf = (schema: unknown, root: JsonObject, location: string, depth: number): ReadonlyArray<ProblemFault> => {
  if (!Predicate.isObject(schema)) return []
  if (depth > DEEPEST) return [{ location, message: `is nested deeper than ${DEEPEST} levels` }]
  const own = Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<ProblemFault> => {
    const at = `${location}.${keyword}`
    const reason = misunderstood(keyword, value)
    if (reason !== undefined) return [{ location: at, message: reason }]
    if (keyword === "$ref" && resolveRef(root, value) === undefined) {
      return [{ location: at, message: "points to nothing inside this schema (`#/...`)" }]
    }
    if (keyword === "$id" && depth > 0) return [{ location: at, message: "may stand at the top only" }]
    return []
  })
  const inside = Object.entries(schema).flatMap(([keyword, value]): ReadonlyArray<ProblemFault> => {
    const at = `${location}.${keyword}`
    if ([...SCHEMAS, "unevaluatedItems", "contains"].includes(keyword)) return faultsOf(value, root, at, depth + 1)
    if (SCHEMA_LISTS.includes(keyword) && Array.isArray(value)) {
      return value.flatMap((child, index) => faultsOf(child, root, `${at}[${index}]`, depth + 1))
    }
    if (SCHEMA_MAPS.includes(keyword) && Predicate.isObject(value)) {
      return Object.entries(value).flatMap(([key, child]) => faultsOf(child, root, `${at}.${key}`, depth + 1))
    }
    return []
  })
  return [...own, ...inside]
}

/** What is wrong with a schema that the operator wants to register; nothing if it can be. */
export const lint = (schema: JsonObject): ReadonlyArray<ProblemFault> => {
  const location = "body.settings_schema"
  if (JSON.stringify(schema).length > LONGEST) return [{ location, message: "is larger than 64 KiB" }]
  const dialect = schema["$schema"]
  if (dialect !== undefined && dialect !== DIALECT && dialect !== `${DIALECT}#`) {
    return [{ location: `${location}.$schema`, message: `must be ${DIALECT}` }]
  }
  if (schema["type"] !== "object") return [{ location: `${location}.type`, message: 'must be "object"' }]
  if (schema["writeOnly"] === true) {
    return [{ location: `${location}.writeOnly`, message: "marks members, not the settings as a whole" }]
  }
  const faults = faultsOf(schema, schema, location, 0)
  if (faults.length > 0) return faults.slice(0, 20)
  const compiled = compile(schema)
  return "fault" in compiled
    ? [{ location, message: `is not a valid JSON Schema 2020-12: ${compiled.fault.slice(0, 200)}` }]
    : []
}
