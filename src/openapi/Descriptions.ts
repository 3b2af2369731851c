/**
 * Descriptions of properties, read from the definitions. The generator describes encoded values. It loses the
 * description of a decoded one (a time, a number in a query), and of one with a check that JSON Schema cannot express.
 */
import { Predicate, SchemaAST } from "effect"
import { isPart, mapValues, partOf } from "./Parts.ts"
import type { Part } from "./Parts.ts"

/** Descriptions by the name of the property. */
export type Descriptions = ReadonlyMap<string, string>

const descriptionOf = (ast: SchemaAST.AST): string | undefined => {
  const own = SchemaAST.resolveDescription(ast)
  if (own !== undefined || !SchemaAST.isUnion(ast)) return own
  const [alternative, ...others] = ast.types.filter((type) => !SchemaAST.isNull(type))
  return alternative === undefined || others.length > 0 ? undefined : descriptionOf(alternative)
}

/** The descriptions of an object's properties. */
export const descriptionsOf = (ast: SchemaAST.AST): Descriptions =>
  new Map(
    SchemaAST.isObjects(ast)
      ? ast.propertySignatures.flatMap(({ name, type }) => {
          const description = descriptionOf(type)
          return description === undefined || !Predicate.isString(name) ? [] : [[name, description] as const]
        })
      : [],
  )

/** The schema with the descriptions that the generator lost. */
export const describeProperties = (schema: Part, descriptions: Descriptions): Part =>
  "properties" in schema
    ? {
        ...schema,
        properties: mapValues(partOf(schema, "properties"), (property, name) => {
          const description = descriptions.get(name)
          const isLost = description !== undefined && !JSON.stringify(property).includes(JSON.stringify(description))
          return isLost && isPart(property) ? { ...property, description } : property
        }),
      }
    : schema
