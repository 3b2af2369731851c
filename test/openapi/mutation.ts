/** A change of a document of the API, and its parts. */
import { mapDeep } from "../../src/openapi/Parts.ts"
import type { Part } from "../../src/openapi/Parts.ts"
import type { Schema } from "../support/schemas.ts"
import type { apis } from "./releasedDocuments.ts"

/** A change of one document. `noticed` is the beginning of what the comparison says, `undefined` if the change is accepted. */
export interface Mutant {
  readonly name: string
  readonly api: (typeof apis)[number]
  readonly change: (document: Schema) => void
  readonly noticed?: string
}

/** A component of a document. */
export const schema = (document: Schema, name: string): Schema => document.components.schemas[name]

/** A property of a component. */
export const property = (document: Schema, component: string, name: string): Schema =>
  schema(document, component).properties[name]

/** A parameter of an operation. */
export const parameter = (operation: Schema, name: string): Schema =>
  operation.parameters.find((each: Schema) => each.name === name)

/** Removes a value that must be in the list. */
export const without = (values: Array<unknown>, value: unknown): void => {
  const index = values.indexOf(value)
  if (index === -1) throw new Error(`There is no ${String(value)}`)
  values.splice(index, 1)
}

/** Makes a required property of a component optional. */
export const optional = (document: Schema, component: string, name: string): void =>
  without(schema(document, component).required, name)

/** Lets a property of a component be null, too. */
export const orNull = (document: Schema, component: string, name: string): void => {
  const was = property(document, component, name)
  schema(document, component).properties[name] = { anyOf: [was, { type: "null" }] }
}

export const CUSTOMERS = "/api/customers"
export const CUSTOMER = "/api/customers/{customerSlug}"

/** A copy of the document with the change. */
export const changed = (document: Part, { change }: Mutant): Part => {
  const copy = mapDeep(document, (part) => part)
  change(copy)
  return copy
}
