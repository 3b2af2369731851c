/** Endpoints of the delivery history (contract, section 6). */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { RetryDeliveryEndpointNotActive, RetryDeliveryNotFailed, WebhookDeliveryNotFound } from "../Errors.ts"
import { historyFilters, Queued, WebhookAttempt } from "../Model.ts"

export class WebhookHistoryApi extends HttpApiGroup.make("webhookHistory")
  .add(
    HttpApiEndpoint.get("list", "/webhooks/history", {
      query: { ...pageQuery, ...historyFilters },
      success: Page(WebhookAttempt),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List delivery attempts",
          description:
            "Newest first, one item per attempt, including attempts in flight (`Sending`). Attempts are stored for 30 days, unless the installation sets another period.",
        }),
      ),
    HttpApiEndpoint.post("retry", "/webhooks/history/:deliveryId/retry", {
      params: { deliveryId: Uuid },
      headers: idempotencyHeaders,
      success: Queued,
      error: [WebhookDeliveryNotFound, RetryDeliveryNotFailed, RetryDeliveryEndpointNotActive],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Retry a failed delivery",
          description:
            "Makes one more attempt immediately, with the same `webhook-id`. The last attempt must be `Failed`, and the endpoint must be enabled.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook history",
      description: "The requests that were sent, their responses, and when the next attempt is due.",
    }),
  ) {}
