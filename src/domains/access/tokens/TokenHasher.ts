/**
 * Token text and its two hashes (interface specification, section 5.12). The look-up hash finds the row; the salted
 * verification hash, keyed with a pepper that is not in the database, makes a stolen or forged row useless. The
 * secret has 256 random bits, so a slow hash would slow down nobody but us.
 */
import { Array, Context, Effect, Layer, Redacted } from "effect"
import { createHmac, createSecretKey, hash as digest, randomBytes, timingSafeEqual } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { prefixes } from "../Model.ts"
import type { CredentialKind, TokenHashes } from "../Model.ts"

/** Makes, finds and verifies token texts. */
export class TokenHasher extends Context.Service<
  TokenHasher,
  {
    /** A new random token of the kind, with its hashes. */
    readonly issue: (kind: CredentialKind) => Effect.Effect<{ token: Redacted.Redacted; hashes: TokenHashes }>
    /** The hashes of a given token text (the bootstrap credential). */
    readonly hash: (token: Redacted.Redacted) => TokenHashes
    /** As hexadecimal digits. */
    readonly lookupHash: (token: Redacted.Redacted) => string
    /** Constant in time, and the same work when there is no row to compare with. */
    readonly verify: (
      token: Redacted.Redacted,
      stored: Pick<TokenHashes, "salt" | "verificationHash" | "pepperId"> | undefined,
    ) => boolean
  }
>()("keyshelf/access/TokenHasher") {
  static readonly layer = Layer.effect(
    TokenHasher,
    Effect.gen(function* () {
      const [current, ...older] = Array.map((yield* Secrets).keysFor("token-pepper"), ({ bytes, id }) => ({
        id,
        key: createSecretKey(bytes),
      }))
      const nothing = { salt: randomBytes(16), verificationHash: randomBytes(32), pepperId: current.id }

      const lookupHash = (token: Redacted.Redacted): string => digest("sha256", Redacted.value(token), "hex")
      // A key object is read once, not for each hash, and Node.js hands a digest out as a text for less than as bytes.
      const verificationHash = (pepper: KeyObject, salt: Uint8Array, token: Redacted.Redacted): Buffer => {
        const digits = createHmac("sha256", pepper).update(salt).update(Redacted.value(token)).digest("latin1")
        return Buffer.from(digits, "latin1")
      }

      const hash = (token: Redacted.Redacted): TokenHashes => {
        const salt = randomBytes(16)
        return {
          lookupHash: Buffer.from(lookupHash(token), "hex"),
          salt,
          verificationHash: verificationHash(current.key, salt, token),
          pepperId: current.id,
          lastFour: Redacted.value(token).slice(-4),
        }
      }

      return TokenHasher.of({
        lookupHash,
        hash,
        issue: (kind) =>
          Effect.sync(() => {
            const token = Redacted.make(prefixes[kind] + randomBytes(32).toString("base64url"))
            return { token, hashes: hash(token) }
          }),
        verify: (token, stored) => {
          const row = stored ?? nothing
          const pepper = older.find(({ id }) => id === row.pepperId) ?? current
          const genuine = timingSafeEqual(verificationHash(pepper.key, row.salt, token), row.verificationHash)
          return genuine && stored !== undefined && pepper.id === row.pepperId
        },
      })
    }),
  )
}
