/** Files that the service sends unchanged: each has an entity tag and is compressed once per coding. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { compress, MIN_COMPRESSED_BYTES, negotiate } from "../../ContentCoding.ts"
import type { ContentCoding } from "../../ContentCoding.ts"

/** A page, script, style sheet or document. */
export interface Asset {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** The hash of the content, without quotes. */
  readonly hash: string
  /** Headers besides those of the content, such as a content security policy. */
  readonly headers: Readonly<Record<string, string>>
  readonly compressed: Map<ContentCoding, Promise<Uint8Array>>
}

// For everything below `/docs` and the OpenAPI documents, whatever their type.
const SHARED_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  // Browsers revalidate on each visit, so that a new version of the service applies at once.
  "cache-control": "no-cache",
  vary: "accept-encoding",
}

/** Makes an asset of a text. */
export const make = (text: string, contentType: string, headers: Readonly<Record<string, string>> = {}): Asset => {
  const bytes = new TextEncoder().encode(text)
  return {
    contentType,
    bytes,
    hash: createHash("sha256").update(bytes).digest("base64url").slice(0, 22),
    headers,
    compressed: new Map(),
  }
}

const bytesOf = (asset: Asset, coding: ContentCoding): Promise<Uint8Array> => {
  const known = asset.compressed.get(coding)
  if (known !== undefined) return known
  const compressing = compress(asset.bytes, coding, true)
  asset.compressed.set(coding, compressing)
  return compressing
}

/** Whether `if-none-match` names the tag. Proxies that compress make tags weak. */
const isCached = (ifNoneMatch: string | undefined, tag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((sent) => sent.trim().replace(/^W\//, "") === tag)

/** Sends an asset, compressed if the client accepts it, or 304 if the client has it. */
export const respond = (asset: Asset) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const accepted = negotiate(request.headers["accept-encoding"])
    const coding = asset.bytes.byteLength < MIN_COMPRESSED_BYTES ? undefined : accepted
    // Strong tags differ by coding (RFC 9110, section 8.8.3).
    const etag = `"${asset.hash}${coding === undefined ? "" : `-${coding}`}"`
    const headers = { ...SHARED_HEADERS, ...asset.headers, etag }
    if (isCached(request.headers["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers })
    const bytes = coding === undefined ? asset.bytes : yield* Effect.promise(() => bytesOf(asset, coding))
    return HttpServerResponse.uint8Array(bytes, {
      contentType: asset.contentType,
      headers: coding === undefined ? headers : { ...headers, "content-encoding": coding },
    })
  })

/** An effect that loads something on its first run and returns the same afterwards. A failure is not retained. */
export const once = <A>(load: () => Promise<A>): Effect.Effect<A> => {
  let loading: Promise<A> | undefined
  return Effect.promise(() => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  })
}
