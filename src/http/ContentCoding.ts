/** Compresses text for clients that accept it (RFC 9110, section 12.5.3). */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"

/** A content coding that the service can apply, by its name in `accept-encoding`. */
export type ContentCoding = "br" | "gzip"

/** Bytes below which compression saves nothing that a network packet would notice. */
export const MIN_COMPRESSED_BYTES = 1024

const PREFERRED: ReadonlyArray<ContentCoding> = ["br", "gzip"]

// A weight of RFC 9110, section 12.4.2.
const MEMBER = /^([!#$%&'*+.^_`|~\w-]+)(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/

/**
 * The qualities of the codings that a client lists. Malformed entries are ignored, so that such a client gets a
 * response without a coding.
 */
const qualitiesOf = (acceptEncoding: string): ReadonlyMap<string, number> => {
  const qualities = new Map<string, number>()
  for (const member of acceptEncoding.toLowerCase().split(",")) {
    const [, name, quality = "1"] = MEMBER.exec(member.trim()) ?? []
    if (name !== undefined) qualities.set(name.replace(/^x-(?=gzip$)/, ""), Number(quality))
  }
  return qualities
}

/**
 * Selects the coding of a response: the one with the greatest quality; brotli before gzip if they are equal. Returns
 * `undefined` if the client accepts neither or prefers a response without a coding.
 */
export const negotiate = (acceptEncoding: string | undefined): ContentCoding | undefined => {
  if (acceptEncoding === undefined) return undefined
  const qualities = qualitiesOf(acceptEncoding)
  let best: ContentCoding | undefined
  let bestQuality = 0
  for (const coding of PREFERRED) {
    const quality = qualities.get(coding) ?? qualities.get("*") ?? 0
    if (quality > bestQuality) [best, bestQuality] = [coding, quality]
  }
  return (qualities.get("identity") ?? 0) > bestQuality ? undefined : best
}

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/**
 * Compresses bytes on a thread of Node.js's pool. `small` compresses as far as possible, for files that are compressed
 * once and sent often. Without it compression is as fast as possible, for responses that are sent once.
 */
export const compress = (bytes: Uint8Array, coding: ContentCoding, small: boolean): Promise<Uint8Array> =>
  coding === "br"
    ? brotli(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: small ? 9 : 4,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
        },
      })
    : gzipped(bytes, { level: small ? 9 : 3 })
