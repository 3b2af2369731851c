/**
 * The outermost middleware of every listener. It adds the request id to each response and completes each error to a
 * problem document with all its properties, including errors from the framework. Bodies that another specification
 * defines, marked as such, pass unchanged.
 */
import { Cause, Context, Effect, Predicate, References } from "effect"
import { HttpBody, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { countProblem, countRequest, countSuccess } from "../../infra/telemetry/Metrics.ts"
import { withoutSecrets } from "../../infra/telemetry/SecretMasking.ts"
import { EXTERNAL_BODY } from "../../kernel/contract/Endpoint.ts"
import { problemFor } from "../../kernel/contract/Problem.ts"
import type { ProblemDocument } from "../../kernel/contract/Problem.ts"
import { CurrentLifecycle } from "../../kernel/ports/Lifecycle.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import { errorHeadersFor } from "../SecurityHeaders.ts"
import { compressed } from "./Compression.ts"
import { unavailableDetail } from "../DatabaseProblems.ts"
import { headerRule, platformHeaderRule } from "./HeaderRules.ts"
import type { HeaderRule } from "./HeaderRules.ts"
import * as RequestsInFlight from "./RequestDeadlines.ts"
import { RequestAnnotations } from "./RequestLog.ts"

const CONTENT_TYPE = "application/problem+json"

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** Returns the caller's request id if it is well-formed, else a new one. */
export const requestIdOf = (sent: string | undefined): string =>
  sent !== undefined && REQUEST_ID.test(sent) ? sent : randomUUID()

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Returns the text of a response's body, if it has one. */
export const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string | undefined =>
  body._tag === "Uint8Array" ? (body.text ?? new TextDecoder().decode(body.body)) : undefined

const bodyOf = (response: HttpServerResponse.HttpServerResponse): object | undefined => {
  const text = textOf(response)
  if (response.headers["content-type"] !== CONTENT_TYPE || text === undefined) return undefined
  const document = parseJson(text)
  return Predicate.isObject(document) ? document : undefined
}

// Adds `error.message` to problems on the manifest's path, which the OpenFeature CLI prints.
const extensionsOf = ({ detail, instance, status }: ProblemDocument): object =>
  instance.startsWith("/api/openfeature/") ? { error: { message: detail, status } } : {}

const headersOf = ({ headers, status }: HttpServerResponse.HttpServerResponse): Record<string, string> => {
  if (status === 401) return { "www-authenticate": "Bearer" }
  if (status === 503) return { "retry-after": headers["retry-after"] ?? "1" }
  // The rest of an oversized body is not read, so the connection cannot be reused.
  if (status === 413) return { connection: "close" }
  return {}
}

const unavailable = (detail: string) =>
  HttpServerResponse.text(JSON.stringify({ detail }), { status: 503, contentType: CONTENT_TYPE })

const responseFor = (cause: Cause.Cause<unknown>) => {
  const detail = unavailableDetail(cause)
  return detail === undefined
    ? Effect.map(HttpServerError.causeResponse(cause), ([response]) => response)
    : Effect.succeed(unavailable(detail))
}

interface Served {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly context: Context.Context<never>
}

// A failing readiness probe is logged as a warning, because it is not an error. Its response names the failing part.
const isProbe = (path: string): boolean => path.startsWith("/health/")

const report = (problem: ProblemDocument, method: string, cause: Cause.Cause<unknown> | undefined) => {
  const { code, errorId, instance, status } = problem
  const line = `${method} ${code}`
  return (
    status < 500
      ? Effect.logInfo(line)
      : isProbe(instance)
        ? Effect.logWarning(line)
        : Effect.logError(line, ...(cause === undefined ? [] : [cause]))
  ).pipe(Effect.annotateLogs({ code, status, errorId, path: instance }))
}

/** Completes an error response to a problem document. Successes pass unchanged. */
const complete = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  { context, request }: Served,
  cause?: Cause.Cause<unknown>,
) {
  if (response.status < 400) return response
  if (response.headers[EXTERNAL_BODY] !== undefined) return HttpServerResponse.removeHeader(response, EXTERNAL_BODY)
  const declared = bodyOf(response)
  const problem = {
    ...problemFor(response.status),
    ...declared,
    instance: pathOf(request.url),
  } as ProblemDocument
  countProblem(context, problem.code)
  yield* report(problem, request.method, cause)
  // Masks credentials that the caller sent in the wrong place, because responses may be logged elsewhere.
  const text = withoutSecrets(JSON.stringify({ ...problem, ...extensionsOf(problem) }))
  return HttpServerResponse.setBody(
    HttpServerResponse.setHeaders(response, { ...headersOf(response), ...errorHeadersFor(problem.instance) }),
    HttpBody.text(text, CONTENT_TYPE),
  )
})

const timedOut = unavailable("The request took too long and was rolled back. Try again shortly.")

// Only counted, because the client has disconnected.
const disconnected = HttpServerResponse.empty({ status: 499 })

/** Middleware that completes errors, counts requests and adds the request id. The rule rejects ambiguous requests. */
const withRule = (rule: HeaderRule) =>
  HttpRouter.middleware(
    Effect.map(
      CurrentLifecycle,
      (lifecycle) => (effect) =>
        Effect.withFiber((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const requestId = requestIdOf(request.headers["x-request-id"])
          const inFlight = RequestsInFlight.enter(fiber)

          // By now the fiber's context contains the matched route.
          const finish = (response: HttpServerResponse.HttpServerResponse) => {
            const seconds = RequestsInFlight.leave(inFlight)
            countRequest(fiber.context, { method: request.method, status: response.status, seconds })
            const identified = HttpServerResponse.setHeader(response, "x-request-id", requestId)
            // Shutdown waits for open connections, so clients must not reuse them or keep them idle.
            return lifecycle.phase === "draining"
              ? HttpServerResponse.setHeader(identified, "connection", "close")
              : identified
          }
          const completed = (response: HttpServerResponse.HttpServerResponse, cause?: Cause.Cause<unknown>) =>
            Effect.map(complete(response, { request, context: fiber.context }, cause), finish)

          return Effect.matchCauseEffect(rule(request) ?? effect, {
            onSuccess: (response) => {
              if (response.status >= 400) return completed(response)
              countSuccess(fiber.context, response)
              const compressing = compressed(request, response)
              return compressing === undefined ? Effect.succeed(finish(response)) : Effect.map(compressing, finish)
            },
            onFailure: (cause) => {
              if (!Cause.hasInterruptsOnly(cause)) {
                return Effect.flatMap(responseFor(cause), (response) => completed(response, cause))
              }
              if (inFlight.expired) return completed(timedOut, cause)
              // The client disconnected, so nothing is sent. The interruption must stay an interruption.
              finish(disconnected)
              return Effect.failCause(cause)
            },
          }).pipe(Effect.provideService(References.CurrentLogAnnotations, new RequestAnnotations(requestId)))
        }),
    ),
    { global: true },
  )

/** The middleware of every listener but the platform's. */
export const layer = withRule(headerRule)

/** The middleware of the platform listener. */
export const platformLayer = withRule(platformHeaderRule)
