/**
 * Cross-origin requests of browsers to the core listener (the Fetch standard, "CORS protocol"). Off by default; then no
 * request passes through this middleware. Credentials are never allowed: the API has no cookies, and scripts send their
 * token in `Authorization`.
 *
 * `HttpMiddleware.cors` of Effect answers every OPTIONS request and sends its headers to every origin, also to those
 * that are not allowed.
 */
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { CorsOrigins } from "../../infra/SettingFormats.ts"
import { requestIdOf } from "./ProblemResponses.ts"

/** The origins whose scripts may call the core listener and read its responses; `undefined` if none may. */
export const AllowedOrigins = Context.Reference<CorsOrigins | undefined>("keyshelf.reference/http/AllowedOrigins", {
  defaultValue: () => undefined,
})

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"

// Each by name, because `*` does not include `Authorization`. The last line is CloudEvents in binary mode.
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "if-none-match",
  "last-event-id",
  "x-request-id",
  "traceparent",
  "tracestate",
  "b3",
  "ce-specversion",
  "ce-id",
  "ce-source",
  "ce-type",
  "ce-subject",
  "ce-time",
  "ce-dataschema",
].join(", ")

const EXPOSED_HEADERS = [
  "x-request-id",
  "etag",
  "location",
  "retry-after",
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  "idempotent-replayed",
].join(", ")

/** How long a browser may reuse the answer to a preflight: two hours, the longest time that Chrome accepts. */
const MAX_AGE_SECONDS = "7200"

const isPreflight = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** The value of `Access-Control-Allow-Origin`; `undefined` if the request has no allowed origin. */
const allowedOrigin = (allowed: CorsOrigins, origin: string | undefined): string | undefined => {
  if (origin === undefined) return undefined
  if (allowed === "*") return "*"
  return allowed.has(origin) ? origin : undefined
}

// A cache must not answer one origin with what it stored for another.
const varyWith = (vary: string | undefined): string => (vary === undefined ? "origin" : `${vary}, origin`)

const respond = (response: HttpServerResponse.HttpServerResponse, origin: string | undefined) =>
  HttpServerResponse.setHeaders(response, {
    vary: varyWith(response.headers["vary"]),
    ...(origin === undefined
      ? {}
      : { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED_HEADERS }),
  })

/** Answers a preflight for any path: the request that follows is authenticated, counted and validated as usual. */
const preflight = ({ headers }: HttpServerRequest.HttpServerRequest, origin: string | undefined) =>
  HttpServerResponse.empty({
    status: 204,
    headers: {
      "x-request-id": requestIdOf(headers["x-request-id"]),
      vary: varyWith(undefined),
      ...(origin === undefined
        ? {}
        : {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": REQUEST_HEADERS,
            "access-control-max-age": MAX_AGE_SECONDS,
          }),
    },
  })

const middleware = (allowed: CorsOrigins) =>
  HttpRouter.middleware(
    (effect) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const origin = allowedOrigin(allowed, request.headers["origin"])
        return isPreflight(request)
          ? Effect.succeed(preflight(request, origin))
          : Effect.map(effect, (response) => respond(response, origin))
      }),
    { global: true },
  )

/**
 * The middleware for {@link AllowedOrigins}. It belongs outside `ProblemResponses`, so that scripts can read problems
 * too.
 */
export const layer = Layer.unwrap(
  Effect.map(AllowedOrigins, (allowed) => (allowed === undefined ? Layer.empty : middleware(allowed))),
)
