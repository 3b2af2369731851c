/** The validation errors of a body, found in an excerpt of it. */
import { Exit, Option, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { errorsOf, locatedIssues } from "../../kernel/contract/DecodingErrors.ts"
import { oncePerEndpoint } from "../../kernel/contract/Endpoint.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import type { Excerpt } from "./Excerpt.ts"

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
