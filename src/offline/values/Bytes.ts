/** Canonical base64url without padding (RFC 4648, 5), and SHA-256. */
import { isText } from "./Unknown.ts"

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

const values = new Map(Array.from(ALPHABET, (character, value) => [character.charCodeAt(0), value]))

/** The bytes of a text, `undefined` if it is not canonical: other characters, padding, or spare bits that are not zero. */
export const decoded = (text: unknown): Uint8Array<ArrayBuffer> | undefined => {
  if (!isText(text) || text.length % 4 === 1) return undefined
  const bytes = new Uint8Array((text.length * 3) >> 2)
  let bits = 0
  let count = 0
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const value = values.get(text.charCodeAt(index))
    if (value === undefined) return undefined
    // Bits that are shifted out are already written.
    bits = (bits << 6) | value
    count += 6
    if (count > 7) {
      count -= 8
      bytes[length++] = bits >> count
    }
  }
  return (bits & ((1 << count) - 1)) === 0 ? bytes : undefined
}

const encoded = (bytes: Uint8Array): string => {
  let text = ""
  for (let bit = 0; bit < bytes.length * 8; bit += 6) {
    const at = bit >> 3
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    text += ALPHABET.charAt((pair >> (10 - (bit & 7))) & 63)
  }
  return text
}

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** The SHA-256 of a text's UTF-8 bytes, in base64url. */
export const hashOf = async (text: string): Promise<string> =>
  encoded(new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", utf8(text))))
