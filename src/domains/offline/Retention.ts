/** Retention of offline bundles, revocations and ledgers. */
import { Context, Effect, Layer } from "effect"
import { deleteExpired } from "../../kernel/database/ExpiredRows.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { LedgersRepo } from "./ledgers/Repo.ts"

/**
 * Deletes bundles and ledgers whose usage can no longer be uploaded, and revocations of what has expired. Ledgers come first: they
 * stay as long as a bundle of their instance.
 */
export class OfflineRetention extends Context.Service<
  OfflineRetention,
  { readonly jobs: ReadonlyArray<RetentionJob> }
>()("keyshelf/offline/Retention") {
  static readonly layer = Layer.effect(
    OfflineRetention,
    Effect.gen(function* () {
      const ledgers = yield* LedgersRepo
      return OfflineRetention.of({
        jobs: [
          { kind: "offline_ledgers", step: ledgers.deleteExpired },
          yield* deleteExpired("offline_bundles", "usage_until"),
          yield* deleteExpired("offline_revocations", "until"),
        ],
      })
    }),
  )
}
