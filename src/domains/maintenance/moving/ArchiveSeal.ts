/**
 * The seal of an organization's file: an HMAC under a key that both installations have. The file does not contain it.
 * The digests hold the rows of the organization's tables; the seal also holds the header with its keys, and the people.
 */
import { createHmac } from "node:crypto"
import type { PurposeKey, Secrets } from "../../../kernel/ports/KeyRing.ts"
import { isSameSecret } from "../../../kernel/values/SecretComparison.ts"
import type { End, Header } from "./MoveRules.ts"

/** Why a file without its seal is rejected. */
export const CHANGED_FILE = "The file was changed after its export: its seal does not fit its lines. Export again."

const keysOf = (secrets: Secrets["Service"]) => secrets.keysFor("organization-file")

/** The key that seals what this installation exports. */
export const sealingKey = (secrets: Secrets["Service"]): PurposeKey => keysOf(secrets)[0]

/** Takes the lines of a file in their order: all but the last one. */
export const makeSeal = (key: PurposeKey) => {
  const hmac = createHmac("sha256", key.bytes)
  return {
    add: (line: string): void => {
      hmac.update(line).update("\n")
    },
    /** Ends the seal with the digests of the last line, and returns its text. */
    textWith: (digests: End["digests"]): string => hmac.update(JSON.stringify(digests)).digest("hex"),
  }
}

export type Seal = ReturnType<typeof makeSeal>

/** The seal that the lines of a file are compared by. `undefined` if this installation does not have its key. */
export const sealOfFile = (secrets: Secrets["Service"], { sealedWith }: Header): Seal | undefined => {
  const key = keysOf(secrets).find(({ id }) => id === sealedWith)
  return key === undefined ? undefined : makeSeal(key)
}

/** Whether the last line of a file has the seal that its lines give. Ends the seal. */
export const isSealedBy = (seal: Seal, end: End): boolean =>
  isSameSecret(Buffer.from(seal.textWith(end.digests), "hex"), Buffer.from(end.seal, "hex"))
