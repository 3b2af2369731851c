/** Handlers of webhook endpoints. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { WebhookEndpointsApi } from "./Api.ts"
import { WebhookEndpoints } from "./Service.ts"

export const webhookEndpoints = handlersOf(
  Apis.webhooks(WebhookEndpointsApi),
  "webhookEndpoints",
  Effect.fn(function* (handlers) {
    const endpoints = yield* WebhookEndpoints
    return handlers.handleAll({
      list: ({ query }) => endpoints.list(query),
      create: ({ payload }) =>
        Effect.map(endpoints.create(payload), (endpoint) => created(`/api/webhooks/${endpoint.id}`, endpoint)),
      get: ({ params, query }) => endpoints.get(params.id, query),
      update: ({ params, payload }) => endpoints.update(params.id, payload),
      delete: ({ params }) => endpoints.delete(params.id),
      rotateSecret: ({ params }) => endpoints.rotateSecret(params.id),
      test: ({ params }) => endpoints.test(params.id),
      enable: ({ params }) => endpoints.enable(params.id),
      pause: ({ params }) => endpoints.pause(params.id),
      resume: ({ params }) => endpoints.resume(params.id),
    })
  }),
)
