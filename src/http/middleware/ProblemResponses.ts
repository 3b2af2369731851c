/**
 * The last word on every answer of a listener: each one carries its request id, and whatever is no success is a
 * problem document with all its members, also what the framework answers by itself (contract, section 3). Only what
 * is marked as the body of another specification passes as it is.
 */
import { Cause, Context, Effect, Predicate, References } from "effect"
import { HttpBody, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isSqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { countProblem, countRequest, countSuccess } from "../../infra/telemetry/Metrics.ts"
import { withoutSecrets } from "../../infra/telemetry/SecretMasking.ts"
import { PUBLISHED_BODY } from "../../kernel/contract/Endpoint.ts"
import { problemFor } from "../../kernel/contract/UndeclaredProblems.ts"
import type { ProblemDocument } from "../../kernel/contract/UndeclaredProblems.ts"
import { sqlStateOf } from "../../kernel/database/Statements.ts"
import { CurrentLifecycle } from "../../kernel/ports/Lifecycle.ts"
import { parseJson } from "../../kernel/values/Decimal.ts"
import * as RequestsInFlight from "./RequestDeadlines.ts"
import { RequestFacts } from "./RequestLog.ts"

const CONTENT_TYPE = "application/problem+json"

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** The caller's request id if it is sane, else a fresh one. */
export const requestIdOf = (sent: string | undefined): string =>
  sent !== undefined && REQUEST_ID.test(sent) ? sent : randomUUID()

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The text of an answer's body, if it has one. */
export const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string | undefined =>
  body._tag === "Uint8Array" ? (body.text ?? new TextDecoder().decode(body.body)) : undefined

const bodyOf = (response: HttpServerResponse.HttpServerResponse): object | undefined => {
  const text = textOf(response)
  if (response.headers["content-type"] !== CONTENT_TYPE || text === undefined) return undefined
  const document = parseJson(text)
  return Predicate.isObject(document) ? document : undefined
}

// The OpenFeature CLI prints `error.message` of what is refused on its paths (contract, section 5, "Feature flags").
const extensionsOf = ({ detail, instance, status }: ProblemDocument): object =>
  instance.startsWith("/api/openfeature/") ? { error: { message: detail, status } } : {}

const headersOf = (status: number): Record<string, string> => {
  if (status === 401) return { "www-authenticate": "Bearer" }
  if (status === 503) return { "retry-after": "1" }
  // The rest of an oversized body is not read, so the connection cannot be used again.
  if (status === 413) return { connection: "close" }
  return {}
}

// Which database failures pass by themselves, so that a caller should come back.
const TRANSIENT = new Set(["ConnectionError", "LockTimeoutError", "StatementTimeoutError", "UnknownError"])

const isUnavailable = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => {
    const error = reason._tag === "Die" ? reason.defect : reason._tag === "Fail" ? reason.error : undefined
    return isSqlError(error) && (TRANSIENT.has(error.reason._tag) ? isDatabaseAway(error.reason) : false)
  })

// An unclassified failure with an SQLSTATE of class 57 (shut down), 53 (no resources) or 08 (connection), or with none
// at all (the socket), is the database being away; any other is a statement of ours that is wrong.
const isDatabaseAway = (reason: { readonly _tag: string; readonly cause: unknown }): boolean => {
  if (reason._tag !== "UnknownError") return true
  const state = sqlStateOf(reason)
  return state === "" || /^(57|53|08)/.test(state)
}

const answerFor = (cause: Cause.Cause<unknown>) =>
  isUnavailable(cause)
    ? Effect.succeed(HttpServerResponse.empty({ status: 503 }))
    : Effect.map(HttpServerError.causeResponse(cause), ([response]) => response)

interface Served {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly context: Context.Context<never>
}

// A probe that finds the service not ready is no failure of ours that anyone must look at; the part that fails says so.
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

/** Completes an error answer; successes pass untouched. */
const complete = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  { context, request }: Served,
  cause?: Cause.Cause<unknown>,
) {
  if (response.status < 400) return response
  if (response.headers[PUBLISHED_BODY] !== undefined) return HttpServerResponse.removeHeader(response, PUBLISHED_BODY)
  const declared = bodyOf(response)
  const problem = {
    ...problemFor(response.status),
    ...declared,
    instance: pathOf(request.url),
  } as ProblemDocument
  countProblem(context, problem.code)
  yield* report(problem, request.method, cause)
  // A credential that was sent in a wrong place is not repeated to whoever reads the answer.
  const text = withoutSecrets(JSON.stringify({ ...problem, ...extensionsOf(problem) }))
  return HttpServerResponse.setBody(
    HttpServerResponse.setHeaders(response, headersOf(response.status)),
    HttpBody.text(text, CONTENT_TYPE),
  )
})

// Node.js would refuse it by itself, without a problem; HTTP 1.0 knows no `Host`.
const lacksHost = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["host"] === undefined && Predicate.hasProperty(source, "httpVersion") && source.httpVersion === "1.1"

const noHost = HttpServerResponse.text(
  JSON.stringify({
    detail: "A request has the header `Host`.",
    errors: [{ location: "header.host", message: "is missing" }],
  }),
  { status: 400, contentType: CONTENT_TYPE },
)

const gaveUp = HttpServerResponse.text(
  JSON.stringify({ detail: "The request took too long and was given up; nothing of it is kept. Try again shortly." }),
  { status: 503, contentType: CONTENT_TYPE },
)

// Only counted: there is nobody to send it to.
const goneAway = HttpServerResponse.empty({ status: 499 })

/** The outermost middleware of every listener. */
export const layer = HttpRouter.middleware(
  Effect.map(
    CurrentLifecycle,
    (lifecycle) => (effect) =>
      Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const requestId = requestIdOf(request.headers["x-request-id"])
        const inFlight = RequestsInFlight.enter(fiber)

        // The fiber's context knows the route by now.
        const answer = (response: HttpServerResponse.HttpServerResponse) => {
          const seconds = RequestsInFlight.leave(inFlight)
          countRequest(fiber.context, { method: request.method, status: response.status, seconds })
          const identified = HttpServerResponse.setHeader(response, "x-request-id", requestId)
          // The stop waits for connections: nobody shall send another request on one, or keep it idle.
          return lifecycle.phase === "draining"
            ? HttpServerResponse.setHeader(identified, "connection", "close")
            : identified
        }
        const completed = (response: HttpServerResponse.HttpServerResponse, cause?: Cause.Cause<unknown>) =>
          Effect.map(complete(response, { request, context: fiber.context }, cause), answer)

        return Effect.matchCauseEffect(lacksHost(request) ? Effect.succeed(noHost) : effect, {
          onSuccess: (response) => {
            if (response.status >= 400) return completed(response)
            countSuccess(fiber.context, response)
            return Effect.succeed(answer(response))
          },
          onFailure: (cause) => {
            if (!Cause.hasInterruptsOnly(cause)) {
              return Effect.flatMap(answerFor(cause), (response) => completed(response, cause))
            }
            if (inFlight.expired) return completed(gaveUp, cause)
            // A caller that went away gets no answer; the interruption must stay one.
            answer(goneAway)
            return Effect.failCause(cause)
          },
        }).pipe(Effect.provideService(References.CurrentLogAnnotations, new RequestFacts(requestId)))
      }),
  ),
  { global: true },
)
