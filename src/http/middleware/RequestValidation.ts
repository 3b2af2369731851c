/** Requests that do not decode become problems that name each fault's place (contract, section 3). */
import { Effect, Layer, Predicate, SchemaIssue } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import type { HttpApiError } from "effect/http-api"
import { isUtf8 } from "node:buffer"
import { annotationOf, RequestValidation, TakesSecret } from "../../kernel/contract/Endpoint.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import { MalformedBody, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { ProblemFault } from "../../kernel/contract/Problem.ts"
import { takeWholeBody } from "../BufferedBody.ts"

const LONGEST_ECHO = 1024
// A body of a hundred thousand faults is answered by the first of them, not by a document larger than itself.
const MOST_FAULTS = 100

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

// A body echoed back whole would make every refusal as large as the attack.
const echo = (value: unknown): { readonly value?: unknown } =>
  value === undefined || (JSON.stringify(value)?.length ?? 0) > LONGEST_ECHO ? {} : { value }

const faults = (error: HttpApiError.HttpApiSchemaError, part: string, input: unknown): ReadonlyArray<ProblemFault> =>
  issuesOf(error.cause.issue)
    .issues.slice(0, MOST_FAULTS)
    .map((issue) => {
      const path = (issue.path ?? []).map((segment) => (Predicate.isObject(segment) ? segment.key : segment))
      return {
        location: locationOf(part, path as Path),
        message: issue.message,
        ...echo(valueAt(input, path as Path)),
      }
    })

const failed = (errors: ReadonlyArray<ProblemFault>) =>
  new ValidationFailed({
    detail:
      errors.length === 1
        ? `${errors[0]?.location}: ${errors[0]?.message}`
        : `${errors.length} parts of the request are not valid.`,
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

// A response that does not encode is our bug, and stays a defect.
const schemaErrors = HttpApiMiddleware.layerSchemaErrorTransform(
  RequestValidation,
  Effect.fnUntraced(function* (error, { endpoint }) {
    switch (error.kind) {
      case "Params":
        return yield* failed(faults(error, "path", (yield* HttpRouter.RouteContext).params))
      case "Query":
        return yield* failed(faults(error, "query", yield* HttpServerRequest.ParsedSearchParams))
      case "Headers":
        return yield* failed(faults(error, "header", (yield* HttpServerRequest.HttpServerRequest).headers))
      case "Payload": {
        const text = yield* Effect.orDie((yield* HttpServerRequest.HttpServerRequest).text)
        if (text === "") return yield* failed([{ location: "body", message: "A JSON object is due here" }])
        const parsed = parse(text)
        if (parsed === undefined) return yield* malformed("is not valid JSON")
        const found = faults(error, "body", parsed.json)
        return yield* failed(
          annotationOf(endpoint, TakesSecret) === true ? found.map(({ value: _, ...fault }) => fault) : found,
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

// Nothing is decompressed here: a small body could become a large one.
const encoded = HttpServerResponse.text(
  JSON.stringify({
    detail: "Send the body as it is, without `Content-Encoding`: compressed bodies are not taken.",
    errors: [{ location: "header.content-encoding", message: "may only be identity" }],
  }),
  { status: 415, contentType: "application/problem+json", headers: { "accept-encoding": "identity" } },
)

// Decoding would put U+FFFD where the bytes are no text, and what was sent would be kept as something else.
const textOrRefusal = (bytes: ArrayBuffer | Uint8Array) =>
  isUtf8(bytes) ? Effect.void : Effect.fail(malformed("is not UTF-8"))

const bytesAreText = (request: HttpServerRequest.HttpServerRequest) => {
  const whole = takeWholeBody(request)
  return whole === undefined ? Effect.flatMap(Effect.orDie(request.arrayBuffer), textOrRefusal) : textOrRefusal(whole)
}

/** The middleware that every API carries: bodies are plain UTF-8, and what does not decode is told place by place. */
export const layer = Layer.effect(
  RequestValidation,
  Effect.map(RequestValidation, (transform) =>
    RequestValidation.of((handler, options) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        if (!mayHaveBody(request)) return transform(handler, options)
        if (isEncoded(request)) return Effect.succeed(encoded)
        return mayHaveJson(request)
          ? Effect.andThen(bytesAreText(request), transform(handler, options))
          : transform(handler, options)
      }),
    ),
  ),
).pipe(Layer.provide(schemaErrors))
