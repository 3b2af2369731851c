/** Helpers that change generated OpenAPI documents, one operation at a time. Pure. */
import { Predicate } from "effect"

/** A JSON object within a document. */
export type Part = Readonly<Record<string, unknown>>

/** A function that returns the changed operation. */
export type OperationChange = (operation: Part, at: { readonly method: string; readonly path: string }) => Part

export const mapValues = (record: object, map: (value: unknown, key: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))

/** The property with this name if it is an object, else an empty object. */
export const partOf = (part: Part, name: string): Part => {
  const value = part[name]
  return Predicate.isObject(value) ? value : {}
}

/** The document with every operation changed. */
export const mapOperations = (document: Part, change: OperationChange): Part => ({
  ...document,
  paths: mapValues(partOf(document, "paths"), (methods, path) =>
    Predicate.isObject(methods)
      ? mapValues(methods, (operation, method) =>
          Predicate.isObject(operation) ? change(operation, { method, path }) : operation,
        )
      : methods,
  ),
})
