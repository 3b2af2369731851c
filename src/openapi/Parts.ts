/** Helpers that read and change generated OpenAPI documents. Pure. */
import { Predicate } from "effect"

/** A JSON object within a document. */
export type Part = Readonly<Record<string, unknown>>

/** A function that returns the changed operation. */
export type OperationChange = (operation: Part, at: { readonly method: string; readonly path: string }) => Part

/** Whether a value is a JSON object. */
export const isPart = (value: unknown): value is Part => Predicate.isObject(value)

export const mapValues = (record: object, map: (value: unknown, key: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))

/** The property with this name if it is an object, else an empty object. */
export const partOf = (part: Part, name: string): Part => {
  const value = part[name]
  return isPart(value) ? value : {}
}

/** The property with this name if it is an array, else an empty array. */
export const listOf = (part: Part, name: string): ReadonlyArray<unknown> => {
  const value = part[name]
  return Array.isArray(value) ? value : []
}

/** A copy in which every object is changed, from the innermost outwards. */
export const mapDeep = (part: Part, change: (part: Part) => Part): Part => {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    return isPart(value) ? change(mapValues(value, visit)) : value
  }
  return change(mapValues(part, visit))
}

/** The document with every operation changed. */
export const mapOperations = (document: Part, change: OperationChange): Part => ({
  ...document,
  paths: mapValues(partOf(document, "paths"), (methods, path) =>
    isPart(methods)
      ? mapValues(methods, (operation, method) => (isPart(operation) ? change(operation, { method, path }) : operation))
      : methods,
  ),
})

/** The operation with the schema of each body and success response changed. */
export const mapContent = (content: Part, change: (media: Part, type: string) => Part): Part =>
  mapValues(content, (media, type) => (isPart(media) ? change(media, type) : media))
