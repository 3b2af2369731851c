/** The JSON Schema of the file of `keyshelf apply`, for editors. */
import { Schema } from "effect"
import { CatalogFile } from "../api/CatalogFile.ts"
import { nameComponents, simplify } from "./Components.ts"
import { describeProperties, descriptionsOf } from "./Descriptions.ts"
import { isPart, mapValues } from "./Parts.ts"
import type { Part } from "./Parts.ts"

/** The schema, made from the definition that `keyshelf apply` reads the file with. */
export const catalogSchema = (): Part => {
  const { components, options } = nameComponents()
  const { definitions, schema } = Schema.toJsonSchemaDocument(CatalogFile, { ...options, onExcessProperty: "error" })
  const described = mapValues(definitions, (definition, name) =>
    isPart(definition) ? describeProperties(definition, components.get(name)?.descriptions ?? new Map()) : definition,
  )
  return simplify({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Keyshelf catalogue",
    ...describeProperties(schema, descriptionsOf(CatalogFile.ast)),
    $defs: described,
  })
}
