/**
 * Lets responses grow within a major version: a schema that no request contains accepts properties of later versions.
 * Requests reject unknown properties, and so do their schemas.
 */
import { mapSchemas, referencedName } from "./Components.ts"
import { isPart, mapDeep, mapOperations, partOf } from "./Parts.ts"
import type { Part } from "./Parts.ts"

const referencesIn = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(referencesIn)
  if (!isPart(value)) return []
  const name = referencedName(value)
  return [...(name === undefined ? [] : [name]), ...Object.values(value).flatMap(referencesIn)]
}

/** The components that bodies of requests contain. */
export const namesInRequests = (document: Part): ReadonlySet<string> => {
  const schemas = partOf(partOf(document, "components"), "schemas")
  const found = new Set<string>()
  const add = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    for (const next of referencesIn(schemas[name])) add(next)
  }
  mapOperations(document, (operation) => {
    for (const name of referencesIn(operation["requestBody"])) add(name)
    return operation
  })
  return found
}

const open = (schema: Part): Part =>
  mapDeep(schema, ({ additionalProperties, ...rest }) =>
    additionalProperties === undefined || additionalProperties === false ? rest : { ...rest, additionalProperties },
  )

/** The document in which only requests reject unknown properties. */
export const openResponses = (document: Part): Part => {
  const closed = namesInRequests(document)
  return mapSchemas(document, (schema, name) => (closed.has(name) ? schema : open(schema)))
}
