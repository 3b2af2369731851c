/** Passes requests on to the origin, and its responses back as they arrive. */
import { Effect, Option, References } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { IncomingMessage } from "node:http"
import { asForeignError } from "../../kernel/contract/Endpoint.ts"
import { Edge } from "../Edge.ts"
import { unavailable } from "./Responses.ts"

/** Longer than the service takes for a request. */
const TIMEOUT_MS = 65_000

/** Headers that belong to one connection (RFC 9110, section 7.6.1), or that each request has of its own. They are not passed on. */
const OF_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "expect",
])

/** The headers that are passed on: not those that `connection` names. */
const passedOn = (headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>) => {
  const named = String(headers["connection"] ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OF_CONNECTION.has(name) || named.includes(name) ? [] : [[name, String(value)]],
    ),
  )
}

const responseOf = (response: IncomingMessage, method: string): HttpServerResponse.HttpServerResponse => {
  const status = response.statusCode ?? 502
  const { "content-length": length } = response.headers
  const headers = { ...passedOn(response.headers), ...(length === undefined ? {} : { "content-length": length }) }
  const hasBody = method !== "HEAD" && status !== 204 && status !== 304
  if (!hasBody) response.resume()
  const passed = hasBody
    ? HttpServerResponse.raw(response, { status, headers })
    : HttpServerResponse.empty({ status, headers })
  return status >= 400 ? asForeignError(passed) : passed
}

const away = unavailable("This edge cannot reach its origin, which this operation needs. Try again shortly.")

/** Sends the current request to the origin. Nothing if that is away. */
const attempt = Effect.gen(function* () {
  const { countRequest, origin } = yield* Edge
  const request = yield* HttpServerRequest.HttpServerRequest
  const { method } = request
  const hasBody = method !== "GET" && method !== "HEAD"
  const body = hasBody ? new Uint8Array(yield* Effect.orDie(request.arrayBuffer)) : undefined
  const annotations = yield* References.CurrentLogAnnotations
  const { requestId } = annotations
  const headers = {
    ...passedOn(request.headers),
    ...(typeof requestId === "string" ? { "x-request-id": requestId } : {}),
  }
  const sent = { method, path: request.url, headers, body, timeoutMs: TIMEOUT_MS }
  const response = yield* Effect.option(Effect.tryPromise((signal) => origin.send({ ...sent, signal })))
  countRequest(Option.isSome(response) ? "ok" : "away")
  return Option.getOrUndefined(response)
})

/** How requests are forwarded. */
interface Forward {
  /** The response of the origin; 503 while that is away. */
  readonly always: Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>
  /** The response of the origin, unless it is away or answers that it cannot. */
  readonly ifAble: Effect.Effect<
    HttpServerResponse.HttpServerResponse | undefined,
    never,
    HttpServerRequest.HttpServerRequest
  >
}

const UNABLE = 503

/** For handlers, which resolve their services when they are built. */
export const makeForward = Effect.map(Edge, (edge): Forward => {
  const send = Effect.provideService(attempt, Edge, edge)
  const withMethod = <A>(use: (response: IncomingMessage | undefined, method: string) => A) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method }) =>
      Effect.map(send, (response) => use(response, method)),
    )
  return {
    always: withMethod((response, method) => (response === undefined ? away : responseOf(response, method))),
    ifAble: withMethod((response, method) => {
      if (response?.statusCode !== UNABLE) return response === undefined ? undefined : responseOf(response, method)
      response.resume()
      return undefined
    }),
  }
})
