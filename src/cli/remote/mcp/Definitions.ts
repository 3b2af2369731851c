/** What the tools of assistants are made from: the operations of the Core API, with their scopes and the JSON Schema of their input. */
import { Predicate, Schema } from "effect"
import { readFileSync } from "node:fs"
import { packageFile } from "../../../infra/PackageFiles.ts"
import { CANNOT_BE_CHANGED } from "../../../kernel/contract/Rewritable.ts"
import { isMethod, METHODS } from "../Operations.ts"
import type { Operation } from "../Operations.ts"

const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.String,
  required: Schema.optionalKey(Schema.Boolean),
  description: Schema.optionalKey(Schema.String),
  schema: Schema.Record(Schema.String, Schema.Json),
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
          description: Schema.optionalKey(Schema.String),
          security: Schema.optionalKey(Schema.Array(Schema.Record(Schema.String, Schema.Array(Schema.String)))),
          parameters: Schema.optionalKey(Schema.Array(Parameter)),
          requestBody: Schema.optionalKey(
            Schema.Struct({
              required: Schema.optionalKey(Schema.Boolean),
              content: Schema.Record(Schema.String, Schema.Struct({ schema: Schema.Json })),
            }),
          ),
        }),
      ),
    ),
    components: Schema.Struct({ schemas: Schema.Record(Schema.String, Schema.Json) }),
  }),
)

type Operations = (typeof Document.Type)["paths"][string]
type Described = Operations[string]
type Schemas = (typeof Document.Type)["components"]["schemas"]

/** The arguments of a tool as JSON Schema. Parameters of the path and the query are properties beside `body`. */
interface InputSchema {
  readonly type: "object"
  readonly properties: Schema.JsonObject
  readonly required: ReadonlyArray<string>
  readonly additionalProperties: false
  readonly $defs?: Schemas
  readonly [key: string]: unknown
}

/** An operation as the source of a tool. */
export interface Definition {
  readonly id: string
  readonly method: Operation["method"]
  readonly path: string
  readonly summary: string
  readonly description: string
  /** The scopes that the operation needs, each of them. */
  readonly scopes: ReadonlyArray<string>
  readonly pathNames: ReadonlyArray<string>
  readonly queryNames: ReadonlyArray<string>
  readonly takesBody: boolean
  readonly takesIdempotencyKey: boolean
  /** Whether the operation declares `dryRun`. */
  readonly hasDryRun: boolean
  readonly input: InputSchema
}

const COMPONENTS = "#/components/schemas/"

/** The names of the components that a schema refers to. */
const namesIn = (schema: unknown): ReadonlyArray<string> => {
  if (Array.isArray(schema)) return schema.flatMap(namesIn)
  if (!Predicate.isObject(schema)) return []
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "$ref" && Predicate.isString(value) ? [value.slice(COMPONENTS.length)] : namesIn(value),
  )
}

/** The components that a schema needs, directly or by others. */
const componentsOf = (schema: unknown, schemas: Schemas): Schemas => {
  const found = new Map<string, Schema.Json>()
  const pending = [...namesIn(schema)]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const component = schemas[name]
    if (component === undefined || found.has(name)) continue
    found.set(name, component)
    pending.push(...namesIn(component))
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const isFixed = (value: unknown): boolean =>
  Predicate.hasProperty(value, "description") && value.description === CANNOT_BE_CHANGED

/** Lets references lead into the tool's own schema, and leaves out properties that a body may only repeat. */
const relocated = <A>(schema: A): A =>
  JSON.parse(
    JSON.stringify(schema, (_, value) => (isFixed(value) ? undefined : value)).replaceAll(
      `"${COMPONENTS}`,
      '"#/$defs/',
    ),
  )

const inputOf = ({ parameters = [], requestBody }: Described, schemas: Schemas): InputSchema => {
  const arguments_ = parameters.filter(
    ({ in: place, name }) => place === "path" || (place === "query" && name !== "dryRun"),
  )
  const body = requestBody?.content["application/json"]?.schema
  const properties: Schema.JsonObject = {
    ...Object.fromEntries(
      arguments_.map(({ description, name, schema }) => [
        name,
        description === undefined ? schema : { ...schema, description },
      ]),
    ),
    ...(body === undefined ? {} : { body }),
  }
  const required = arguments_.flatMap((parameter) => (parameter.required === true ? [parameter.name] : []))
  const $defs = componentsOf(properties, schemas)
  return relocated({
    type: "object",
    properties,
    required: body !== undefined && requestBody?.required === true ? [...required, "body"] : required,
    additionalProperties: false,
    ...(Object.keys($defs).length === 0 ? {} : { $defs }),
  } satisfies InputSchema)
}

const namesOf = ({ parameters = [] }: Described, place: string): ReadonlyArray<string> =>
  parameters.flatMap((parameter) => (parameter.in === place ? [parameter.name] : []))

/** Reads the definitions of the Core API, in the order of the reference. */
export const readDefinitions = (): ReadonlyArray<Definition> => {
  const { components, paths } = Schema.decodeUnknownSync(Document)(
    readFileSync(packageFile("openapi/core.json"), "utf8"),
  )
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]): ReadonlyArray<Definition> => {
      if (!isMethod(method)) return []
      const queryNames = namesOf(operation, "query")
      return [
        {
          id: operation.operationId,
          method: METHODS[method],
          path,
          summary: operation.summary,
          description: operation.description ?? "",
          scopes: operation.security?.flatMap((requirement) => Object.values(requirement).flat()) ?? [],
          pathNames: namesOf(operation, "path"),
          queryNames: queryNames.filter((name) => name !== "dryRun"),
          takesBody: operation.requestBody !== undefined,
          takesIdempotencyKey: namesOf(operation, "header").includes("idempotency-key"),
          hasDryRun: queryNames.includes("dryRun"),
          input: inputOf(operation, components.schemas),
        },
      ]
    }),
  )
}
