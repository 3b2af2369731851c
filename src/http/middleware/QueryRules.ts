/**
 * The query parameters that a request may have: those that its endpoint declares. Otherwise a misspelt filter would
 * return everything, and `DELETE ...?dryRun=true` would delete.
 */
import { SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { oncePerEndpoint } from "../../kernel/contract/Endpoint.ts"
import { MAX_ERRORS } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { UNKNOWN } from "../../kernel/contract/DecodingErrors.ts"

/** The declared parameters, and whether each may be repeated. */
type Declared = ReadonlyMap<string, boolean>

const isRepeatable = (type: SchemaAST.AST): boolean =>
  type._tag === "Arrays" || (type._tag === "Union" && type.types.some(isRepeatable))

const declaredBy = oncePerEndpoint(({ query }): Declared => {
  const encoded = query === undefined ? undefined : SchemaAST.toEncoded(query.ast)
  return encoded?._tag === "Objects"
    ? new Map(encoded.propertySignatures.map(({ name, type }) => [String(name), isRepeatable(type)]))
    : new Map()
})

const errorsOf = (endpoint: HttpApiEndpoint.Top, query: string): ReadonlyArray<ValidationError> => {
  const members = declaredBy(endpoint)
  const sent = new URLSearchParams(query)
  const errors: Array<ValidationError> = []
  for (const name of new Set(sent.keys())) {
    const location = `query.${name}`
    const repeatable = members.get(name)
    if (repeatable === undefined) errors.push({ location, message: UNKNOWN, value: sent.get(name) })
    else if (!repeatable && sent.getAll(name).length > 1) errors.push({ location, message: "must be sent only once" })
    if (errors.length === MAX_ERRORS) break
  }
  return errors
}

/** The errors of the query of this URL, at most 100. */
export const queryErrors = (endpoint: HttpApiEndpoint.Top, url: string): ReadonlyArray<ValidationError> => {
  const start = url.indexOf("?")
  return start === -1 ? [] : errorsOf(endpoint, url.slice(start + 1))
}
