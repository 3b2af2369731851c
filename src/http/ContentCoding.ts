/** Compresses text for clients that accept it (RFC 9110, section 12.5.3; contract, part 2, section 13). */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"

/** A content coding that the service can apply, by its name in `accept-encoding`. */
export type ContentCoding = "br" | "gzip"

/** Bytes below which compression saves nothing that a network packet would notice. */
export const MIN_COMPRESSED_BYTES = 1024

const PREFERRED: ReadonlyArray<ContentCoding> = ["br", "gzip"]

const REJECTED = /^0(\.0{0,3})?$/

/** Selects the coding of a response, brotli before gzip, or `undefined` if the client accepts neither. */
export const negotiate = (acceptEncoding: string | undefined): ContentCoding | undefined => {
  if (acceptEncoding === undefined) return undefined
  const accepted = new Map(
    acceptEncoding.split(",").map((member) => {
      const [name = "", ...parameters] = member.toLowerCase().split(";")
      const quality = parameters.map((parameter) => /^\s*q\s*=\s*(\S+)\s*$/.exec(parameter)?.[1]).find(Boolean)
      return [name.trim(), !REJECTED.test(quality ?? "1")]
    }),
  )
  return PREFERRED.find((coding) => accepted.get(coding) ?? accepted.get("*") ?? false)
}

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/**
 * Compresses bytes on a thread of Node.js's pool. `small` takes the time to make files small that are compressed once and sent often;
 * without it compression is as fast as possible, for responses that are sent once.
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
