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
          summary: "List attempts to deliver events",
          description:
            "Newest first, one item for each attempt, those in flight (`Sending`) included. Attempts are kept for 30 days unless the installation says otherwise.",
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
          summary: "Try a failed delivery once more",
          description:
            "One more attempt, now, with the same `webhook-id`. For deliveries whose last attempt is `Failed`, to an endpoint that is enabled.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook history",
      description: "What was sent, what came back, and when the next attempt is due.",
    }),
  ) {}
