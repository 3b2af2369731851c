/**
 * Named schemas of the documents. The generator creates another copy of a schema wherever its definition is annotated
 * again, e.g. with the status of a response, and numbers the copies. A name here has one schema.
 */
import { Predicate } from "effect"
import type { SchemaAST } from "effect"
import { componentOf } from "../kernel/contract/Component.ts"
import { descriptionsOf } from "./Descriptions.ts"
import type { Descriptions } from "./Descriptions.ts"
import { isPart, mapDeep, mapValues, partOf } from "./Parts.ts"
import type { Part } from "./Parts.ts"

interface Candidate {
  readonly ast: SchemaAST.AST
  readonly identifier: string | undefined
}

/** What the definitions say of a component beside its schema. */
interface ComponentFacts {
  readonly example?: unknown
  readonly descriptions: Descriptions
}

/** The components of a document by name. */
export type Components = ReadonlyMap<string, ComponentFacts>

/** Options of the generator that name the components, and the components that it meets. For one document. */
export const nameComponents = () => {
  const components = new Map<string, ComponentFacts>()
  const referencePolicy = ({ ast, identifier }: Candidate): string | undefined => {
    const component = componentOf(ast)
    if (component !== undefined) {
      components.set(component.name, { example: component.example, descriptions: descriptionsOf(ast) })
    }
    // Problems have their code as identifier: `Customer.NotFound` is the component `CustomerNotFound`.
    return component?.name ?? identifier?.replace(/Encoded$/, "").replaceAll(".", "")
  }
  return { components, options: { referencePolicy } }
}

const PREFIX = "#/components/schemas/"

/** A reference to a component. */
export const referenceTo = (name: string): Part => ({ $ref: `${PREFIX}${name}` })

/** The name of the component that a schema references. */
export const referencedName = (schema: Part): string | undefined => {
  const reference = schema["$ref"]
  return Predicate.isString(reference) && reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : undefined
}

const nameWithoutNumber = (name: string): string => name.replace(/_\d+$/, "")

const withoutDescription = ({ description: _, ...schema }: Part): Part => schema

const shapeOf = (schema: Part): string =>
  JSON.stringify(
    mapDeep(withoutDescription(schema), (part) => {
      const name = referencedName(part)
      return name === undefined ? part : { ...part, ...referenceTo(nameWithoutNumber(name)) }
    }),
  )

const groupCopies = (schemas: Part): ReadonlyMap<string, ReadonlyArray<Part>> => {
  const copies = new Map<string, Array<Part>>()
  for (const [numbered, schema] of Object.entries(schemas)) {
    if (!isPart(schema)) continue
    const name = nameWithoutNumber(numbered)
    copies.set(name, [...(copies.get(name) ?? []), schema])
  }
  return copies
}

/** The document in which all copies of a component are one. A description that only a copy has moves to its references. */
export const mergeCopies = (document: Part): Part => {
  const schemas = partOf(partOf(document, "components"), "schemas")
  const merged = new Map<string, Part>()
  for (const [name, [first, ...others]] of groupCopies(schemas)) {
    if (first === undefined) continue
    if (others.some((other) => shapeOf(other) !== shapeOf(first))) {
      throw new Error(`Two different schemas have the component name ${name}`)
    }
    merged.set(name, [first, ...others].find((schema) => schema["description"] === undefined) ?? first)
  }
  const rewrite = (part: Part): Part => {
    const numbered = referencedName(part)
    if (numbered === undefined) return part
    const name = nameWithoutNumber(numbered)
    const description = partOf(schemas, numbered)["description"]
    const isOfName = description === undefined || merged.get(name)?.["description"] === description
    return { ...(isOfName ? {} : { description }), ...part, ...referenceTo(name) }
  }
  const names = [...merged.keys()].sort()
  return mapDeep(
    {
      ...document,
      components: {
        ...partOf(document, "components"),
        schemas: Object.fromEntries(names.map((name) => [name, merged.get(name)])),
      },
    },
    rewrite,
  )
}

const isMergeable = (schema: Part, parts: ReadonlyArray<unknown>): parts is ReadonlyArray<Part> => {
  const names = parts.flatMap((part) => (isPart(part) ? Object.keys(part) : ["$ref"]))
  return (
    !names.includes("$ref") &&
    new Set([...names, ...Object.keys(schema)]).size === names.length + Object.keys(schema).length
  )
}

const withoutAllOf = (part: Part): Part => {
  const { allOf, ...schema } = part
  return Array.isArray(allOf) && isMergeable(schema, allOf) ? Object.assign({}, schema, ...allOf) : part
}

const withoutSingleAnyOf = (part: Part): Part => {
  const { anyOf, ...schema } = part
  return Array.isArray(anyOf) && anyOf.length === 1 && isMergeable(schema, anyOf)
    ? Object.assign({}, schema, ...anyOf)
    : part
}

const isFree = (part: Part): boolean => part["type"] === "object" && !("additionalProperties" in part)

/**
 * Writes schemas so that generators understand them: `{ "type": "string", "allOf": [{ "format": "uuid" }] }` as one
 * schema, a choice of one as that one, and an object with any properties as such: generators would read it as one
 * without properties.
 */
export const simplify = (document: Part): Part =>
  mapDeep(document, (part) => {
    const schema = withoutSingleAnyOf(withoutAllOf(part))
    return isFree(schema) ? { ...schema, additionalProperties: true } : schema
  })

/** The schemas of a document by name, each changed. */
export const mapSchemas = (document: Part, change: (schema: Part, name: string) => Part): Part => ({
  ...document,
  components: {
    ...partOf(document, "components"),
    schemas: mapValues(partOf(partOf(document, "components"), "schemas"), (schema, name) =>
      isPart(schema) ? change(schema, name) : schema,
    ),
  },
})
