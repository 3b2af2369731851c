/**
 * Secrets that sign deliveries (Standard Webhooks): random, sealed at rest, and several per endpoint during a rotation.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { makeLruCache } from "../../../kernel/concurrency/LruCache.ts"
import { SecretBox } from "../../../kernel/ports/SecretBox.ts"
import type { SealContext } from "../../../kernel/ports/SecretBox.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { EndpointsRepo } from "./Repo.ts"
import { MAX_ACTIVE_SECRETS, SECRET_OVERLAP_MS } from "./Rules.ts"

const random = SecureRandom.make(SecureRandom.randomBytesUnsafe)

// Opening a secret takes longer than signing with it, so opened secrets are cached.
const MAX_CACHED_SECRETS = 2_000

// Standard Webhooks requires 24 to 64 bytes.
const SECRET_BYTES = 32

/** The context that a secret of an endpoint is sealed for. */
export const secretPlace = (organizationId: OrganizationId, endpointId: string): SealContext => ({
  purpose: "webhook-secret",
  boundTo: [organizationId, endpointId],
})

/** Issues and opens the secrets of endpoints. */
export class SigningSecrets extends Context.Service<
  SigningSecrets,
  {
    /**
     * Issues a secret, `whsec_` and base64. The previous ones expire after 24 hours, unless they already expire
     * earlier.
     */
    readonly issue: (
      organizationId: OrganizationId,
      endpointId: string,
    ) => Effect.Effect<Redacted.Redacted, never, Transaction>
    /** Finds the secrets that are active at this time, newest first; none if the endpoint does not exist. */
    readonly findActive: (
      organizationId: OrganizationId,
      endpointId: string,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<Redacted.Redacted>>
    /** Opens sealed secrets that another query has read. */
    readonly open: (
      organizationId: OrganizationId,
      endpointId: string,
      sealed: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Redacted.Redacted>>
  }
>()("keyshelf/webhooks/endpoints/SigningSecrets") {
  static readonly layer = Layer.effect(
    SigningSecrets,
    Effect.gen(function* () {
      const repo = yield* EndpointsRepo
      const box = yield* SecretBox

      const cache = makeLruCache<Redacted.Redacted>(MAX_CACHED_SECRETS, () => 1)

      const openOne = (organizationId: OrganizationId, endpointId: string, text: string) => {
        const key = `${organizationId} ${endpointId} ${text}`
        const cached = cache.get(key)
        if (cached !== undefined) return Effect.succeed(cached)
        return Effect.map(box.open(secretPlace(organizationId, endpointId), text), (secret) => {
          const redacted = Redacted.make(secret)
          cache.set(key, redacted)
          return redacted
        })
      }

      const open = (organizationId: OrganizationId, endpointId: string, sealed: ReadonlyArray<string>) =>
        Effect.forEach(sealed, (text) => openOne(organizationId, endpointId, text))

      return SigningSecrets.of({
        issue: Effect.fnUntraced(function* (organizationId, endpointId) {
          yield* Transaction
          const createdAt = yield* now
          const bytes = yield* random.randomBytes(SECRET_BYTES)
          const text = `whsec_${Buffer.from(bytes).toString("base64")}`
          const sealed = yield* box.seal(secretPlace(organizationId, endpointId), text)
          yield* repo.expireSecrets(organizationId, endpointId, new Date(createdAt.getTime() + SECRET_OVERLAP_MS))
          yield* repo.insertSecret(organizationId, endpointId, { id: yield* newId, sealed, createdAt })
          yield* repo.deleteSecrets(organizationId, endpointId, createdAt, MAX_ACTIVE_SECRETS)
          return Redacted.make(text)
        }),
        findActive: Effect.fnUntraced(function* (organizationId, endpointId, at) {
          const rows = yield* repo.findActiveSecrets(organizationId, endpointId, at)
          const sealed = rows.map((row) => row.sealed)
          return yield* open(organizationId, endpointId, sealed)
        }),
        open,
      })
    }),
  )
}
