/**
 * Encrypts with AES-256-GCM as `v1.<key id>.<nonce>.<ciphertext and tag>` in base64. Its alphabet has no `_`, so that a
 * sealed text never looks like a credential by chance. Older texts in base64url can still be opened.
 */
import { Effect, Layer } from "effect"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { SecretBox } from "../kernel/ports/SecretBox.ts"
import type { SealContext } from "../kernel/ports/SecretBox.ts"
import { Secrets } from "../kernel/ports/KeyRing.ts"

const NONCE_BYTES = 12
const TAG_BYTES = 16

// JSON keeps the names separate: ["a", "bc"] and ["ab", "c"] give different associated data.
const associatedData = ({ boundTo, purpose }: SealContext) => Buffer.from(JSON.stringify([purpose, ...boundTo]))

/** The production implementation of {@link SecretBox}. */
export const layer = Layer.effect(
  SecretBox,
  Effect.gen(function* () {
    const secrets = yield* Secrets

    const seal = (place: SealContext, text: string) =>
      Effect.sync(() => {
        const [key] = secrets.keysFor(place.purpose)
        const nonce = randomBytes(NONCE_BYTES)
        const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(associatedData(place))
        const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
        return `v1.${key.id}.${nonce.toString("base64")}.${sealed.toString("base64")}`
      })

    const open = (place: SealContext, sealed: string) =>
      Effect.sync(() => {
        const [version, keyId, nonce, data] = sealed.split(".")
        const key = secrets.keysFor(place.purpose).find(({ id }) => id === keyId)
        if (version !== "v1" || nonce === undefined || data === undefined)
          throw new Error("The text is not in the sealed format")
        if (key === undefined) {
          throw new Error(
            `A stored secret was encrypted with the key "${keyId}", which SERVICE_SECRET_KEY does not contain`,
          )
        }
        const bytes = Buffer.from(data, "base64url")
        const decipher = createDecipheriv("aes-256-gcm", key.bytes, Buffer.from(nonce, "base64url"), {
          authTagLength: TAG_BYTES,
        })
          .setAAD(associatedData(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString("utf8")
      })

    return SecretBox.of({ seal, open })
  }),
)
