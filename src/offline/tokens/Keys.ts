/** Which keys are trusted: those that are part of the product, and those that bundles of trusted keys named. */
import { decoded } from "../values/Bytes.ts"
import { isRecord, isText, own } from "../values/Unknown.ts"

/** How many keys may lie between a learned key and a pinned one. */
const MAX_STEPS = 8

const KEY_BYTES = 32

/** A trusted key: pinned in the product, or a learned key. */
export interface TrustedKey {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly isPinned: boolean
}

/** The trusted key of an id, if there is one. */
export type Keyring = (kid: unknown) => TrustedKey | undefined

const bytesOf = (x: unknown): Uint8Array<ArrayBuffer> | undefined => {
  const bytes = decoded(x)
  return bytes?.length === KEY_BYTES ? bytes : undefined
}

/** Whether a value is a public Ed25519 key with an id. */
export const isKey = (key: unknown): key is { readonly kid: string; readonly x: string } =>
  isRecord(key) && key["kty"] === "OKP" && key["crv"] === "Ed25519" && isText(key["kid"]) && !!bytesOf(key["x"])

const pinnedOf = (keys: unknown): unknown => {
  const set = own(keys, "keys")
  return Array.isArray(set) ? Object.fromEntries(set.filter(isKey).map(({ kid, x }) => [kid, x])) : keys
}

/** The keyring of pinned keys and learned keys. A pinned key never counts as a learned one. */
export const makeKeyring = (keys: unknown, learned: unknown): Keyring => {
  const pinned = pinnedOf(keys)
  return (kid) => {
    let last = kid
    for (let step = 0; step < MAX_STEPS && own(pinned, last) === undefined; step++) last = own(own(learned, last), "by")
    const isPinned = last === kid
    const bytes = bytesOf(isPinned ? own(pinned, kid) : own(own(learned, kid), "x"))
    return bytes && bytesOf(own(pinned, last)) ? { bytes, isPinned } : undefined
  }
}
