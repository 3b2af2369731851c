/** Retention of webhooks: expired signing secrets, and pending deliveries of endpoints that have ended. */
import { Context, Effect, Layer } from "effect"
import { deleteExpired } from "../../kernel/database/ExpiredRows.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { BacklogRemover } from "./queue/BacklogRemover.ts"

/** Deletes secrets after their overlap, and backlogs of ended endpoints that terminated processes have left. */
export class WebhookRetention extends Context.Service<
  WebhookRetention,
  { readonly jobs: ReadonlyArray<RetentionJob> }
>()("keyshelf/webhooks/Retention") {
  static readonly layer = Layer.effect(
    WebhookRetention,
    Effect.gen(function* () {
      const backlogs = yield* BacklogRemover
      return WebhookRetention.of({
        jobs: [
          yield* deleteExpired("webhook_secrets"),
          { kind: "dropped_deliveries", step: (_, count) => backlogs.deleteAbandoned(count) },
        ],
      })
    }),
  )
}
