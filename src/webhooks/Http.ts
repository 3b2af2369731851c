/** Handlers of webhook endpoints and of the delivery history. */
import { Effect } from "effect"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { WebhookApi } from "../WebhookApi.ts"
import { WebhookHistory } from "./History.ts"
import { WebhookEndpoints } from "./Service.ts"

export const webhookEndpoints = handlersOf(
  WebhookApi,
  "webhookEndpoints",
  Effect.fn(function* (handlers) {
    const endpoints = yield* WebhookEndpoints
    return handlers.handleAll({
      list: ({ query }) => endpoints.list(query),
      create: ({ payload }) =>
        Effect.map(endpoints.create(payload), (endpoint) => created(`/api/webhooks/${endpoint.id}`, endpoint)),
      get: ({ params }) => endpoints.get(params.id),
      update: ({ params, payload }) => endpoints.update(params.id, payload),
      delete: ({ params }) => endpoints.delete(params.id),
      rotateSecret: ({ params }) => endpoints.rotateSecret(params.id),
      test: ({ params }) => endpoints.test(params.id),
      enable: ({ params }) => endpoints.enable(params.id),
    })
  }),
)

export const webhookHistory = handlersOf(
  WebhookApi,
  "webhookHistory",
  Effect.fn(function* (handlers) {
    const history = yield* WebhookHistory
    return handlers.handleAll({
      list: ({ query }) => history.list(query),
      retry: ({ params }) => history.retry(params.deliveryId),
    })
  }),
)
