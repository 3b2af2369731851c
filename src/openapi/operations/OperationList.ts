/**
 * The operations of all APIs in one list, `openapi/operations.json`. The remote commands, the tools of assistants and
 * the tables of pages are made from it, so that none of them parses OpenAPI documents.
 */
import { Predicate, Schema } from "effect"
import { NO_BODY } from "../../../clients/typescript/src/Responses.ts"
import { CANNOT_BE_CHANGED } from "../../kernel/contract/Rewritable.ts"
import { isPart, listOf, mapValues, partOf } from "../Parts.ts"
import type { Part } from "../Parts.ts"

/** The methods of operations, by their names in the documents. */
const METHODS = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE" } as const

const isMethod = (name: string): name is keyof typeof METHODS => Object.hasOwn(METHODS, name)

/** A JSON Schema. References lead into `$defs` of the list. */
const JsonSchema = Schema.Record(Schema.String, Schema.Json)

/** A value of the path or the query. */
const Parameter = Schema.Struct({ name: Schema.String, isRequired: Schema.Boolean, schema: JsonSchema })

/** An operation, and what a request of it consists of. */
export const Operation = Schema.Struct({
  id: Schema.String,
  /** The API that has it: `core`, `platform` or `webhooks`. */
  api: Schema.String,
  method: Schema.Literals(Object.values(METHODS)),
  /** The path with parameters in braces. */
  path: Schema.String,
  summary: Schema.String,
  description: Schema.String,
  /** Alternative scopes: a credential needs one of them. None if any credential is accepted. */
  scopes: Schema.Array(Schema.String),
  pathParameters: Schema.Array(Parameter),
  queryParameters: Schema.Array(Parameter),
  /** Whether it has a dry run. */
  hasDryRun: Schema.Boolean,
  takesIdempotencyKey: Schema.Boolean,
  /** The body; `null` if it has none. `schema` is `null` if the body is not JSON. Properties that cannot be changed are left out. */
  body: Schema.NullOr(
    Schema.Struct({
      isRequired: Schema.Boolean,
      schema: Schema.NullOr(JsonSchema),
      example: Schema.optionalKey(Schema.Json),
    }),
  ),
  /** The content of a success: media types, or `NO_BODY`. */
  promised: Schema.Array(Schema.String),
})
export type Operation = typeof Operation.Type

/** All operations, in the order of the reference, and the schemas that theirs refer to. */
export const OperationList = Schema.Struct({ operations: Schema.Array(Operation), $defs: JsonSchema })
export type OperationList = typeof OperationList.Type

const COMPONENTS = "#/components/schemas/"

const isFixed = (value: unknown): boolean =>
  Predicate.hasProperty(value, "description") && value.description === CANNOT_BE_CHANGED

/** Leaves out properties that a body may only repeat, and lets references lead into `$defs`. */
const relocated = (schema: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schema, (_, value) => (isFixed(value) ? undefined : value)).replaceAll(
      `"${COMPONENTS}`,
      '"#/$defs/',
    ),
  )

const parametersOf = (operation: Part, place: string) =>
  listOf(operation, "parameters").flatMap((parameter) => {
    if (!isPart(parameter) || parameter["in"] !== place) return []
    const { description, name, required } = parameter
    const schema = partOf(parameter, "schema")
    return [
      {
        name,
        isRequired: required === true,
        schema: relocated(description === undefined ? schema : { ...schema, description }),
      },
    ]
  })

const bodyOf = ({ requestBody }: Part) => {
  if (!isPart(requestBody)) return null
  const { example, schema = null } = partOf(partOf(requestBody, "content"), "application/json")
  return {
    isRequired: requestBody["required"] === true,
    schema: schema === null ? null : relocated(schema),
    ...(example === undefined ? {} : { example }),
  }
}

const promisedBy = (responses: Part): ReadonlyArray<string> =>
  Object.keys(responses)
    .filter((status) => status.startsWith("2"))
    .flatMap((status) => {
      const types = Object.keys(partOf(partOf(responses, status), "content"))
      return types.length === 0 ? [NO_BODY] : types
    })

const scopesOf = (operation: Part) =>
  listOf(operation, "security").flatMap((requirement) => Object.values(requirement as object).flat())

const operationsOf = (api: string, document: Part) =>
  Object.entries(partOf(document, "paths")).flatMap(([path, methods]) =>
    Object.entries(methods as Part).flatMap(([method, operation]) => {
      if (!isMethod(method) || !isPart(operation)) return []
      const queryParameters = parametersOf(operation, "query")
      return [
        {
          id: operation["operationId"],
          api,
          method: METHODS[method],
          path,
          summary: operation["summary"],
          description: operation["description"] ?? "",
          scopes: scopesOf(operation),
          pathParameters: parametersOf(operation, "path"),
          queryParameters,
          hasDryRun: queryParameters.some(({ name }) => name === "dryRun"),
          takesIdempotencyKey: parametersOf(operation, "header").some(({ name }) => name === "idempotency-key"),
          body: bodyOf(operation),
          promised: promisedBy(partOf(operation, "responses")),
        },
      ]
    }),
  )

/** The names of the definitions that a schema refers to. */
const namesIn = (schema: unknown): ReadonlyArray<string> =>
  Array.from(JSON.stringify(schema).matchAll(/"#\/\$defs\/([^"]+)"/g), ([, name]) => name ?? "")

/** The definitions that a schema needs, directly or by others. */
export const definitionsFor = <A>(schema: unknown, all: Readonly<Record<string, A>>): Readonly<Record<string, A>> => {
  const found = new Map<string, A>()
  const pending = [...namesIn(schema)]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const definition = all[name]
    if (definition === undefined || found.has(name)) continue
    found.set(name, definition)
    pending.push(...namesIn(definition))
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Makes the list of these documents, by the names of their APIs. */
export const operationList = (documents: Readonly<Record<string, Part>>): OperationList => {
  const operations: Array<unknown> = []
  const $defs: Record<string, unknown> = {}
  for (const [api, document] of Object.entries(documents)) {
    const own = operationsOf(api, document)
    const schemas = mapValues(partOf(partOf(document, "components"), "schemas"), relocated)
    for (const [name, schema] of Object.entries(definitionsFor(own, schemas))) {
      if (name in $defs && JSON.stringify($defs[name]) !== JSON.stringify(schema)) {
        throw new Error(`Requests of two APIs have different schemas of the name ${name}`)
      }
      $defs[name] = schema
    }
    operations.push(...own)
  }
  return Schema.decodeUnknownSync(OperationList)({ operations, $defs })
}
