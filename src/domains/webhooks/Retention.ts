/** Retention of webhooks: expired signing secrets, and pending deliveries of endpoints that have ended. */
import { Context, Effect, Layer } from "effect"
import { deleteExpired } from "../../kernel/database/ExpiredRows.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { PendingDeliveries } from "./queue/BacklogRemover.ts"

/** Deletes what processes that died have left of the backlog of ended endpoints, and secrets after their overlap. */
export class WebhookRetention extends Context.Service<
  WebhookRetention,
  { readonly jobs: ReadonlyArray<RetentionJob> }
>()("keyshelf/webhooks/Retention") {
  static readonly layer = Layer.effect(
    WebhookRetention,
    Effect.gen(function* () {
      const pending = yield* PendingDeliveries
      return WebhookRetention.of({
        jobs: [
          yield* deleteExpired("webhook_secrets"),
          { kind: "dropped_deliveries", step: (_, count) => pending.dropLeft(count) },
        ],
      })
    }),
  )
}
