/** Handlers of the delivery history. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { WebhookHistoryApi } from "./Api.ts"
import { WebhookRecovery } from "./Recovery.ts"
import { WebhookHistory } from "./Service.ts"

export const webhookHistory = handlersOf(
  Apis.webhooks(WebhookHistoryApi),
  "webhookHistory",
  Effect.fn(function* (handlers) {
    const history = yield* WebhookHistory
    const recovery = yield* WebhookRecovery
    return handlers.handleAll({
      list: ({ query }) => history.list(query),
      retry: ({ params }) => history.retry(params.deliveryId),
      recover: ({ params, payload }) => recovery.recover(params.id, payload),
      recoverable: ({ params, query }) => recovery.count(params.id, query),
    })
  }),
)
