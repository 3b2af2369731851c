/**
 * Bodies that are as they should be are decoded at once. Effect compiles schemas, but not for parsers that refuse unknown members
 * and tell all faults, as ours do: those interpret every body. So a body is decoded by the compiled schema, which overlooks unknown
 * members, and these are looked for beside it. Whatever either of the two refuses is decoded again the long way, which tells why.
 */
import { Exit, Schema, SchemaAST, SchemaParser } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import * as SchemaCompiler from "effect/schema/SchemaCompiler"

/** Whether a value has no members that its schema does not declare. It may say anything of a value that the schema refuses. */
type Knows = (value: unknown) => boolean

const always: Knows = () => true
const never: Knows = () => false

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const knowsMembers = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Knows => {
  // Of free objects every member is declared.
  if (indexSignatures.length > 0) {
    const areFree = indexSignatures.every(
      ({ parameter, type }) => SchemaAST.isString(parameter) && knows(type) === always,
    )
    return areFree && propertySignatures.length === 0 ? always : never
  }
  const members = new Map(propertySignatures.map(({ name, type }) => [name, knows(type)]))
  return (value) => {
    if (!isObject(value)) return true
    for (const name in value) {
      const knowsMember = members.get(name)
      if (knowsMember === undefined || !knowsMember(value[name])) return false
    }
    return true
  }
}

const knowsItems = ({ elements, rest }: SchemaAST.Arrays): Knows => {
  const every = [...elements, ...rest].map(knows)
  if (every.every((knowsItem) => knowsItem === always)) return always
  const [knowsItem = never] = every
  return every.length === 1 && rest.length === 1
    ? (value) => !Array.isArray(value) || value.every((item) => knowsItem(item))
    : never
}

/** By what is sent, not by what it is decoded to. Where that cannot be said without decoding, nothing is known. */
const knows = (ast: SchemaAST.AST): Knows => {
  switch (ast._tag) {
    case "Objects":
      return knowsMembers(ast)
    case "Arrays":
      return knowsItems(ast)
    case "Union":
      return ast.types.every((type) => knows(type) === always) ? always : never
    case "Declaration":
    case "Suspend":
      return never
    default:
      return always
  }
}

const install = (body: Schema.Codec<unknown>): void => {
  // The same schema, but another object: the registry of parsers goes by objects.
  const schema = body.annotate({})
  const decode = SchemaParser.decodeUnknownExit(schema)
  let isKnown: Knows | undefined
  SchemaCompiler.set(body.ast, {
    decode: (sent, options) => {
      isKnown ??= knows(SchemaAST.toEncoded(body.ast))
      if (options.onExcessProperty !== "error" || !isKnown(sent)) return SchemaCompiler.invalid
      const exit = decode(sent)
      return Exit.isSuccess(exit) ? exit.value : SchemaCompiler.invalid
    },
    decodeEffect: SchemaParser.decodeUnknownEffect(schema),
  })
}

/** The JSON bodies that an API takes, as they are sent. */
export const bodiesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): ReadonlyArray<{ readonly endpoint: string; readonly body: Schema.Codec<unknown> }> => {
  const bodies: Array<{ readonly endpoint: string; readonly body: Schema.Codec<unknown> }> = []
  HttpApi.reflect(api as unknown as HttpApi.HttpApi<string, HttpApiGroup.Top>, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      for (const { encoding, schemas } of endpoint.payload.values()) {
        if (encoding._tag !== "Json") continue
        for (const schema of schemas) {
          bodies.push({ endpoint: `${group.identifier}.${endpoint.identifier}`, body: schema as Schema.Codec<unknown> })
        }
      }
    },
  })
  return bodies
}

/** Has the bodies of an API decoded so. To be called before its handlers are built. */
export const decodeAtOnce = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): void => {
  for (const { body } of bodiesOf(api)) install(body)
}
