/**
 * Turns decoding errors of requests into problems that list each validation error with its location (contract, section
 * 3).
 */
import { Effect, Layer, Predicate, SchemaIssue } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import type { HttpApiError } from "effect/http-api"
import { isUtf8 } from "node:buffer"
import { annotationOf, RequestValidation, AcceptsSecret } from "../../kernel/contract/Endpoint.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import { MalformedBody, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { readBufferedBody } from "../BufferedBody.ts"

const MAX_ECHO_LENGTH = 1024
// Limits the response to a body with many errors, which could otherwise be larger than the body.
const MAX_ERRORS = 100

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

type Path = ReadonlyArray<PropertyKey>

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
  value === undefined || (JSON.stringify(value)?.length ?? 0) > MAX_ECHO_LENGTH ? {} : { value }

const validationErrors = (
  error: HttpApiError.HttpApiSchemaError,
  part: string,
  input: unknown,
): ReadonlyArray<ValidationError> =>
  issuesOf(error.cause.issue)
    .issues.slice(0, MAX_ERRORS)
    .map((issue) => {
      const path = (issue.path ?? []).map((segment) => (Predicate.isObject(segment) ? segment.key : segment))
      return {
        location: locationOf(part, path as Path),
        message: issue.message,
        ...echo(valueAt(input, path as Path)),
      }
    })

const failed = (errors: ReadonlyArray<ValidationError>) =>
  new ValidationFailed({
    detail:
      errors.length === 1
        ? `${errors[0]?.location}: ${errors[0]?.message}.`
        : `The request has ${errors.length} validation errors; \`errors\` lists them.`,
    errors,
  })

const parse = (text: string): { readonly json: unknown } | undefined => {
  try {
    return { json: parseJson(text) }
  } catch {
    return undefined
  }
}

const malformed = (message: string) =>
  new MalformedBody({ detail: `The body ${message}.`, errors: [{ location: "body", message }] })

// A response that does not encode is a bug, and stays a defect.
const schemaErrors = HttpApiMiddleware.layerSchemaErrorTransform(
  RequestValidation,
  Effect.fnUntraced(function* (error, { endpoint }) {
    switch (error.kind) {
      case "Params":
        return yield* failed(validationErrors(error, "path", (yield* HttpRouter.RouteContext).params))
      case "Query":
        return yield* failed(validationErrors(error, "query", yield* HttpServerRequest.ParsedSearchParams))
      case "Headers":
        return yield* failed(validationErrors(error, "header", (yield* HttpServerRequest.HttpServerRequest).headers))
      case "Payload": {
        const text = yield* Effect.orDie((yield* HttpServerRequest.HttpServerRequest).text)
        if (text === "") return yield* failed([{ location: "body", message: "must be a JSON object" }])
        const parsed = parse(text)
        if (parsed === undefined) return yield* malformed("is not valid JSON")
        const found = validationErrors(error, "body", parsed.json)
        return yield* failed(
          annotationOf(endpoint, AcceptsSecret) === true
            ? found.map(({ value: _, ...withoutValue }) => withoutValue)
            : found,
        )
      }
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
const requireUtf8 = (bytes: ArrayBuffer | Uint8Array) =>
  isUtf8(bytes) ? Effect.void : Effect.fail(malformed("is not UTF-8"))

const requireUtf8Body = (request: HttpServerRequest.HttpServerRequest) => {
  const whole = readBufferedBody(request)
  return whole === undefined ? Effect.flatMap(Effect.orDie(request.arrayBuffer), requireUtf8) : requireUtf8(whole)
}

/** Middleware of every API. Requires uncompressed UTF-8 bodies and reports decoding errors by location. */
export const layer = Layer.effect(
  RequestValidation,
  Effect.map(RequestValidation, (transform) =>
    RequestValidation.of((handler, options) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        if (!mayHaveBody(request)) return transform(handler, options)
        if (isEncoded(request)) return Effect.succeed(unsupportedEncoding)
        return mayHaveJson(request)
          ? Effect.andThen(requireUtf8Body(request), transform(handler, options))
          : transform(handler, options)
      }),
    ),
  ),
).pipe(Layer.provide(schemaErrors))
