/** Files that the service sends unchanged: each has an entity tag and is compressed once per coding. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { matchesEtag } from "../../kernel/values/EntityTag.ts"
import { compress, MIN_COMPRESSED_BYTES, negotiate } from "../ContentCoding.ts"
import type { ContentCoding } from "../ContentCoding.ts"

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

// Headers of every file below `/console` and `/docs`, and of the OpenAPI documents. An asset can override them.
const SHARED_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  // Browsers revalidate on each visit, so that a new version of the service applies at once.
  "cache-control": "no-cache",
  vary: "accept-encoding",
}

const TEXT = /^(text\/|image\/svg\+xml|application\/([\w.-]+\+)?json\b)/

const hashOf = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("base64url").slice(0, 22)
}

/**
 * Makes an asset of a text or of the bytes of a file. `compressed` are the codings of the content that were made before; the
 * others are made on the first request for them.
 */
export const make = (
  content: string | Uint8Array,
  contentType: string,
  headers: Readonly<Record<string, string>> = {},
  compressed: ReadonlyMap<ContentCoding, Uint8Array> = new Map(),
): Asset => {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
  return {
    contentType,
    bytes,
    hash: hashOf(bytes),
    headers,
    compressed: new Map(Array.from(compressed, ([coding, made]) => [coding, Promise.resolve(made)] as const)),
  }
}

/** The asset with these headers too. Its tag differs, because a client that has the asset keeps the headers it came with. */
export const withHeaders = (asset: Asset, headers: Readonly<Record<string, string>>): Asset => ({
  ...asset,
  headers: { ...asset.headers, ...headers },
  hash: hashOf(asset.hash, JSON.stringify(headers)),
})

const bytesOf = (asset: Asset, coding: ContentCoding): Promise<Uint8Array> => {
  const known = asset.compressed.get(coding)
  if (known !== undefined) return known
  const compressing = compress(asset.bytes, coding, true)
  asset.compressed.set(coding, compressing)
  return compressing
}

/** Sends an asset, compressed if the client accepts it, or 304 if the client has it. */
export const respond = (asset: Asset) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const accepted = negotiate(request.headers["accept-encoding"])
    // The formats of pictures and fonts are compressed already.
    const isCompressible = TEXT.test(asset.contentType) && asset.bytes.byteLength >= MIN_COMPRESSED_BYTES
    const coding = isCompressible ? accepted : undefined
    // Strong tags differ by coding (RFC 9110, section 8.8.3).
    const etag = `"${asset.hash}${coding === undefined ? "" : `-${coding}`}"`
    const headers = { ...SHARED_HEADERS, ...asset.headers, etag }
    if (matchesEtag(etag, request.headers["if-none-match"])) return HttpServerResponse.empty({ status: 304, headers })
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
