/** Validates settings by their schema with ajv. Its messages state the rule, never the value. Pure. */
import { Ajv2020 } from "ajv/dist/2020.js"
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js"
import { Predicate } from "effect"
import type { JsonObject } from "../Model.ts"

type Validate = (value: unknown) => boolean

interface Validators {
  readonly validate: ValidateFunction
  /** The validator of a subschema, by its JSON pointer. */
  readonly at: (pointer: string) => Validate
}

type Compiled = Validators | { readonly error: string }

/** A validation error: the path in the document, and the message. */
export interface SettingsError {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

const MAX_CACHED_SCHEMAS = 200
const compiledSchemas = new Map<string, Compiled>()

const ROOT = "settings"

const options = { strict: false, allErrors: true, validateFormats: false, logger: false } as const

// Checks schemas by their dialect. One for all: compiling the dialect takes fifteen times as long as compiling a schema.
const dialect = new Ajv2020(options)

const compileNow = (schema: JsonObject): Compiled => {
  try {
    if (dialect.validateSchema(schema) !== true) {
      return { error: `schema is invalid: ${dialect.errorsText(dialect.errors)}` }
    }
    // Each schema gets its own instance, because two schemas may have the same `$id`.
    const ajv = new Ajv2020({ ...options, meta: false, validateSchema: false })
    const at = (pointer: string): Validate => {
      // Few documents need it. References are local, so that no subschema needs the `$id`.
      if (ajv.schemas[ROOT] === undefined) ajv.addSchema({ ...schema, $id: ROOT }, ROOT)
      const validate = ajv.getSchema(`${ROOT}#${pointer}`)
      return (value) => validate === undefined || validate(value) === true
    }
    return { validate: ajv.compile(schema), at }
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

const collectPointers = (value: unknown, pointer: string, found: Map<unknown, string>): Map<unknown, string> => {
  if (!Predicate.isObjectOrArray(value)) return found
  found.set(value, pointer)
  for (const [key, child] of Object.entries(value)) {
    const part = encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))
    collectPointers(child, `${pointer}/${part}`, found)
  }
  return found
}

/** Whether a subschema of a schema accepts a value. Other schemas, such as an older version, do not count. */
export const partValidator = (root: JsonObject): ((subschema: unknown, value: unknown) => boolean) => {
  const compiled = compile(root)
  const pointers = collectPointers(root, "", new Map())
  const validators = new Map<unknown, Validate>()
  return (subschema, value) => {
    if (Predicate.isBoolean(subschema)) return subschema
    const pointer = pointers.get(subschema)
    if (pointer === undefined || "error" in compiled) return true
    const validate = validators.get(subschema) ?? compiled.at(pointer)
    validators.set(subschema, validate)
    return validate(value)
  }
}
