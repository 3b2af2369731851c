/** The webhook management API. It is separate from the Core API so that it can move to a dedicated listener. */
import { HttpApi, OpenApi } from "effect/http-api"
import { strictBodies } from "./CoreApi.ts"
import { OrganizationAccess, RateLimits, RequestValidation } from "./kernel/Endpoint.ts"
import { WebhookEndpointsApi, WebhookHistoryApi } from "./webhooks/Api.ts"

export class WebhookApi extends HttpApi.make("webhooks")
  .add(WebhookEndpointsApi, WebhookHistoryApi)
  .prefix("/api")
  .middleware(RequestValidation)
  .middleware(RateLimits)
  .middleware(OrganizationAccess)
  .annotateMerge(strictBodies)
  .annotateMerge(
    OpenApi.annotations({
      title: "Keyshelf webhook API",
      version: "0.1.0",
      description:
        "Manage an organization's webhook endpoints and read their delivery history. The core listener serves this API unless `SERVICE_WEBHOOKS_PORT` sets a dedicated port.",
      servers: [{ url: "http://127.0.0.1:8080", description: "Core listener on this machine" }],
    }),
  ) {}
