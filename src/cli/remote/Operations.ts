/** The operations of the service as command lines write them. */
import { Option, Predicate, Schema } from "effect"
import { readFileSync } from "node:fs"
import { packageFile } from "../../infra/PackageFiles.ts"
import { OperationList } from "../../openapi/operations/OperationList.ts"
import type { Operation as ListedOperation } from "../../openapi/operations/OperationList.ts"

/** The part of a JSON Schema that decides how a value is written on a command line. */
interface ValueSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly format?: string
  readonly description?: string
  readonly anyOf?: ReadonlyArray<ValueSchema>
  readonly items?: ValueSchema
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly required?: ReadonlyArray<string>
}

/** How a value is written: as text, a number, a switch, one of some words, several texts, or JSON. */
type Notation =
  | { readonly kind: "text" | "instant" | "number" | "switch" | "texts" | "json" }
  | { readonly kind: "words"; readonly words: ReadonlyArray<string> }

/** A value of a request: a parameter, or a property of its body. */
export interface Input {
  readonly name: string
  readonly notation: Notation
  readonly isRequired: boolean
  readonly description: string | undefined
}

/** A request that the service knows. */
export interface Operation extends ListedOperation {
  readonly pathInputs: ReadonlyArray<Input>
  readonly queryInputs: ReadonlyArray<Input>
  /** The properties of the body; none if the operation takes no JSON object. */
  readonly bodyInputs: ReadonlyArray<Input>
}

type Schemas = Readonly<Record<string, ValueSchema>>

/**
 * A schema and the schemas that it resolves to: a reference to its definition, and a nullable value to the value,
 * because no flag has the value `null`. The last one determines the type; the first description is used.
 */
const chainOf = (schema: ValueSchema, schemas: Schemas): ReadonlyArray<ValueSchema> => {
  const { $ref, anyOf = [] } = schema
  const [only, ...others] =
    $ref === undefined
      ? anyOf.filter(({ type }) => type !== "null")
      : [schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}]
  return only === undefined || others.length > 0 ? [schema] : [schema, ...chainOf(only, schemas)]
}

const resolved = (schema: ValueSchema, schemas: Schemas): ValueSchema => chainOf(schema, schemas).at(-1) ?? schema

const descriptionOf = (schema: ValueSchema, schemas: Schemas): string | undefined =>
  chainOf(schema, schemas).find(({ description }) => description !== undefined)?.description

const notationOf = (schema: ValueSchema, schemas: Schemas): Notation => {
  const { enum: words, format, items, type } = resolved(schema, schemas)
  if (type === "string" && words?.every(Predicate.isString) === true) return { kind: "words", words }
  if (type === "string") return { kind: format === "date-time" ? "instant" : "text" }
  if (type === "number" || type === "integer") return { kind: "number" }
  if (type === "boolean") return { kind: "switch" }
  if (type === "array" && items !== undefined && resolved(items, schemas).type === "string") return { kind: "texts" }
  return { kind: "json" }
}

const inputOf = (name: string, schema: ValueSchema, isRequired: boolean, schemas: Schemas): Input => ({
  name,
  notation: notationOf(schema, schemas),
  isRequired,
  description: descriptionOf(schema, schemas),
})

const bodyInputsOf = (schema: ValueSchema, schemas: Schemas): ReadonlyArray<Input> => {
  const { properties = {}, required = [] } = resolved(schema, schemas)
  return Object.entries(properties).map(([name, property]) => inputOf(name, property, required.includes(name), schemas))
}

/** Reads `openapi/operations.json`. */
export const readOperationList = (): OperationList =>
  Schema.decodeUnknownSync(Schema.fromJsonString(OperationList))(
    readFileSync(packageFile("openapi/operations.json"), "utf8"),
  )

/** Reads the operations of all APIs, by their id. */
export const readOperations = (): ReadonlyMap<string, Operation> => {
  const { $defs, operations } = readOperationList()
  // JSON Schemas. A keyword of an unexpected type would be a bug of the generator.
  const schemas = $defs as unknown as Schemas
  const inputsOf = (parameters: ListedOperation["pathParameters"]) =>
    parameters.map(({ isRequired, name, schema }) => inputOf(name, schema as ValueSchema, isRequired, schemas))
  return new Map(
    operations.map((operation) => [
      operation.id,
      {
        ...operation,
        pathInputs: inputsOf(operation.pathParameters),
        queryInputs: inputsOf(operation.queryParameters),
        bodyInputs: Option.match(Option.fromNullishOr(operation.body?.schema), {
          onNone: () => [],
          onSome: (schema) => bodyInputsOf(schema as ValueSchema, schemas),
        }),
      },
    ]),
  )
}
