/** Secrets that deliveries are signed with (Standard Webhooks): random, sealed at rest, several during a rotation. */
import { Context, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { makeLruCache } from "../../../kernel/concurrency/LruCache.ts"
import { SecretBox } from "../../../kernel/ports/SecretBox.ts"
import type { SealedPlace } from "../../../kernel/ports/SecretBox.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { WebhooksRepo } from "./Repo.ts"
import { MOST_SECRETS, OVERLAP_MILLIS } from "./Rules.ts"

const random = SecureRandom.make(SecureRandom.randomBytesUnsafe)

// Endpoints deliver all day, and to open a secret takes longer than to sign with it. What is forgotten is opened again.
const MOST_REMEMBERED = 2_000

// Standard Webhooks asks for 24 to 64 bytes.
const SECRET_BYTES = 32

/** Where a secret of an endpoint is sealed. */
export const secretPlace = (organizationId: string, endpointId: string): SealedPlace => ({
  purpose: "webhook-secret",
  boundTo: [organizationId, endpointId],
})

/** Makes and opens the secrets of endpoints. */
export class WebhookSecrets extends Context.Service<
  WebhookSecrets,
  {
    /** A new secret, `whsec_` and base64. Those before it end after 24 hours, or when they would have ended already. */
    readonly issue: (organizationId: string, endpointId: string) => Effect.Effect<Redacted.Redacted, never, Transaction>
    /** The secrets that sign at this time, newest first; none for an endpoint that is not there. */
    readonly activeFor: (
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
    WebhookSecrets,
    Effect.gen(function* () {
      const repo = yield* WebhooksRepo
      const box = yield* SecretBox

      const opened = makeLruCache<Redacted.Redacted>(MOST_REMEMBERED, () => 1)

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

      return WebhookSecrets.of({
        issue: Effect.fnUntraced(function* (organizationId, endpointId) {
          yield* Transaction
          const createdAt = yield* now
          const bytes = yield* random.randomBytes(SECRET_BYTES)
          const text = `whsec_${Buffer.from(bytes).toString("base64")}`
          const sealed = yield* box.seal(secretPlace(organizationId, endpointId), text)
          yield* repo.endSecrets(organizationId, endpointId, new Date(createdAt.getTime() + OVERLAP_MILLIS))
          yield* repo.insertSecret(organizationId, endpointId, { id: yield* newId, sealed, createdAt })
          yield* repo.removeSecrets(organizationId, endpointId, createdAt, MOST_SECRETS)
          return Redacted.make(text)
        }),
        activeFor: Effect.fnUntraced(function* (organizationId, endpointId, at) {
          const rows = yield* repo.secretsAt(organizationId, endpointId, at)
          const sealed = rows.map((row) => row.sealed)
          return yield* open(organizationId, endpointId, sealed)
        }),
        open,
      })
    }),
  )
}
