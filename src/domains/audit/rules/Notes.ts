/**
 * Signed notes (C2SP `signed-note`) of an event log: its checkpoints (C2SP `tlog-checkpoint`), and the notes of what retention
 * deleted. Pure.
 */
import { createPublicKey, verify } from "node:crypto"
import { keyHash } from "../../signing/VerifierKey.ts"
import { emptyRoot, isSameHash } from "./Tree.ts"
import type { Hash } from "./Tree.ts"

/** The algorithm byte of Ed25519 in verifier keys. */
const ED25519 = 1
const KEY_BYTES = 32
const KEY_ID_BYTES = 4
const MAX_NOTE_CHARACTERS = 1_000_000
const MAX_SIGNATURES = 100

/** The bytes of a text in canonical base64 (RFC 4648, section 4); `undefined` if it is not. */
export const bytesOfBase64 = (text: string): Uint8Array | undefined => {
  const bytes = Buffer.from(text, "base64")
  return bytes.toString("base64") === text ? bytes : undefined
}

/**
 * The first line of the checkpoints of a log. The first log has the name of the organization's key; `keyshelf audit restart` begins
 * others.
 */
export const checkpointOriginOf = (name: string, log: number): string => (log === 1 ? name : `${name}/${log}`)

/** The first line of a note about what retention deleted from a log. */
export const prunedOriginOf = (name: string): string => `${name}/pruned`

/** A key that signs notes, and the name under which it signs. `x` is the public key in base64url. */
export interface NoteKey {
  readonly name: string
  readonly x: string
}

const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/

/** Reads a verifier key; `undefined` if the text is none. */
export const readVerifierKey = (text: string): NoteKey | undefined => {
  const [, name, id, encoded] = VERIFIER_KEY.exec(text) ?? []
  const bytes = encoded === undefined ? undefined : bytesOfBase64(encoded)
  if (name === undefined || bytes === undefined || bytes.length !== KEY_BYTES + 1 || bytes[0] !== ED25519) {
    return undefined
  }
  const x = Buffer.from(bytes.subarray(1)).toString("base64url")
  return keyHash(name, x).toString("hex") === id ? { name, x } : undefined
}

const keyObjectOf = (x: string) => createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })

/** Adds a signature to a text that ends with a line break. */
export const signedNote = (text: string, key: NoteKey, signature: Uint8Array): string =>
  `${text}\n— ${key.name} ${Buffer.concat([keyHash(key.name, key.x), signature]).toString("base64")}\n`

const SIGNATURE = /^— ([^\s+]+) (\S+)$/
// Control characters but the line break; and halves of surrogate pairs, which have no bytes.
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/**
 * Verifies a note. Returns its text, whose last line ends with a line break; `undefined` if none of the keys signed it, if one
 * of their signatures is wrong, or if it is no note. Signatures by others do not count.
 */
const openNote = (note: string, keys: ReadonlyArray<NoteKey>): string | undefined => {
  if (note.length > MAX_NOTE_CHARACTERS || FORBIDDEN.test(note) || !note.endsWith("\n")) return undefined
  const end = note.lastIndexOf("\n\n")
  if (end < 0) return undefined
  const text = note.slice(0, end + 1)
  const lines = note.slice(end + 2, -1).split("\n")
  if (lines.length > MAX_SIGNATURES) return undefined
  let isSigned = false
  for (const line of lines) {
    const [, name, encoded] = SIGNATURE.exec(line) ?? []
    const bytes = encoded === undefined ? undefined : bytesOfBase64(encoded)
    if (name === undefined || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined
    const id = Buffer.from(bytes.subarray(0, KEY_ID_BYTES))
    const key = keys.find((trusted) => trusted.name === name && id.equals(keyHash(name, trusted.x)))
    if (key === undefined) continue
    if (!verify(null, Buffer.from(text), keyObjectOf(key.x), bytes.subarray(KEY_ID_BYTES))) return undefined
    isSigned = true
  }
  return isSigned ? text : undefined
}

/** How many events a log had, and the root of their tree. */
export interface Checkpoint {
  readonly size: number
  readonly root: Hash
}

/** The text of a checkpoint, to be signed. */
export const checkpointText = (origin: string, { root, size }: Checkpoint): string =>
  `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`

const COUNT = /^(0|[1-9]\d{0,15})$/
const countOf = (text: string | undefined): number | undefined =>
  text !== undefined && COUNT.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined

/**
 * Verifies a checkpoint of a log with its public keys in base64url; `undefined` if it is none that one of them signed. `signer` is the
 * name of the keys.
 */
export const openCheckpoint = (
  note: string,
  origin: string,
  keys: ReadonlyArray<string>,
  signer: string = origin,
): Checkpoint | undefined => {
  const text = openNote(
    note,
    keys.map((x) => ({ name: signer, x })),
  )
  const [name, count, encoded, ...extensions] = text?.slice(0, -1).split("\n") ?? []
  const size = countOf(count)
  const root = encoded === undefined ? undefined : bytesOfBase64(encoded)
  if (name !== origin || size === undefined || root?.length !== emptyRoot.length || extensions.includes("")) {
    return undefined
  }
  return size > 0 || isSameHash(root, emptyRoot) ? { size, root } : undefined
}

/** What retention deleted: all events up to a position, which occurred before an instant. */
export interface Pruned {
  readonly upTo: number
  readonly before: string
}

/** The text of a note about what retention deleted, to be signed. */
export const prunedText = (origin: string, { before, upTo }: Pruned): string =>
  `${prunedOriginOf(origin)}\n${upTo}\n${before}\n`

/** Verifies a note about what retention deleted; `undefined` if it is none that one of the keys signed. */
export const openPruned = (note: string, origin: string, keys: ReadonlyArray<string>): Pruned | undefined => {
  const name = prunedOriginOf(origin)
  const text = openNote(
    note,
    keys.map((x) => ({ name, x })),
  )
  const [first, position, before, ...rest] = text?.slice(0, -1).split("\n") ?? []
  const upTo = countOf(position)
  return first === name && upTo !== undefined && before !== undefined && rest.length === 0
    ? { upTo, before }
    : undefined
}
