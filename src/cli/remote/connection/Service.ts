/** Sends requests to the service that a command calls. */
import { Context, Effect, Layer, Option, Predicate, Redacted, Runtime, Schema } from "effect"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientResponse } from "effect/http"
import {
  codeOf,
  isForeign,
  isJson,
  isResult,
  JSON_BODY,
  NO_BODY,
} from "../../../../clients/typescript/src/Responses.ts"
import { retrying } from "../../../client/Retry.ts"
import { prefixes } from "../../../domains/access/Model.ts"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { CommandFailed } from "../../Failure.ts"
import { EXIT_CODES, exitCodeOf } from "./ExitCodes.ts"
import type { Target } from "./Profiles.ts"

/** A request to the service. */
export interface Request {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With `/api`. */
  readonly path: string
  readonly query: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** None sends no body. */
  readonly body: Option.Option<Schema.Json>
  readonly idempotencyKey: Option.Option<string>
  /** The content of a success: media types, or `NO_BODY`. JSON or nothing by default. */
  readonly promised?: ReadonlyArray<string>
}

const RETRIES = 3

const Problem = Schema.Struct({
  status: Schema.Number,
  code: Schema.String,
  detail: Schema.String,
  errorId: Schema.String,
  errors: Schema.Array(Schema.Struct({ location: Schema.String, message: Schema.String })),
})

/** The service rejected a request, or did not answer it. */
export class RequestFailed extends Schema.TaggedError<RequestFailed>()("RequestFailed", {
  message: Schema.String,
  exitCode: Schema.Number,
  /** The body of the response, if it has one. */
  body: Schema.optionalKey(Schema.Unknown),
}) {
  override get [Runtime.errorExitCode]() {
    return this.exitCode
  }
}

// `fetch` fails on other characters, with the value in its message, as if the service did not respond.
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/

const parse = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The lines that explain to a person why the service rejected a request, and what to do. */
const describe = (status: number, body: unknown): string => {
  const problem = Schema.decodeUnknownOption(Problem)(body)
  if (Option.isNone(problem)) return `The service rejects the request with status ${status}.`
  const { code, detail, errorId, errors } = problem.value
  // A single error is the detail already.
  const lines = errors.length > 1 ? errors.map(({ location, message }) => `  ${location}: ${message}`) : []
  return [`${status} ${code}: ${detail}`, ...lines, ...(status >= 500 ? [`Error id: ${errorId}`] : [])].join("\n")
}

/**
 * The error of a response that comes from a proxy or another server, not from the service. It reveals nothing about the
 * request.
 */
const foreign = (url: string, { headers, status }: HttpClientResponse.HttpClientResponse): RequestFailed =>
  new RequestFailed({
    message: `${url} responds with status ${status}${headers["location"] === undefined ? "" : " (a redirect)"}, but not as Keyshelf does. Is a proxy or another server at this address?`,
    exitCode: EXIT_CODES.unavailable,
  })

const headOf = ({ headers, status }: HttpClientResponse.HttpClientResponse) => ({
  status,
  contentType: headers["content-type"] ?? null,
})

/** The error of a response that is not a success. */
const rejection = Effect.fnUntraced(function* (url: string, response: HttpClientResponse.HttpClientResponse) {
  const text = yield* Effect.orElseSucceed(response.text, () => "")
  const body = parse(text)
  const path = response.request.url.slice(url.length)
  if (isForeign(codeOf(headOf(response), path, body))) return yield* foreign(url, response)
  return yield* new RequestFailed({
    message: describe(response.status, body),
    exitCode: exitCodeOf(response.status),
    body,
  })
})

const reasonOf = (error: unknown): string => {
  const cause = Predicate.isError(error) && Predicate.isError(error.cause) ? error.cause : error
  if (Predicate.isError(cause) && cause.cause !== undefined) return reasonOf(cause)
  return Predicate.isError(cause) ? cause.message : String(cause)
}

/** The error of a request without a response. */
export const noResponse = (url: string, error: unknown): RequestFailed =>
  new RequestFailed({
    message: `No Keyshelf responds at ${url}: ${reasonOf(error)}.`,
    exitCode: EXIT_CODES.unavailable,
  })

const make = Effect.fnUntraced(function* ({ token, url }: Target) {
  const client = retrying(RETRIES)(
    HttpClient.mapRequest(yield* HttpClient.HttpClient, HttpClientRequest.bearerToken(Redacted.value(token))),
  )

  const execute = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest) {
    const wrong = Object.keys(request.headers).find((name) => !SENDABLE.test(request.headers[name] ?? ""))
    if (wrong !== undefined) {
      return yield* new CommandFailed({ message: `The value of ${wrong} has a character that a header cannot have.` })
    }
    const response = yield* client.execute(request).pipe(Effect.mapError((error) => noResponse(url, error)))
    return response.status < 300 ? response : yield* rejection(url, response)
  })

  /** Sends a request and returns the body of the response; `undefined` if it has none. */
  const send = Effect.fn("Service.send")(function* (request: Request) {
    const response = yield* execute(
      HttpClientRequest.make(request.method)(url + request.path, {
        urlParams: request.query,
        headers: Option.match(request.idempotencyKey, {
          onNone: () => ({}),
          onSome: (key) => ({ "idempotency-key": key }),
        }),
        ...Option.match(request.body, {
          onNone: () => ({}),
          onSome: (body) => ({ body: HttpBody.text(JSON.stringify(body), "application/json") }),
        }),
      }),
    )
    const { promised = [JSON_BODY, NO_BODY] } = request
    if (!isResult(headOf(response), promised)) return yield* foreign(url, response)
    if (response.status === 204) return undefined
    const text = yield* response.text.pipe(Effect.mapError((error) => noResponse(url, error)))
    // Notes, proofs and signed texts are printed as they are.
    if (!isJson(headOf(response))) return text
    return parse(text) ?? (yield* foreign(url, response))
  })

  return { url, execute, send, isOperator: Redacted.value(token).startsWith(prefixes.platform) }
})

/** The service that a command calls. */
export class Service extends Context.Service<Service, Effect.Success<ReturnType<typeof make>>>()(
  "keyshelf/cli/Service",
) {
  static readonly layer = (target: Target) =>
    Layer.effect(Service, make(target)).pipe(
      Layer.provide(FetchHttpClient.layer),
      // The service never redirects, and a credential must not follow a redirect of another server.
      Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })),
    )
}
