/**
 * AES-256-GCM: `v1.<key id>.<nonce>.<ciphertext and tag>`, in base64. Its alphabet has no `_`, so that chance never makes a sealed text
 * look like one of our credentials; texts in base64url, as they were sealed before, are opened too.
 */
import { Effect, Layer } from "effect"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { SecretBox } from "../kernel/ports/SecretBox.ts"
import type { SealedPlace } from "../kernel/ports/SecretBox.ts"
import { Secrets } from "../kernel/ports/KeyRing.ts"

const NONCE_BYTES = 12
const TAG_BYTES = 16

// JSON keeps the borders between names: ["a", "bc"] is another place than ["ab", "c"].
const associated = ({ boundTo, purpose }: SealedPlace) => Buffer.from(JSON.stringify([purpose, ...boundTo]))

/** The production implementation of {@link SecretBox}. */
export const layer = Layer.effect(
  SecretBox,
  Effect.gen(function* () {
    const secrets = yield* Secrets

    const seal = (place: SealedPlace, text: string) =>
      Effect.sync(() => {
        const [key] = secrets.keysFor(place.purpose)
        const nonce = randomBytes(NONCE_BYTES)
        const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(associated(place))
        const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
        return `v1.${key.id}.${nonce.toString("base64")}.${sealed.toString("base64")}`
      })

    const open = (place: SealedPlace, sealed: string) =>
      Effect.sync(() => {
        const [version, keyId, nonce, data] = sealed.split(".")
        const key = secrets.keysFor(place.purpose).find(({ id }) => id === keyId)
        if (version !== "v1" || nonce === undefined || data === undefined) throw new Error("Not a sealed text")
        if (key === undefined) {
          throw new Error(
            `A stored secret was encrypted with the key "${keyId}", which SERVICE_SECRET_KEY does not hold`,
          )
        }
        const bytes = Buffer.from(data, "base64url")
        const decipher = createDecipheriv("aes-256-gcm", key.bytes, Buffer.from(nonce, "base64url"), {
          authTagLength: TAG_BYTES,
        })
          .setAAD(associated(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString("utf8")
      })

    return SecretBox.of({ seal, open })
  }),
)
