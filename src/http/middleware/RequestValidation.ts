/** Turns decoding errors of requests into problems that list each validation error with its location. */
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { isUtf8 } from "node:buffer"
import { makeFairQueue } from "../../kernel/concurrency/FairQueue.ts"
import { RequestOwner } from "../../kernel/contract/Caller.ts"
import { AcceptsSecret, annotationOf, RequestValidation } from "../../kernel/contract/Endpoint.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import { MalformedBody, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { beginningOfLong, excerptOfBeginning, wholeExcerpt } from "../body/Excerpt.ts"
import { MAX_VALUES, receiveBody } from "../body/ReceivedBody.ts"
import { fairShares, weightOf } from "../FairShares.ts"
import { queryErrors } from "./QueryRules.ts"
import { validationErrors } from "../../kernel/contract/DecodingErrors.ts"
import { hasNumbers, numberErrors } from "../body/ExactNumbers.ts"
import { excerptErrors } from "../body/ValidationErrors.ts"

const failed = (errors: ReadonlyArray<ValidationError>) =>
  new ValidationFailed({
    detail:
      errors.length === 1
        ? `${errors[0]?.location}: ${errors[0]?.message}.`
        : `The request has ${errors.length} validation errors; \`errors\` lists them.`,
    errors,
  })

const parse = (text: string, parser: (text: string) => unknown): { readonly json: unknown } | undefined => {
  try {
    return { json: parser(text) }
  } catch {
    return undefined
  }
}

const malformed = (message: string) =>
  new MalformedBody({ detail: `The body ${message}.`, errors: [{ location: "body", message }] })

// Without the parameters, as endpoints declare it.
const contentTypeOf = ({ headers }: HttpServerRequest.HttpServerRequest): string =>
  (headers["content-type"] ?? "application/json").split(";", 1)[0]?.trim().toLowerCase() ?? ""

const withoutValues = (
  endpoint: HttpApiEndpoint.Top,
  errors: ReadonlyArray<ValidationError>,
): ReadonlyArray<ValidationError> =>
  annotationOf(endpoint, AcceptsSecret) === true ? errors.map(({ value: _, ...withoutValue }) => withoutValue) : errors

/** What is wrong at the beginning of a long body; `undefined` if nothing is, or if the body has no beginning of its own. */
const problemAtBeginning = (
  endpoint: HttpApiEndpoint.Top,
  contentType: string,
  beginning: string | undefined,
): MalformedBody | ValidationFailed | undefined => {
  if (beginning === undefined) return undefined
  const parsed = parse(beginning, JSON.parse)
  if (parsed === undefined) return malformed("is not valid JSON")
  const errors = excerptErrors(endpoint, contentType, excerptOfBeginning(parsed.json), parsed.json)
  return errors.length === 0 ? undefined : failed(withoutValues(endpoint, errors))
}

/** The problem of a body that its endpoint's decoder rejected with its first error. */
const rejectedBody = Effect.fnUntraced(function* (
  error: HttpApiError.HttpApiSchemaError,
  endpoint: HttpApiEndpoint.Top,
) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const text = yield* Effect.orDie(request.text)
  if (text === "") return failed([{ location: "body", message: "must be a JSON object" }])
  const contentType = contentTypeOf(request)
  const beginning = beginningOfLong(Buffer.from(text))
  const early = problemAtBeginning(endpoint, contentType, beginning)
  if (early !== undefined) return early
  const parsed = parse(text, beginning === undefined ? parseJson : JSON.parse)
  if (parsed === undefined) return malformed("is not valid JSON")
  const all =
    beginning === undefined ? excerptErrors(endpoint, contentType, wholeExcerpt(JSON.parse(text)), parsed.json) : []
  const errors = all.length > 0 ? all : validationErrors(error.cause.issue, "body", parsed.json)
  return failed(withoutValues(endpoint, errors))
})

/** Requires that nothing is wrong at the beginning of a body with many values, before all of it is parsed. */
const requireBeginning = (
  endpoint: HttpApiEndpoint.Top,
  contentType: string,
  beginning: string | undefined,
): Effect.Effect<void, MalformedBody | ValidationFailed> => {
  const problem = problemAtBeginning(endpoint, contentType, beginning)
  return problem === undefined ? Effect.void : Effect.fail(problem)
}

/** The problem of a body with too many values. It names what is wrong at its beginning. */
const tooManyValues = (endpoint: HttpApiEndpoint.Top, contentType: string, beginning: string) =>
  problemAtBeginning(endpoint, contentType, beginning) ??
  failed([{ location: "body", message: `must have at most ${MAX_VALUES} properties and items` }])

// A response that does not encode is a bug, and stays a defect.
const schemaErrors = HttpApiMiddleware.layerSchemaErrorTransform(
  RequestValidation,
  Effect.fnUntraced(function* (error, { endpoint }) {
    const { issue } = error.cause
    switch (error.kind) {
      case "Params":
        return yield* failed(validationErrors(issue, "path", (yield* HttpRouter.RouteContext).params))
      case "Query":
        return yield* failed(validationErrors(issue, "query", yield* HttpServerRequest.ParsedSearchParams))
      case "Headers":
        return yield* failed(validationErrors(issue, "header", (yield* HttpServerRequest.HttpServerRequest).headers))
      case "Payload":
        return yield* yield* rejectedBody(error, endpoint)
      default:
        return yield* Effect.fail(error)
    }
  }),
)

const mayHaveBody = ({ method }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "POST" || method === "PUT" || method === "PATCH"

const mayHaveJson = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  (headers["content-type"] ?? "json").includes("json")

const isEncoded = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const encoding = headers["content-encoding"]
  return encoding !== undefined && encoding.toLowerCase() !== "identity"
}

// Bodies are not decompressed, because a small one could expand to a huge one.
const unsupportedEncoding = HttpServerResponse.text(
  JSON.stringify({
    detail: "Compressed bodies are not supported. Send the body without `Content-Encoding`.",
    errors: [{ location: "header.content-encoding", message: "must be omitted or `identity`" }],
  }),
  { status: 415, contentType: "application/problem+json", headers: { "accept-encoding": "identity" } },
)

// Decoding would silently replace invalid bytes with U+FFFD and store a different text than the caller sent.
const requireUtf8 = (bytes: Uint8Array) => (isUtf8(bytes) ? Effect.void : Effect.fail(malformed("is not UTF-8")))

// Serves from memory: call it after the body was received.
const requireExactNumbers = (endpoint: HttpApiEndpoint.Top, request: HttpServerRequest.HttpServerRequest) =>
  hasNumbers(endpoint)
    ? Effect.flatMap(Effect.orDie(request.text), (text) => {
        const errors = numberErrors(endpoint, text)
        return errors.length === 0 ? Effect.void : Effect.fail(failed(withoutValues(endpoint, errors)))
      })
    : Effect.void

/**
 * Middleware of every API. Requires declared query parameters and uncompressed UTF-8 bodies, reports decoding errors by
 * location, and shares the process fairly between organizations.
 */
export const layer = Layer.effect(
  RequestValidation,
  Effect.gen(function* () {
    const transform = yield* RequestValidation
    const inTurn = makeFairQueue(fairShares)

    return RequestValidation.of((handler, options) =>
      Effect.withFiber(({ context }) => {
        const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
        const { organizationId } = Context.getUnsafe(context, RequestOwner)
        const wrong = queryErrors(options.endpoint, request.url)
        if (wrong.length > 0) return Effect.fail(failed(wrong))
        const handled = transform(handler, options)
        const fairly = <A, E, R>(work: Effect.Effect<A, E, R>) =>
          inTurn(organizationId ?? "", weightOf(request, options.endpoint), work)
        if (!mayHaveBody(request)) return fairly(handled)
        if (isEncoded(request)) return Effect.succeed(unsupportedEncoding)
        if (!mayHaveJson(request)) return fairly(handled)
        // The body is received first: a slow sender must not take a turn.
        return Effect.flatMap(receiveBody(request), (received) =>
          fairly(
            "bytes" in received
              ? requireUtf8(received.bytes).pipe(
                  Effect.andThen(
                    Effect.suspend(() =>
                      requireBeginning(options.endpoint, contentTypeOf(request), received.beginning),
                    ),
                  ),
                  Effect.andThen(requireExactNumbers(options.endpoint, request)),
                  Effect.andThen(handled),
                )
              : Effect.fail(tooManyValues(options.endpoint, contentTypeOf(request), received.tooLong)),
          ),
        )
      }),
    )
  }),
).pipe(Layer.provide(schemaErrors))
