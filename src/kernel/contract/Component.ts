/**
 * Names of schemas in the OpenAPI documents, so that generated clients have types that people recognise, and examples
 * of their values.
 */
import { Predicate } from "effect"
import type { Schema } from "effect"

/** The annotation with the {@link Component} of a schema. Effect's `identifier` would also name it in error messages. */
const COMPONENT = "keyshelfComponent"

/** A named schema of the documents. */
interface Component {
  readonly name: string
  /**
   * An example as JSON. Of a record, only the properties whose examples do not follow from their schemas: ids, times,
   * enums and other components need none. Optional properties are shown if they are listed here.
   */
  readonly example?: unknown
}

/** Annotates a schema as a component: `Schema.Struct({ ... }).annotate(component("Customer", { name: "Globex" }))`. */
export const component = (name: string, example?: unknown): { readonly [COMPONENT]: Component } => ({
  [COMPONENT]: { name, ...(example === undefined ? {} : { example }) },
})

const isComponent = (value: unknown): value is Component => Predicate.hasProperty(value, "name")

type Annotated = Pick<Schema.Top["ast"], "annotations" | "checks">

/** The component that a schema is annotated as. The annotations of a schema with checks are those of its last check. */
export const componentOf = ({ annotations, checks }: Annotated): Component | undefined => {
  const value = (checks === undefined ? annotations : checks[checks.length - 1]?.annotations)?.[COMPONENT]
  return isComponent(value) ? value : undefined
}
