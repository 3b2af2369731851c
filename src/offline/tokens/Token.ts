/** Opens a signed token: a compact JWS of Ed25519 (RFC 7515, RFC 8037). */
import { isBounded } from "../values/Bounds.ts"
import { decoded, utf8 } from "../values/Bytes.ts"
import { check } from "./Faults.ts"
import type { Keyring, TrustedKey } from "./Keys.ts"
import { isRecord, isText } from "../values/Unknown.ts"

/** A token whose signature is good. */
export interface Opened {
  readonly kid: string
  readonly key: TrustedKey
  readonly claims: Readonly<Record<string, unknown>>
}

const WHITESPACE = /^[\t\n\v\f\r ]*$/

/** The JSON object in UTF-8 bytes. Throws if there is none. */
const objectIn = (bytes: Uint8Array): Readonly<Record<string, unknown>> => {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  check(isBounded(text))
  const value: unknown = JSON.parse(text)
  check(isRecord(value))
  return value
}

/**
 * Opens a token of a type. Checks form, key, signature and version, in this order. The payload is parsed only if the
 * signature is valid. Throws faults.
 */
export const open = async (text: unknown, typ: string, maxLength: number, keyring: Keyring): Promise<Opened> => {
  check(isText(text))
  const token = text.trim()
  // `trim` removes whitespace that is not ASCII, too.
  check(token.length <= maxLength && WHITESPACE.test(text.replace(token, "")))
  const parts = token.split(".", 4)
  const [header, payload, signature] = parts.map(decoded)
  check(parts.length === 3 && header && payload && signature)
  const { alg, kid, ...rest } = objectIn(header)
  const isOurs = rest["typ"] === typ && (alg === "EdDSA" || alg === "Ed25519") && !("crit" in rest)
  check(isOurs && isText(kid))
  const key = keyring(kid)
  check(key, "UNKNOWN_KEY")
  // A runtime without Ed25519, and a page that was not loaded by HTTPS, cannot verify at all.
  const subtle = globalThis.crypto?.subtle
  const imported = await subtle?.importKey("raw", key.bytes, "Ed25519", false, ["verify"]).catch(() => undefined)
  check(imported, "UNSUPPORTED")
  const signed = utf8(token.slice(0, token.lastIndexOf(".")))
  check(await subtle.verify("Ed25519", imported, signature, signed), "BAD_SIGNATURE")
  const claims = objectIn(payload)
  check(claims["v"] === 1, "UNSUPPORTED")
  return { kid, key, claims }
}
