/** Retention of offline bundles and revocations. */
import { Context, Effect, Layer } from "effect"
import { deleteExpired } from "../../kernel/database/ExpiredRows.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"

/** Deletes bundles whose usage can no longer be uploaded, and revocations of what has expired. */
export class OfflineRetention extends Context.Service<
  OfflineRetention,
  { readonly jobs: ReadonlyArray<RetentionJob> }
>()("keyshelf/offline/Retention") {
  static readonly layer = Layer.effect(
    OfflineRetention,
    Effect.gen(function* () {
      return OfflineRetention.of({
        jobs: [
          yield* deleteExpired("offline_bundles", "usage_until"),
          yield* deleteExpired("offline_revocations", "until"),
        ],
      })
    }),
  )
}
