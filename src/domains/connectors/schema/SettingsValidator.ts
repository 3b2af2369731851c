/** Settings against their schema, by ajv. Its messages say what is due, never what was sent. Pure. */
import { Ajv2020 } from "ajv/dist/2020.js"
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js"
import type { JsonObject } from "../Model.ts"

type Compiled = { readonly validate: ValidateFunction } | { readonly fault: string }

/** A fault of a document: the way to it, and what is due there. */
export interface SchemaFault {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

const KEPT = 200
const compiledSchemas = new Map<string, Compiled>()

const compileNow = (schema: JsonObject): Compiled => {
  try {
    // An instance of its own: two schemas may carry the same `$id`.
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false })
    return { validate: ajv.compile(schema) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

/** The schema as a function, made once. */
export const compile = (schema: JsonObject): Compiled => {
  const key = JSON.stringify(schema)
  const known = compiledSchemas.get(key)
  if (known !== undefined) return known
  const compiled = compileNow(schema)
  if (compiledSchemas.size >= KEPT) compiledSchemas.clear()
  compiledSchemas.set(key, compiled)
  return compiled
}

const faultOf = (error: ErrorObject): SchemaFault => {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
  const params = error.params as Record<string, unknown>
  const member = params["additionalProperty"] ?? params["unevaluatedProperty"] ?? params["missingProperty"]
  if (typeof member !== "string") return { path, message: error.message ?? "is not valid" }
  return { path: [...path, member], message: "missingProperty" in params ? "is required" : "is not a setting" }
}

/** What is wrong with a document; nothing if it is valid. */
export const faultsOf = (schema: JsonObject, document: unknown): ReadonlyArray<SchemaFault> => {
  const compiled = compile(schema)
  if ("fault" in compiled) return [{ path: [], message: "cannot be checked: the connector's schema is broken" }]
  if (compiled.validate(document)) return []
  // Branches that do not fit only repeat what the keyword that holds them says.
  return (compiled.validate.errors ?? []).slice(0, 20).map(faultOf)
}
