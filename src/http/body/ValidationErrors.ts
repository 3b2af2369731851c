/** Turns the issues of a decoder into validation errors with their locations (contract, section 3). */
import { Exit, Option, Predicate, Schema, SchemaIssue } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { oncePerEndpoint } from "../../kernel/contract/Endpoint.ts"
import { MAX_ERRORS } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { isShort } from "./Excerpt.ts"
import type { Excerpt } from "./Excerpt.ts"

const MAX_ECHO_LENGTH = 1024
/** The message of a property or query member that is not declared. */
export const UNKNOWN = "unknown property"

const NOUNS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
}

const LITERAL = /^("|\d|null$)/

const partInWords = (part: string): string =>
  NOUNS[part] ?? (part.startsWith("{") ? "an object" : part.replace(/^a value (?=between|greater|less)/, ""))

/** What a schema expects, as words: `"A" | "B" | "C"` becomes `one of "A", "B", "C"`. */
const inWords = (expected: string): string => {
  const parts = expected.split(" | ").map(partInWords)
  return parts.length > 2 && parts.every((part) => LITERAL.test(part))
    ? `one of ${parts.join(", ")}`
    : parts.join(" or ")
}

// Effect's own messages begin with "Expected".
const inPlainWords = (message: string): string => {
  const expected = /^Expected (.*)$/s.exec(message)?.[1]
  return expected === undefined ? message : `must be ${inWords(expected)}`
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "UnexpectedKey") return UNKNOWN
    return issue._tag === "MissingKey" ? "required" : SchemaIssue.defaultLeafHook(issue)
  },
})

type Path = ReadonlyArray<PropertyKey>

interface Located {
  readonly path: Path
  readonly message: string
}

const locationOf = (part: string, path: Path): string =>
  path.reduce<string>(
    (location, key) => (Predicate.isNumber(key) ? `${location}[${key}]` : `${location}.${String(key)}`),
    part,
  )

const valueAt = (input: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      Predicate.isObjectOrArray(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined,
    input,
  )

// Omits large values. Echoing them would let a caller provoke responses as large as the request.
const echo = (value: unknown): { readonly value?: unknown } =>
  value === undefined || !isShort(value, MAX_ECHO_LENGTH) ? {} : { value }

const locatedIssues = (issue: SchemaIssue.Issue): ReadonlyArray<Located> =>
  issuesOf(issue).issues.map(({ message, path = [] }) => ({
    path: path.map((segment) => (Predicate.isObject(segment) ? segment.key : segment)) as Path,
    message: inPlainWords(message),
  }))

const errorsOf = (located: ReadonlyArray<Located>, part: string, input: unknown): ReadonlyArray<ValidationError> =>
  located.slice(0, MAX_ERRORS).map(({ message, path }) => ({
    location: locationOf(part, path),
    message,
    ...echo(valueAt(input, path)),
  }))

/** The errors of an issue in a part of the request, at most 100. */
export const validationErrors = (
  issue: SchemaIssue.Issue,
  part: string,
  input: unknown,
): ReadonlyArray<ValidationError> => errorsOf(locatedIssues(issue), part, input)

type Decode = (json: unknown) => Exit.Exit<unknown, Schema.SchemaError>

/** The decoders of an endpoint's JSON bodies that report all errors, by content type. */
const decodersOf = oncePerEndpoint(
  ({ payload }): ReadonlyMap<string, Decode> =>
    new Map(
      [...payload].map(([contentType, { schemas }]) => [
        contentType,
        Schema.decodeUnknownExit(Schema.Union(schemas as ReadonlyArray<Schema.Codec<unknown>>), {
          onExcessProperty: "error",
          errors: "all",
        }),
      ]),
    ),
)

/**
 * The errors of a body that an excerpt of it shows with certainty, at most 100. `input` is what the errors quote: the
 * same JSON, with all digits of its numbers.
 */
export const excerptErrors = (
  endpoint: HttpApiEndpoint.Top,
  contentType: string,
  excerpt: Excerpt,
  input: unknown,
): ReadonlyArray<ValidationError> => {
  const exit = decodersOf(endpoint).get(contentType)?.(excerpt.json)
  const error = exit === undefined ? Option.none() : Exit.findErrorOption(exit)
  if (Option.isNone(error)) return []
  const certain = locatedIssues(error.value.issue).filter(({ path }) => excerpt.isComplete(path))
  return errorsOf(certain, "body", input)
}
