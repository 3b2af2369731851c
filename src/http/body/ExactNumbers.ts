/**
 * The numbers of a body have at most 18 digits, and whole numbers are whole. `JSON.parse` cannot say so: it rounds
 * `1.00000000000000000001` to 1 and `1e-400` to 0 before a schema sees them. So the text decides, once for all
 * operations. Objects of any shape, such as `metadata`, keep JavaScript numbers.
 */
import { Predicate, SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { errorsOf } from "../../kernel/contract/DecodingErrors.ts"
import type { Located } from "../../kernel/contract/DecodingErrors.ts"
import { oncePerEndpoint } from "../../kernel/contract/Endpoint.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import {
  decimalOfAmount,
  isAmount,
  isStorable,
  isWhole,
  mayLoseDigits,
  parseJson,
} from "../../kernel/values/Decimal.ts"

type Path = Located["path"]

/** The errors of a value where a schema has numbers. */
type Inspect = (value: unknown, path: Path) => ReadonlyArray<Located>

const isInteger = ({ checks }: SchemaAST.Number): boolean =>
  checks?.some(({ annotations }) => {
    const representation = annotations?.["representation"]
    return Predicate.hasProperty(representation, "id") && representation.id === "effect/schema/isInt"
  }) ?? false

const inspectNumber = (ast: SchemaAST.Number): Inspect => {
  const mustBeWhole = isInteger(ast)
  return (value, path) => {
    if (!isAmount(value)) return []
    const decimal = decimalOfAmount(value)
    if (!isStorable(decimal)) return [{ path, message: "must have at most 18 digits" }]
    return mustBeWhole && !isWhole(decimal) ? [{ path, message: "must be an integer" }] : []
  }
}

const inspectObject = ({ propertySignatures }: SchemaAST.Objects): Inspect | undefined => {
  const properties = propertySignatures.flatMap(({ name, type }) => {
    const inspect = inspectorOf(type)
    return inspect === undefined ? [] : [[name, inspect] as const]
  })
  if (properties.length === 0) return undefined
  return (value, path) =>
    Predicate.isObject(value)
      ? properties.flatMap(([name, inspect]) =>
          Object.hasOwn(value, name) ? inspect(Reflect.get(value, name), [...path, name]) : [],
        )
      : []
}

const inspectArray = ({ rest: [element] }: SchemaAST.Arrays): Inspect | undefined => {
  const inspect = element === undefined ? undefined : inspectorOf(element)
  if (inspect === undefined) return undefined
  return (value, path) =>
    Array.isArray(value) ? value.flatMap((item: unknown, index) => inspect(item, [...path, index])) : []
}

const inspectUnion = ({ types }: SchemaAST.Union): Inspect | undefined => {
  const members = types.flatMap((type) => inspectorOf(type) ?? [])
  if (members.length === 0) return undefined
  // Several properties may have the same number.
  return (value, path) => members.map((inspect) => inspect(value, path)).find((found) => found.length > 0) ?? []
}

/** `undefined` for a schema without numbers. */
const inspectorOf = (ast: SchemaAST.AST): Inspect | undefined => {
  switch (ast._tag) {
    case "Number":
      return inspectNumber(ast)
    case "Objects":
      return inspectObject(ast)
    case "Arrays":
      return inspectArray(ast)
    case "Union":
      return inspectUnion(ast)
    default:
      return undefined
  }
}

const inspectorsOf = oncePerEndpoint(({ payload }) =>
  Array.from(payload.values()).flatMap(({ schemas }) => schemas.flatMap(({ ast }) => inspectorOf(ast) ?? [])),
)

/** Whether the bodies of an endpoint have numbers outside of free-form objects. */
export const hasNumbers = (endpoint: HttpApiEndpoint.Top): boolean => inspectorsOf(endpoint).length > 0

/** What is wrong with the numbers of a body. A text that is not JSON has no such errors. */
export const numberErrors = (endpoint: HttpApiEndpoint.Top, text: string): ReadonlyArray<ValidationError> => {
  if (!mayLoseDigits(text)) return []
  const body = parsed(text)
  const found = inspectorsOf(endpoint)
    .map((inspect) => inspect(body, []))
    .find((errors) => errors.length > 0)
  return found === undefined ? [] : errorsOf(found, "body", body)
}

const parsed = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
