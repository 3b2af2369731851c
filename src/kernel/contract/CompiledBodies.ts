/**
 * Decodes valid bodies with compiled schemas. Effect does not compile parsers that reject unknown properties and report
 * all errors, which ours do; it interprets them, which is slow. So the compiled schema, which ignores unknown
 * properties, decodes the body, and a separate check finds unknown properties. If either rejects the body, the
 * interpreter decodes it again to collect the errors.
 */
import { Exit, Predicate, Schema, SchemaAST, SchemaParser } from "effect"
import type { HttpApiGroup } from "effect/http-api"
import * as SchemaCompiler from "effect/schema/SchemaCompiler"

/** Whether a value has only declared properties. The result is undefined for a value that the schema rejects. */
type HasOnlyKnown = (value: unknown) => boolean

const always: HasOnlyKnown = () => true
const never: HasOnlyKnown = () => false

const checkProperties = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): HasOnlyKnown => {
  if (indexSignatures.length > 0) return never
  const properties = new Map<PropertyKey, HasOnlyKnown>(
    propertySignatures.map(({ name, type }) => [name, checkFor(type)]),
  )
  return (value) => {
    if (!Predicate.isObject(value)) return true
    for (const name in value) {
      const check = properties.get(name)
      if (check === undefined || !check(value[name])) return false
    }
    return true
  }
}

const checkItems = ({ elements, rest: [element, ...more] }: SchemaAST.Arrays): HasOnlyKnown => {
  if (element === undefined || elements.length + more.length > 0) return never
  const checkItem = checkFor(element)
  return checkItem === always ? always : (value) => !Array.isArray(value) || value.every((item) => checkItem(item))
}

/** Builds the check for an encoded schema. Returns `never` where the check would need to decode the value. */
const checkFor = (ast: SchemaAST.AST): HasOnlyKnown => {
  switch (ast._tag) {
    case "Objects":
      return checkProperties(ast)
    case "Arrays":
      return checkItems(ast)
    case "Union":
      return ast.types.every((type) => checkFor(type) === always) ? always : never
    case "Declaration":
    case "Suspend":
      return never
    default:
      return always
  }
}

const install = (body: Schema.Codec<unknown>): void => {
  // Copies the schema, because the registry of parsers is keyed by object identity. The registry reads each getter
  // once, on first use.
  const schema = body.annotate({})
  SchemaCompiler.set(body.ast, {
    get decode(): SchemaCompiler.Decode {
      const hasOnlyKnown = checkFor(SchemaAST.toEncoded(body.ast))
      const decode = SchemaParser.decodeUnknownExit(schema)
      return (sent, options) => {
        if (options.onExcessProperty !== "error" || !hasOnlyKnown(sent)) return SchemaCompiler.invalid
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

/** Installs compiled decoders for the JSON bodies of a group, each once. Call it before the group's handlers are built. */
export const compileBodies = (group: HttpApiGroup.Top): void => {
  for (const endpoint of Object.values(group.endpoints)) {
    for (const { encoding, schemas } of endpoint.payload.values()) {
      if (encoding._tag !== "Json") continue
      for (const schema of schemas) {
        if (compiled.has(schema.ast)) continue
        compiled.add(schema.ast)
        install(schema as Schema.Codec<unknown>)
      }
    }
  }
}
