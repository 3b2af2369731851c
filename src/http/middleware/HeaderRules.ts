/**
 * Rejects requests with an ambiguous `Host` or `Authorization` before anything reads them. If there are several such
 * headers, Node.js uses the first, while a proxy or gateway before it may have checked the last.
 */
import { Effect, Predicate } from "effect"
import { HttpServerRespondable } from "effect/http"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { prefixes } from "../../domains/access/Model.ts"
import { MalformedBody, WrongCredentialKind } from "../../kernel/contract/Problem.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Returns the response to a request that must not be handled, or `undefined`. */
export type HeaderRule = (request: Request) => Effect.Effect<HttpServerResponse.HttpServerResponse> | undefined

interface NodeRequest {
  readonly httpVersion: string
  /** Names and values alternately, as they were sent. */
  readonly rawHeaders: ReadonlyArray<string>
}

const isNodeRequest = (source: object): source is NodeRequest =>
  Predicate.hasProperty(source, "rawHeaders") && Predicate.hasProperty(source, "httpVersion")

const malformed = (header: "host" | "authorization", detail: string, message: string) => {
  const errors = [{ location: `header.${header}`, message }]
  // Each request gets its own problem, because each has its own `errorId`.
  return Effect.suspend(() => HttpServerRespondable.toResponse(new MalformedBody({ detail, errors })))
}

const missingHost = malformed("host", "The `Host` header is missing. Send it with every request.", "required")
const repeatedHost = malformed("host", "The request has several `Host` headers. Send one.", "must be sent only once")
const repeatedCredential = malformed(
  "authorization",
  "The request has several credentials. Send one `Authorization` header with one credential.",
  "must be sent only once",
)
const wrongKind = Effect.suspend(() =>
  HttpServerRespondable.toResponse(
    new WrongCredentialKind({
      detail:
        "The Platform API accepts only platform credentials (ksm_...). Use organization tokens with the Core API.",
    }),
  ),
)

// Counts a header's lines. The length excludes almost every other name, without a copy of it in lower case.
const linesOf = (rawHeaders: ReadonlyArray<string>, name: string): number => {
  let lines = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index]
    if (sent?.length === name.length && sent.toLowerCase() === name) lines++
  }
  return lines
}

// A proxy may have joined two headers. No bearer credential contains a comma, but parameters of other schemes are
// separated by commas.
const JOINED = /^bearer\b|,\s*bearer\b/i
const isJoined = (authorization: string): boolean => authorization.includes(",") && JOINED.test(authorization)

/** The credentials of a request with several: all lines of `Authorization`, each split where a proxy joined it. */
const credentialsOf = ({ headers, source }: Request): ReadonlyArray<string> => {
  const sent = isNodeRequest(source)
    ? source.rawHeaders.filter(
        (_, index, lines) => index % 2 === 1 && lines[index - 1]?.toLowerCase() === "authorization",
      )
    : [headers["authorization"] ?? ""]
  return sent.flatMap((line) => line.split(",")).map((credential) => credential.trim())
}

// Node.js's own check of `Host` is off, because it sends no problem document. HTTP 1.0 does not require the header.
const hostRule: HeaderRule = ({ headers, source }) => {
  if (!isNodeRequest(source)) return undefined
  if (headers["host"] === undefined) return source.httpVersion === "1.1" ? missingHost : undefined
  return linesOf(source.rawHeaders, "host") > 1 ? repeatedHost : undefined
}

const hasSeveralCredentials = ({ headers, source }: Request): boolean => {
  const authorization = headers["authorization"]
  if (authorization === undefined) return false
  return isJoined(authorization) || (isNodeRequest(source) && linesOf(source.rawHeaders, "authorization") > 1)
}

/** The rule of every listener: at most one `Host` and one credential. */
export const headerRule: HeaderRule = (request) =>
  hostRule(request) ?? (hasSeveralCredentials(request) ? repeatedCredential : undefined)

const isPlatformCredential = (credential: string): boolean =>
  new RegExp(`^bearer +${prefixes.platform}`, "i").test(credential)

/**
 * The rule of the platform listener: it rejects every other kind of credential too, also among several, for any path.
 */
export const platformHeaderRule: HeaderRule = (request) => {
  const host = hostRule(request)
  const authorization = request.headers["authorization"]
  if (host !== undefined || authorization === undefined) return host
  if (!hasSeveralCredentials(request)) {
    return authorization === "" || isPlatformCredential(authorization) ? undefined : wrongKind
  }
  return credentialsOf(request).every((credential) => credential === "" || isPlatformCredential(credential))
    ? repeatedCredential
    : wrongKind
}
