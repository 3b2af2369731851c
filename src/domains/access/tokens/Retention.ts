/** Emits the expiry event of each token once, and deletes tokens that ended long ago. */
import { Context, Effect, Layer } from "effect"
import { Events } from "../../events/Service.ts"
import { bySystem } from "../../../kernel/contract/Caller.ts"
import type { RetentionJob } from "../../../kernel/database/ExpiredRows.ts"
import { CurrentRetentionPeriods, endedBefore } from "../../../kernel/ports/RetentionPeriods.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { transactionsByIndex } from "../../../kernel/database/RowsByKey.ts"
import { TokenRetentionRepo } from "./RetentionRepo.ts"

/** Handles expired and revoked credentials in batches, as the platform identity. */
export class TokenRetention extends Context.Service<
  TokenRetention,
  {
    /** The retention jobs of credentials, in the order in which they must run. */
    readonly jobs: ReadonlyArray<RetentionJob>
  }
>()("keyshelf/access/Retention") {
  static readonly layer = Layer.suspend(() => Layer.effect(TokenRetention, make))
}

const make = Effect.gen(function* () {
  const repo = yield* TokenRetentionRepo
  const events = yield* Events
  const runByIndex = yield* transactionsByIndex

  /** Emits `TOKEN_EXPIRED` for up to `count` expired tokens. Returns the number of events. */
  const emitExpiries = Effect.fn("TokenRetention.emitExpiries")(function* (count: number) {
    return yield* runByIndex(
      Effect.gen(function* () {
        const expired = yield* repo.claimExpired(yield* now, count)
        for (const { instanceSlug, organizationId, ownerId, serviceAccountSlug, ...token } of expired) {
          const data = {
            ...token,
            ...(serviceAccountSlug === null ? {} : { serviceAccountId: ownerId, serviceAccountSlug }),
            ...(instanceSlug === null ? {} : { instanceId: ownerId, instanceSlug }),
          }
          yield* events.emit({ ...bySystem, organizationId }, "TOKEN_EXPIRED", data)
        }
        return expired.length
      }),
    )
  })

  /**
   * Deletes up to `count` credentials that ended before an instant, tokens before their parents. Returns the number.
   */
  const deleteRetired = Effect.fn("TokenRetention.deleteRetired")(function* (before: Date, count: number) {
    let deleted = 0
    for (const kind of ["organization", "instance", "platform"] as const) {
      if (deleted < count) deleted += yield* runByIndex(repo.deleteRetired(kind, before, count - deleted))
    }
    return deleted
  })

  const { retiredTokens } = yield* CurrentRetentionPeriods
  const jobs: ReadonlyArray<RetentionJob> = [
    // Must come first: the expiry event of a token is emitted before the token is deleted.
    { kind: "token_expiries", step: (_, count) => emitExpiries(count) },
    { kind: "retired_tokens", step: (at, count) => deleteRetired(endedBefore(at, retiredTokens), count) },
  ]
  return { jobs }
})
