/**
 * Emits the expiry event of each token once, and deletes tokens that ended long ago (interface specification, section
 * 8).
 */
import { Context, Effect, Layer } from "effect"
import { Events } from "../events/Service.ts"
import { platformIdentity } from "../kernel/Caller.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transactions } from "../kernel/Transaction.ts"
import { AccessRepo } from "./Repo.ts"

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const events = yield* Events
  const transactions = yield* Transactions

  /** Emits `TOKEN_EXPIRED` for up to `count` expired tokens. Returns the number of events. */
  const tellExpiries = Effect.fn("TokenRetirement.tellExpiries")(function* (count: number) {
    return yield* transactions.run(
      Effect.gen(function* () {
        const expired = yield* repo.takeExpired(yield* now, count)
        for (const { organizationId, serviceAccountSlug, ...token } of expired) {
          const data = serviceAccountSlug === null ? token : { ...token, serviceAccountSlug }
          yield* events.emit({ organizationId, actor: platformIdentity }, "TOKEN_EXPIRED", data)
        }
        return expired.length
      }),
    )
  })

  /**
   * Deletes up to `count` credentials that ended before an instant, tokens before their parents. Returns the number.
   */
  const removeRetired = Effect.fn("TokenRetirement.removeRetired")(function* (before: Date, count: number) {
    const tokens = yield* repo.deleteRetired("organization", before, count)
    return tokens === count ? tokens : tokens + (yield* repo.deleteRetired("platform", before, count - tokens))
  })

  return { tellExpiries, removeRetired }
})

/** Handles expired and revoked credentials in batches, as the platform identity. */
export class TokenRetirement extends Context.Service<TokenRetirement, Effect.Success<typeof make>>()(
  "keyshelf/access/Retirement",
) {
  static readonly layer = Layer.effect(TokenRetirement, make)
}
