/** Webhook endpoint management: an API of its own, so that it can move to a listener of its own. */
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
        "Webhook endpoints of an organization and the history of their deliveries. Served by the core listener unless `SERVICE_WEBHOOKS_PORT` gives it one of its own.",
      servers: [{ url: "http://127.0.0.1:8080", description: "The core listener on this machine" }],
    }),
  ) {}
