/** Turns the issues of a decoder into validation errors with their locations. Pure. */
import { Predicate, SchemaIssue } from "effect"
import { MAX_ERRORS } from "./Problem.ts"
import type { ValidationError } from "./Problem.ts"

/** Whether a value takes at most about `maxLength` characters as JSON. It reads only that many. */
export const isShort = (value: unknown, maxLength: number): boolean => {
  let left = maxLength
  const fits = (part: unknown): boolean => {
    if (Predicate.isString(part)) left -= part.length + 2
    else if (Array.isArray(part)) {
      left -= part.length + 2
      return left >= 0 && part.every(fits)
    } else if (Predicate.isObject(part)) {
      for (const name in part) {
        left -= name.length + 4
        if (left < 0 || !fits(Reflect.get(part, name))) return false
      }
    } else left -= String(part).length
    return left >= 0
  }
  return fits(value)
}

const MAX_ECHO_LENGTH = 1024
/** The message for a property or query parameter that is not declared. */
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

/** What a schema expects, in words: `"A" | "B" | "C"` becomes `one of "A", "B", "C"`. */
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

/** What is wrong, and where it is. */
export interface Located {
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

/** The issues with their paths. */
export const locatedIssues = (issue: SchemaIssue.Issue): ReadonlyArray<Located> =>
  issuesOf(issue).issues.map(({ message, path = [] }) => ({
    path: path.map((segment) => (Predicate.isObject(segment) ? segment.key : segment)) as Path,
    message: inPlainWords(message),
  }))

/** The errors of located issues in a part of the request, at most 100. */
export const errorsOf = (
  located: ReadonlyArray<Located>,
  part: string,
  input: unknown,
): ReadonlyArray<ValidationError> =>
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
