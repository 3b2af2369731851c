/** Validates settings by their schema with ajv. Its messages state the rule, never the value. Pure. */
import { Ajv2020 } from "ajv/dist/2020.js"
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js"
import type { JsonObject } from "../Model.ts"

type Compiled = { readonly validate: ValidateFunction } | { readonly error: string }

/** A validation error: the path in the document, and the message. */
export interface SettingsError {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

const MAX_CACHED_SCHEMAS = 200
const compiledSchemas = new Map<string, Compiled>()

const compileNow = (schema: JsonObject): Compiled => {
  try {
    // Each schema gets its own instance, because two schemas may have the same `$id`.
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false })
    return { validate: ajv.compile(schema) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** Compiles a schema, with a cache. */
export const compile = (schema: JsonObject): Compiled => {
  const key = JSON.stringify(schema)
  const cached = compiledSchemas.get(key)
  if (cached !== undefined) return cached
  const compiled = compileNow(schema)
  if (compiledSchemas.size >= MAX_CACHED_SCHEMAS) compiledSchemas.clear()
  compiledSchemas.set(key, compiled)
  return compiled
}

const errorOf = (error: ErrorObject): SettingsError => {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
  const params = error.params as Record<string, unknown>
  const property = params["additionalProperty"] ?? params["unevaluatedProperty"] ?? params["missingProperty"]
  if (typeof property !== "string") return { path, message: error.message ?? "is not valid" }
  return { path: [...path, property], message: "missingProperty" in params ? "required" : "unknown property" }
}

/** Returns up to `max` validation errors of a document, or an empty list if it is valid. */
export const settingsErrors = (schema: JsonObject, document: unknown, max: number): ReadonlyArray<SettingsError> => {
  const compiled = compile(schema)
  if ("error" in compiled) return [{ path: [], message: "cannot be validated: the connector's schema is invalid" }]
  if (compiled.validate(document)) return []
  return (compiled.validate.errors ?? []).slice(0, max).map(errorOf)
}
