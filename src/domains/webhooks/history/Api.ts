/** Endpoints of the delivery history. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Idempotency, idempotencyHeaders, RequiredScope, RunsInPieces } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import {
  RecoverDeliveriesEndpointNotActive,
  RetryDeliveryEndpointNotActive,
  RetryDeliveryNotFailed,
  WebhookDeliveryNotFound,
  WebhookEndpointNotFound,
} from "../Errors.ts"
import {
  historyFilters,
  Queued,
  RecoverableDeliveries,
  recoveryRange,
  RecoverDeliveries,
  Recovered,
  WebhookAttempt,
} from "../Model.ts"

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
          identifier: "listWebhookAttempts",
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
          identifier: "retryWebhookDelivery",
          summary: "Retry a delivery",
          description:
            "Makes an attempt immediately, with the same `webhook-id`: the next one of a pending delivery, one more of any other, also after a success. A delivery that is being sent right now is 409, and so is one whose endpoint is disabled or deleted.",
        }),
      ),
    HttpApiEndpoint.post("recover", "/webhooks/:id/recover", {
      params: { id: Uuid.annotate({ description: "Id of the webhook endpoint" }) },
      headers: idempotencyHeaders,
      payload: RecoverDeliveries,
      success: Recovered,
      error: [WebhookEndpointNotFound, RecoverDeliveriesEndpointNotActive, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RunsInPieces, true)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(exampleBody({ since: "2026-01-31T09:00:00Z", until: "2026-01-31T12:00:00Z" }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "recoverWebhookDeliveries",
          summary: "Recover the deliveries of a time",
          description:
            "Tries all deliveries of the endpoint again that did not succeed and whose first attempt began in this time, oldest first. They are spread over time, so that new deliveries are not delayed. Use it after an outage of the receiver. Deliveries that are being sent right now are not counted. The request can be repeated safely.",
        }),
      ),
    HttpApiEndpoint.get("recoverable", "/webhooks/:id/recoverable", {
      params: { id: Uuid.annotate({ description: "Id of the webhook endpoint" }) },
      query: recoveryRange,
      success: RecoverableDeliveries,
      error: [WebhookEndpointNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "read:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "countRecoverableWebhookDeliveries",
          summary: "Count the deliveries that a recovery would retry",
          description:
            "How many deliveries `POST /webhooks/{id}/recover` with the same times would try again now; of a disabled endpoint, once it is enabled. Nothing is changed.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook history",
      description: "The requests that were sent, their responses, and when the next attempt is due.",
    }),
  ) {}
