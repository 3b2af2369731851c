/**
 * The three signatures of a release, from one Ed25519 key: minisign's form, the plain form for openssl, and a Sigstore bundle around the
 * provenance. All are written with `node:crypto` alone. The same key and the same files have the same signatures.
 */
import { createHash, createPublicKey, sign, verify } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const ED25519_BYTES = 32

/** The 32 bytes of a public key, or of the public part of a private one: the last ones of its DER form. */
const rawKey = (key: KeyObject): Buffer => {
  if (key.asymmetricKeyType !== "ed25519") throw new Error("The key is not an Ed25519 key")
  const publicKey = key.type === "private" ? createPublicKey(key) : key
  return publicKey.export({ format: "der", type: "spki" }).subarray(-ED25519_BYTES)
}

/** The eight bytes by which minisign finds the key of a signature. */
const keyNumber = (key: KeyObject): Buffer => createHash("sha256").update(rawKey(key)).digest().subarray(0, 8)

/** The name of a key as minisign prints it. */
export const keyId = (key: KeyObject): string => Buffer.from(keyNumber(key).toReversed()).toString("hex").toUpperCase()

/** A public key as minisign reads it. */
export const minisignKey = (key: KeyObject): string => {
  const content = Buffer.concat([Buffer.from("Ed"), keyNumber(key), rawKey(key)])
  return `untrusted comment: minisign public key ${keyId(key)}\n${content.toString("base64")}\n`
}

const prehashed = (content: Uint8Array): Buffer => createHash("blake2b512").update(content).digest()

const UNTRUSTED = "untrusted comment: "
const TRUSTED = "trusted comment: "

const minisign = (content: Uint8Array, key: KeyObject, comment: string): string => {
  const signature = sign(null, prehashed(content), key)
  const signed = Buffer.concat([Buffer.from("ED"), keyNumber(key), signature])
  const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key)
  const lines = [
    `${UNTRUSTED}signature of the key ${keyId(key)}`,
    signed.toString("base64"),
    `${TRUSTED}${comment}`,
    global.toString("base64"),
  ]
  return `${lines.join("\n")}\n`
}

const isMinisigned = (content: Uint8Array, text: string, key: KeyObject, comment: string): boolean => {
  const [, signed = "", trusted = "", global = ""] = text.split("\n")
  const bytes = Buffer.from(signed, "base64")
  const [head, signature] = [bytes.subarray(0, 10), bytes.subarray(10)]
  return (
    head.equals(Buffer.concat([Buffer.from("ED"), keyNumber(key)])) &&
    verify(null, prehashed(content), key, signature) &&
    trusted === `${TRUSTED}${comment}` &&
    verify(null, Buffer.concat([signature, Buffer.from(comment)]), key, Buffer.from(global, "base64"))
  )
}

const PAYLOAD_TYPE = "application/vnd.in-toto+json"

/** What a DSSE envelope signs: the type and the content, each with its length. */
const preAuthenticated = (content: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${content.length} `), content])

const sigstoreBundle = (content: Uint8Array, key: KeyObject): string => {
  const bundle = {
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: { publicKey: { hint: keyId(key) }, tlogEntries: [] },
    dsseEnvelope: {
      payload: Buffer.from(content).toString("base64"),
      payloadType: PAYLOAD_TYPE,
      signatures: [{ sig: sign(null, preAuthenticated(content), key).toString("base64"), keyid: "" }],
    },
  }
  return `${JSON.stringify(bundle, null, 2)}\n`
}

const isBundleOf = (content: Uint8Array, text: string, key: KeyObject): boolean => {
  const { dsseEnvelope } = JSON.parse(text)
  return (
    dsseEnvelope.payload === Buffer.from(content).toString("base64") &&
    dsseEnvelope.payloadType === PAYLOAD_TYPE &&
    verify(null, preAuthenticated(content), key, Buffer.from(dsseEnvelope.signatures[0].sig, "base64"))
  )
}

/** What the trusted comment of a release says. */
const commentOf = (folder: string): string => {
  const { commit, version } = JSON.parse(readFileSync(join(folder, "release.json"), "utf8"))
  return `keyshelf ${version} ${commit}`
}

const SUMS = "SHA256SUMS"
const PROVENANCE = "provenance.json"

interface Form {
  readonly file: string
  readonly signed: string
  readonly write: (content: Uint8Array, key: KeyObject, comment: string) => Uint8Array | string
  readonly isValid: (content: Uint8Array, signature: Buffer, key: KeyObject, comment: string) => boolean
}

const forms: ReadonlyArray<Form> = [
  {
    file: "SHA256SUMS.minisig",
    signed: SUMS,
    write: minisign,
    isValid: (content, signature, key, comment) => isMinisigned(content, signature.toString("utf8"), key, comment),
  },
  {
    file: "SHA256SUMS.sig",
    signed: SUMS,
    write: (content, key) => sign(null, content, key),
    isValid: (content, signature, key) => verify(null, content, key, signature),
  },
  {
    file: "provenance.sigstore.json",
    signed: PROVENANCE,
    write: sigstoreBundle,
    isValid: (content, signature, key) => isBundleOf(content, signature.toString("utf8"), key),
  },
]

/** The files that `signRelease` adds. */
export const SIGNATURES: ReadonlyArray<string> = forms.map(({ file }) => file)

/** Adds the signatures to the folder of a release, and changes nothing else. */
export const signRelease = (folder: string, key: KeyObject): void => {
  for (const { file, signed, write } of forms) {
    writeFileSync(join(folder, file), write(readFileSync(join(folder, signed)), key, commentOf(folder)))
  }
}

const isValid = (folder: string, { file, isValid: matches, signed }: Form, key: KeyObject): boolean => {
  try {
    return matches(readFileSync(join(folder, signed)), readFileSync(join(folder, file)), key, commentOf(folder))
  } catch {
    return false
  }
}

/** The signatures that are missing, or are not those of the key. */
export const wrongSignatures = (folder: string, key: KeyObject): ReadonlyArray<string> =>
  forms
    .filter((form) => !isValid(folder, form, key))
    .map(({ file, signed }) => `${file} is not a signature of ${signed} by the key ${keyId(key)}`)
