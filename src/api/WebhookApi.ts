/** Webhook endpoint management: an API of its own, so that it can move to a listener of its own. */
import { OpenApi } from "effect/http-api"
import * as Apis from "../kernel/contract/Apis.ts"
import { WebhookEndpointsApi } from "../domains/webhooks/endpoints/Api.ts"
import { WebhookHistoryApi } from "../domains/webhooks/history/Api.ts"

export class WebhookApi extends Apis.webhooks(WebhookEndpointsApi, WebhookHistoryApi).annotateMerge(
  OpenApi.annotations({
    title: "Keyshelf webhook API",
    version: "0.1.0",
    description:
      "Webhook endpoints of an organization and the history of their deliveries. Served by the core listener unless `SERVICE_WEBHOOKS_PORT` gives it one of its own.",
    servers: [{ url: "http://127.0.0.1:8080", description: "The core listener on this machine" }],
  }),
) {}
