/**
 * Compresses responses to GET requests for clients that accept it. Checks, reports and other POST requests are the hot
 * path: many clients send `accept-encoding` by default, and compressing takes longer than the check itself.
 */
import { Effect } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { compress, MIN_COMPRESSED_BYTES, negotiate } from "../ContentCoding.ts"

const TEXT = /^(text\/|application\/(\w[\w.-]*\+)?json\b)/

// Streams are not compressed: their events must leave at once.
const bodyToCompress = ({ body, headers }: HttpServerResponse.HttpServerResponse): HttpBody.Uint8Array | undefined =>
  body._tag === "Uint8Array" &&
  body.contentLength >= MIN_COMPRESSED_BYTES &&
  headers["content-encoding"] === undefined &&
  TEXT.test(headers["content-type"] ?? body.contentType)
    ? body
    : undefined

const ACCEPT_ENCODING = "accept-encoding"

/**
 * Returns the response with a compressed body, or `undefined` if it stays as it is. A response that varies by `accept-encoding` has been
 * compressed before, as files are.
 */
export const compressed = (
  { headers: sent, method }: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
): Effect.Effect<HttpServerResponse.HttpServerResponse> | undefined => {
  if (method !== "GET" && method !== "HEAD") return undefined
  const { etag, vary } = response.headers
  const body = bodyToCompress(response)
  // What is never compressed, such as a JWT, has one coding, and its tag stays strong.
  const type = response.headers["content-type"]
  if (body === undefined && type !== undefined && !TEXT.test(type)) return undefined
  if ((body === undefined && etag === undefined) || vary?.includes(ACCEPT_ENCODING) === true) return undefined
  const coding = negotiate(sent[ACCEPT_ENCODING])
  const varying = HttpServerResponse.setHeaders(response, {
    vary: vary === undefined ? ACCEPT_ENCODING : `${vary}, ${ACCEPT_ENCODING}`,
    // A weak tag fits all codings (RFC 9110, section 8.8.1). A 304 and a short body have the same tag as a compressed one.
    ...(coding === undefined || etag === undefined || etag.startsWith("W/") ? {} : { etag: `W/${etag}` }),
  })
  if (coding === undefined || body === undefined) return Effect.succeed(varying)
  const contentType = response.headers["content-type"] ?? body.contentType
  return Effect.promise(() => compress(body.body, coding, false)).pipe(
    Effect.map((bytes) =>
      HttpServerResponse.setBody(
        HttpServerResponse.setHeaders(varying, {
          "content-encoding": coding,
          "content-length": String(bytes.byteLength),
        }),
        HttpBody.uint8Array(bytes, contentType),
      ),
    ),
    // Takes milliseconds. The caller must notice when the request ends, to count it.
    Effect.uninterruptible,
  )
}
