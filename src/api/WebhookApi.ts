/** The webhook management API. It is separate from the Core API so that it can move to a dedicated listener. */
import { OpenApi } from "effect/http-api"
import * as Apis from "../kernel/contract/Apis.ts"
import { WebhookEndpointsApi } from "../domains/webhooks/endpoints/Api.ts"
import { WebhookHistoryApi } from "../domains/webhooks/history/Api.ts"

export class WebhookApi extends Apis.webhooks(WebhookEndpointsApi, WebhookHistoryApi).annotateMerge(
  OpenApi.annotations({
    title: "Keyshelf webhook API",
    description:
      "Manage an organization's webhook endpoints and read their delivery history. The core listener serves this API unless `SERVICE_WEBHOOKS_PORT` sets a dedicated port.",
    servers: [{ url: "/", description: "The listener of this API" }],
  }),
) {}
