/**
 * Creates tokens and their two hashes. The look-up hash finds the row. The salted verification hash uses a pepper that
 * is not in the database, so that a stolen or forged row is useless. Secrets have 256 random bits, so a slow hash would
 * not hinder an attacker.
 */
import { Array, Context, Effect, Layer, Redacted } from "effect"
import { createHmac, createSecretKey, hash as digest, randomBytes } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { isSameSecret } from "../../../kernel/values/SecretComparison.ts"
import { prefixes } from "../Model.ts"
import type { CredentialKind, TokenHashes } from "../Model.ts"

/** Creates, hashes and verifies tokens. */
export class TokenHasher extends Context.Service<
  TokenHasher,
  {
    /** Creates a random token of the kind, with its hashes. */
    readonly issue: (kind: CredentialKind) => Effect.Effect<{ token: Redacted.Redacted; hashes: TokenHashes }>
    /** Hashes a given token (the bootstrap credential). */
    readonly hash: (token: Redacted.Redacted) => TokenHashes
    /** Returns the look-up hash in hexadecimal. */
    readonly lookupHash: (token: Redacted.Redacted) => string
    /** Compares in constant time. Without a row it does the same work and returns false. */
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
      const dummy = { salt: randomBytes(16), verificationHash: randomBytes(32), pepperId: current.id }

      const lookupHash = (token: Redacted.Redacted): string => digest("sha256", Redacted.value(token), "hex")
      // A `KeyObject` is parsed once instead of for each hash. In Node.js a digest is cheaper as a string than as
      // bytes.
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
          const row = stored ?? dummy
          const pepper = older.find(({ id }) => id === row.pepperId) ?? current
          const genuine = isSameSecret(verificationHash(pepper.key, row.salt, token), row.verificationHash)
          return genuine && stored !== undefined && pepper.id === row.pepperId
        },
      })
    }),
  )
}
