/** Endpoints of webhook management and of the delivery history. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  AnswersSecret,
  Created,
  Idempotency,
  idempotencyHeaders,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { CreateWebhookEndpointLimitReached, WebhookEndpointNotFound } from "../Errors.ts"
import {
  CreateWebhookEndpoint,
  Queued,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "../Model.ts"

const endpoint = { id: Uuid }

export class WebhookEndpointsApi extends HttpApiGroup.make("webhookEndpoints")
  .add(
    HttpApiEndpoint.get("list", "/webhooks", {
      query: pageQuery,
      success: Page(WebhookEndpoint),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:webhooks")
      .annotateMerge(OpenApi.annotations({ summary: "List webhook endpoints", description: "Newest first." })),
    HttpApiEndpoint.post("create", "/webhooks", {
      headers: idempotencyHeaders,
      payload: CreateWebhookEndpoint,
      success: Created(WebhookEndpointWithSecret),
      error: [CreateWebhookEndpointLimitReached, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(AnswersSecret, true)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        exampleBody({
          url: "https://example.com/keyshelf-events",
          eventNames: ["CUSTOMER_CREATION", "INSTANCE_CREATION"],
          description: "Keeps our billing in step",
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a webhook endpoint",
          description:
            "Events from now on are sent to the URL, signed as Standard Webhooks has it. The `secret` of the signatures is shown only in this answer. The URL is over `https`, and neither names nor resolves to an address that is not public. An organization has up to 1,000 endpoints.",
        }),
      ),
    HttpApiEndpoint.get("get", "/webhooks/:id", {
      params: endpoint,
      success: WebhookEndpoint,
      error: WebhookEndpointNotFound,
    })
      .annotate(RequiredScope, "read:webhooks")
      .annotateMerge(OpenApi.annotations({ summary: "Read a webhook endpoint" })),
    HttpApiEndpoint.put("update", "/webhooks/:id", {
      params: endpoint,
      payload: UpdateWebhookEndpoint,
      success: HttpApiSchema.NoContent,
      error: [WebhookEndpointNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(exampleBody({ url: "https://example.com/events", eventNames: ["*"] }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a webhook endpoint",
          description:
            "Missing members stay as they are; `null` clears `description`. What is already owed goes to the new URL with its next attempt; other `eventNames` count for events from now on. A disabled endpoint stays disabled.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/webhooks/:id", {
      params: endpoint,
      success: HttpApiSchema.NoContent,
      error: WebhookEndpointNotFound,
    })
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a webhook endpoint",
          description:
            "Nothing is sent to it any more: what it is still owed is dropped, and the last attempt of each such delivery becomes `Failed`, of thousands a little later than this answer. Its history stays.",
        }),
      ),
    HttpApiEndpoint.post("rotateSecret", "/webhooks/:id/rotate-secret", {
      params: endpoint,
      headers: idempotencyHeaders,
      success: WebhookEndpointWithSecret,
      error: WebhookEndpointNotFound,
    })
      .middleware(Idempotency)
      .annotate(AnswersSecret, true)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Give a webhook endpoint a new secret",
          description:
            "For 24 hours deliveries carry a signature of the new secret and of those before it, so that receivers can be changed one by one. At most ten secrets sign at once.",
        }),
      ),
    HttpApiEndpoint.post("test", "/webhooks/:id/test", {
      params: endpoint,
      headers: idempotencyHeaders,
      success: Queued,
      error: WebhookEndpointNotFound,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send a test event to a webhook endpoint",
          description:
            "A `WEBHOOK_ENDPOINT_TESTED` event goes to this endpoint alone, whatever it subscribes to, also while it is disabled. `GET /webhooks/history?event={eventId}` shows what became of it.",
        }),
      ),
    HttpApiEndpoint.post("enable", "/webhooks/:id/enable", {
      params: endpoint,
      headers: idempotencyHeaders,
      success: WebhookEndpoint,
      error: WebhookEndpointNotFound,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Enable a webhook endpoint again",
          description:
            "An endpoint is disabled when every delivery to it failed for five days. It gets events from now on, not what happened meanwhile. An enabled endpoint stays as it is.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Webhook endpoints", description: "Where events of the organization are sent." }),
  ) {}
