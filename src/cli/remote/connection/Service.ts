/** Sends requests to the service that a command asks. */
import { Context, Effect, Layer, Option, Predicate, Redacted, Runtime, Schema } from "effect"
import { FetchHttpClient, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientResponse } from "effect/http"
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

// Signed texts are no JSON. They are printed as they are.
const JWT = "application/jwt"

const parse = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The lines that tell a person why a request failed, and what to do. */
const describe = (status: number, body: unknown): string => {
  const problem = Schema.decodeUnknownOption(Problem)(body)
  if (Option.isNone(problem)) return `The service responds with status ${status}, and without a problem document.`
  const { code, detail, errorId, errors } = problem.value
  // A single error is the detail already.
  const lines = errors.length > 1 ? errors.map(({ location, message }) => `  ${location}: ${message}`) : []
  return [`${status} ${code}: ${detail}`, ...lines, ...(status >= 500 ? [`Error id: ${errorId}`] : [])].join("\n")
}

/** The error of a response that is not a success. */
export const rejection = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const text = yield* Effect.orElseSucceed(response.text, () => "")
  const body = parse(text)
  return yield* new RequestFailed({
    message: describe(response.status, body),
    exitCode: exitCodeOf(response.status),
    ...(body === undefined ? {} : { body }),
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
    return response.status < 300 ? response : yield* rejection(response)
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
    const text = yield* response.text.pipe(Effect.mapError((error) => noResponse(url, error)))
    if (text === "") return undefined
    if (response.headers["content-type"] === JWT) return text
    // Notes and proofs are texts, whose line breaks count.
    if (response.headers["content-type"]?.startsWith("text/plain") === true) return text
    const body = parse(text)
    if (body !== undefined) return body
    return yield* new CommandFailed({ message: `${url} does not respond with JSON. Is it a Keyshelf?` })
  })

  return { url, execute, send, isOperator: Redacted.value(token).startsWith(prefixes.platform) }
})

/** The service that a command asks. */
export class Service extends Context.Service<Service, Effect.Success<ReturnType<typeof make>>>()(
  "keyshelf/cli/Service",
) {
  static readonly layer = (target: Target) =>
    Layer.effect(Service, make(target)).pipe(Layer.provide(FetchHttpClient.layer))
}
