/** Changes to generated OpenAPI documents, operation by operation. Pure. */
import { Predicate } from "effect"

/** A part of a document: JSON. */
export type Part = Readonly<Record<string, unknown>>

/** An operation of a document as it shall stand there. */
export type OperationChange = (operation: Part, at: { readonly method: string; readonly path: string }) => Part

export const mapValues = (record: object, map: (value: unknown, key: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))

/** A member that is an object, or an empty one. */
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
