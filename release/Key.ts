/** The project's key: one Ed25519 key in a file that a passphrase encrypts. It stays offline. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { keyId, minisignKey } from "./Signature.ts"

/** The files of the public key, beside the code that builds a release. */
export const PUBLIC_KEY = "release/keyshelf.pub"
export const PUBLIC_KEY_PEM = "release/keyshelf.pub.pem"

const MIN_PASSPHRASE = 12

/** Makes a key, and writes its public part into `folder`. Files that exist are kept: a key is never replaced by accident. */
export const makeKey = (file: string, passphrase: string, folder: string): string => {
  if (passphrase.length < MIN_PASSPHRASE) {
    throw new Error(`The passphrase needs at least ${MIN_PASSPHRASE} characters`)
  }
  const publicFiles = [PUBLIC_KEY, PUBLIC_KEY_PEM].map((name) => join(folder, name))
  const found = [file, ...publicFiles].find((path) => existsSync(path))
  if (found !== undefined) throw new Error(`${found} exists. Move the old key away first`)
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const encrypted = privateKey.export({ format: "pem", type: "pkcs8", cipher: "aes-256-cbc", passphrase })
  writeFileSync(file, encrypted, { mode: 0o600, flag: "wx" })
  const [minisignFile = "", pemFile = ""] = publicFiles
  writeFileSync(minisignFile, minisignKey(publicKey))
  writeFileSync(pemFile, publicKey.export({ format: "pem", type: "spki" }))
  return keyId(publicKey)
}

/** Reads the private key of a file. A passphrase is asked for only if the file is encrypted. */
export const readKey = async (file: string, passphrase: () => Promise<string>): Promise<KeyObject> => {
  const key = readFileSync(file, "utf8")
  if (!key.includes("ENCRYPTED")) return createPrivateKey(key)
  const answer = await passphrase()
  try {
    return createPrivateKey({ key, passphrase: answer })
  } catch {
    throw new Error(`The passphrase does not open ${file}`)
  }
}

/** Reads a public key in PEM. */
export const readPublicKey = (file: string): KeyObject => createPublicKey(readFileSync(file, "utf8"))
