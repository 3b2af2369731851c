/** Secrets that deliveries are signed with (Standard Webhooks): random, sealed at rest, several during a rotation. */
import { Context, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { makeLruCache } from "../../../kernel/concurrency/LruCache.ts"
import { SecretBox } from "../../../kernel/ports/SecretBox.ts"
import type { SealedPlace } from "../../../kernel/ports/SecretBox.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { EndpointsRepo } from "./Repo.ts"
import { MAX_ACTIVE_SECRETS, SECRET_OVERLAP_MS } from "./Rules.ts"

const random = SecureRandom.make(SecureRandom.randomBytesUnsafe)

// Endpoints deliver all day, and to open a secret takes longer than to sign with it. What is forgotten is opened again.
const MAX_CACHED_SECRETS = 2_000

// Standard Webhooks asks for 24 to 64 bytes.
const SECRET_BYTES = 32

/** Where a secret of an endpoint is sealed. */
export const secretPlace = (organizationId: string, endpointId: string): SealedPlace => ({
  purpose: "webhook-secret",
  boundTo: [organizationId, endpointId],
})

/** Makes and opens the secrets of endpoints. */
export class SigningSecrets extends Context.Service<
  SigningSecrets,
  {
    /** A new secret, `whsec_` and base64. Those before it end after 24 hours, or when they would have ended already. */
    readonly issue: (organizationId: string, endpointId: string) => Effect.Effect<Redacted.Redacted, never, Transaction>
    /** The secrets that sign at this time, newest first; none for an endpoint that is not there. */
    readonly findActive: (
      organizationId: string,
      endpointId: string,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<Redacted.Redacted>>
    /** Opens secrets of an endpoint that were read along with something else. */
    readonly open: (
      organizationId: string,
      endpointId: string,
      sealed: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Redacted.Redacted>>
  }
>()("keyshelf/webhooks/WebhookSecrets") {
  static readonly layer = Layer.effect(
    SigningSecrets,
    Effect.gen(function* () {
      const repo = yield* EndpointsRepo
      const box = yield* SecretBox

      const opened = makeLruCache<Redacted.Redacted>(MAX_CACHED_SECRETS, () => 1)

      const openOne = (organizationId: string, endpointId: string, text: string) => {
        const name = `${organizationId} ${endpointId} ${text}`
        const known = opened.get(name)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.map(box.open(secretPlace(organizationId, endpointId), text), (secret) => {
          const redacted = Redacted.make(secret)
          opened.set(name, redacted)
          return redacted
        })
      }

      const open = (organizationId: string, endpointId: string, sealed: ReadonlyArray<string>) =>
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
