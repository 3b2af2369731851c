/**
 * Bodies that are as they should be are decoded at once. Effect compiles schemas, but not for parsers that refuse unknown members
 * and tell all faults, as ours do: those interpret every body. So a body is decoded by the compiled schema, which overlooks unknown
 * members, and these are looked for beside it. Whatever either of the two refuses is decoded again the long way, which tells why.
 */
import { Exit, Predicate, Schema, SchemaAST, SchemaParser } from "effect"
import type { HttpApiGroup } from "effect/http-api"
import * as SchemaCompiler from "effect/schema/SchemaCompiler"

/** Whether a value has no members that its schema does not declare. It may say anything of a value that the schema refuses. */
type Knows = (value: unknown) => boolean

const always: Knows = () => true
const never: Knows = () => false

const knowsMembers = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Knows => {
  if (indexSignatures.length > 0) return never
  const members = new Map<PropertyKey, Knows>(propertySignatures.map(({ name, type }) => [name, knows(type)]))
  return (value) => {
    if (!Predicate.isObject(value)) return true
    for (const name in value) {
      const knowsMember = members.get(name)
      if (knowsMember === undefined || !knowsMember(value[name])) return false
    }
    return true
  }
}

const knowsItems = ({ elements, rest: [item, ...more] }: SchemaAST.Arrays): Knows => {
  if (item === undefined || elements.length + more.length > 0) return never
  const knowsItem = knows(item)
  return knowsItem === always ? always : (value) => !Array.isArray(value) || value.every((one) => knowsItem(one))
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

const compile = (body: Schema.Codec<unknown>): void => {
  // The same schema, but another object: the registry of parsers goes by objects. It asks for each of the two once, when it needs it.
  const schema = body.annotate({})
  SchemaCompiler.set(body.ast, {
    get decode(): SchemaCompiler.Decode {
      const isKnown = knows(SchemaAST.toEncoded(body.ast))
      const decode = SchemaParser.decodeUnknownExit(schema)
      return (sent, options) => {
        if (options.onExcessProperty !== "error" || !isKnown(sent)) return SchemaCompiler.invalid
        const exit = decode(sent)
        return Exit.isSuccess(exit) ? exit.value : SchemaCompiler.invalid
      }
    },
    get decodeEffect(): SchemaCompiler.DecodeEffect {
      return SchemaParser.decodeUnknownEffect(schema)
    },
  })
}

const compiled = new WeakSet<SchemaAST.AST>()

/** Compiles the JSON bodies of a group, each once. Call it before the group's handlers are built. */
export const compileBodies = (group: HttpApiGroup.Top): void => {
  for (const endpoint of Object.values(group.endpoints)) {
    for (const { encoding, schemas } of endpoint.payload.values()) {
      if (encoding._tag !== "Json") continue
      for (const schema of schemas) {
        if (compiled.has(schema.ast)) continue
        compiled.add(schema.ast)
        compile(schema as Schema.Codec<unknown>)
      }
    }
  }
}
