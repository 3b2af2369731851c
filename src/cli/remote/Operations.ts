/** The operations of the service, as its committed OpenAPI documents describe them. */
import { Predicate, Schema } from "effect"
import { readFileSync } from "node:fs"
import { NO_BODY } from "../../../clients/typescript/src/Responses.ts"
import { packageFile } from "../../infra/PackageFiles.ts"
import { CANNOT_BE_CHANGED } from "../../kernel/contract/Rewritable.ts"

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

const ValueSchema: Schema.Codec<ValueSchema> = Schema.Struct({
  $ref: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.String),
  enum: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  format: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  anyOf: Schema.optionalKey(Schema.Array(Schema.suspend(() => ValueSchema))),
  items: Schema.optionalKey(Schema.suspend(() => ValueSchema)),
  properties: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.suspend(() => ValueSchema),
    ),
  ),
  required: Schema.optionalKey(Schema.Array(Schema.String)),
})

const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.String,
  required: Schema.optionalKey(Schema.Boolean),
  description: Schema.optionalKey(Schema.String),
  schema: ValueSchema,
})

const Document = Schema.fromJsonString(
  Schema.Struct({
    paths: Schema.Record(
      Schema.String,
      Schema.Record(
        Schema.String,
        Schema.Struct({
          operationId: Schema.String,
          summary: Schema.String,
          parameters: Schema.optionalKey(Schema.Array(Parameter)),
          requestBody: Schema.optionalKey(
            Schema.Struct({
              content: Schema.Record(Schema.String, Schema.Struct({ schema: ValueSchema })),
            }),
          ),
          responses: Schema.Record(
            Schema.String,
            Schema.Struct({ content: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) }),
          ),
        }),
      ),
    ),
    components: Schema.Struct({ schemas: Schema.Record(Schema.String, ValueSchema) }),
  }),
)

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
export interface Operation {
  readonly id: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly summary: string
  readonly pathInputs: ReadonlyArray<Input>
  readonly queryInputs: ReadonlyArray<Input>
  /** The properties of the body, without those that cannot be changed; none if the operation takes no JSON object. */
  readonly bodyInputs: ReadonlyArray<Input>
  readonly takesBody: boolean
  readonly takesIdempotencyKey: boolean
  /** What a success has: media types, or `NO_BODY`. */
  readonly promised: ReadonlyArray<string>
}

type Schemas = Readonly<Record<string, ValueSchema>>

/**
 * A schema and what it stands for: a reference for its definition, and a value or `null` for the value, because no flag has the
 * value `null`. The last one decides, the first description counts.
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

const bodyOf = (content: Readonly<Record<string, { readonly schema: ValueSchema }>>, schemas: Schemas) => {
  const schema = content["application/json"]?.schema
  if (schema === undefined) return []
  const { properties = {}, required = [] } = resolved(schema, schemas)
  return Object.entries(properties).flatMap(([name, property]): ReadonlyArray<Input> => {
    const description = descriptionOf(property, schemas)
    if (description === CANNOT_BE_CHANGED) return []
    return [{ name, notation: notationOf(property, schemas), isRequired: required.includes(name), description }]
  })
}

const promisedBy = (responses: Readonly<Record<string, { readonly content?: object }>>): ReadonlyArray<string> =>
  Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, { content = {} }]) => (Object.keys(content).length === 0 ? [NO_BODY] : Object.keys(content)))

/** The methods of operations, by their names in the documents. */
export const METHODS = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE" } as const

export const isMethod = (name: string): name is keyof typeof METHODS => Object.hasOwn(METHODS, name)

const operationsOf = (document: typeof Document.Type): ReadonlyArray<Operation> => {
  const { schemas } = document.components
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, parameters = [], requestBody, responses, summary }]) => {
      if (!isMethod(method)) return []
      const inputsIn = (place: string) =>
        parameters
          .filter((parameter) => parameter.in === place)
          .map(({ description, name, required, schema }): Input => ({
            name,
            notation: notationOf(schema, schemas),
            isRequired: required === true,
            description: description ?? descriptionOf(schema, schemas),
          }))
      return [
        {
          id: operationId,
          method: METHODS[method],
          path,
          summary,
          pathInputs: inputsIn("path"),
          queryInputs: inputsIn("query"),
          bodyInputs: requestBody === undefined ? [] : bodyOf(requestBody.content, schemas),
          takesBody: requestBody !== undefined,
          takesIdempotencyKey: parameters.some(({ name }) => name === "idempotency-key"),
          promised: promisedBy(responses),
        },
      ]
    }),
  )
}

/** Reads the operations of all APIs, by their id. */
export const readOperations = (): ReadonlyMap<string, Operation> =>
  new Map(
    ["core", "platform", "webhooks"]
      .map((api) => readFileSync(packageFile(`openapi/${api}.json`), "utf8"))
      .map((text) => Schema.decodeUnknownSync(Document)(text))
      .flatMap(operationsOf)
      .map((operation) => [operation.id, operation]),
  )
