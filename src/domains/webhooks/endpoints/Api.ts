/** Endpoints of webhook management. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  ReturnsSecret,
  Created,
  Idempotency,
  idempotencyHeaders,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { rewritable } from "../../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { CreateWebhookEndpointLimitReached, PauseWebhookEndpointDisabled, WebhookEndpointNotFound } from "../Errors.ts"
import {
  CreateWebhookEndpoint,
  endpointQuery,
  Queued,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "../Model.ts"

const endpoint = { id: Uuid.annotate({ description: "Id of the webhook endpoint" }) }

export class WebhookEndpointsApi extends HttpApiGroup.make("webhookEndpoints")
  .add(
    HttpApiEndpoint.get("list", "/webhooks", {
      query: { ...pageQuery, ...endpointQuery },
      success: Page(WebhookEndpoint),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List webhook endpoints",
          description: "Newest first. `include=health` returns when a delivery last succeeded and how many wait, too.",
        }),
      ),
    HttpApiEndpoint.post("create", "/webhooks", {
      headers: idempotencyHeaders,
      payload: CreateWebhookEndpoint,
      success: Created(WebhookEndpointWithSecret),
      error: [CreateWebhookEndpointLimitReached, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(ReturnsSecret, true)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        exampleBody({
          url: "https://example.com/keyshelf-events",
          eventNames: ["CUSTOMER_CREATION", "INSTANCE_CREATION"],
          description: "Synchronizes our billing",
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a webhook endpoint",
          description:
            "Sends later events to the URL, signed by Standard Webhooks. Only this response contains the `secret` of the signatures. The URL must use `https`, and must not contain or resolve to an address that is not public. An organization can have up to 1,000 endpoints.",
        }),
      ),
    HttpApiEndpoint.get("get", "/webhooks/:id", {
      params: endpoint,
      query: endpointQuery,
      success: WebhookEndpoint,
      error: WebhookEndpointNotFound,
    })
      .annotate(RequiredScope, "read:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a webhook endpoint",
          description:
            "Returns the endpoint with its subscriptions, and when it was disabled or paused if it was. The secret is returned only by its creation and rotation.",
        }),
      ),
    HttpApiEndpoint.put("update", "/webhooks/:id", {
      params: endpoint,
      payload: rewritable(WebhookEndpoint, UpdateWebhookEndpoint),
      success: HttpApiSchema.NoContent,
      error: [WebhookEndpointNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(exampleBody({ url: "https://example.com/events", eventNames: ["*"] }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a webhook endpoint",
          description:
            "Omitted properties are not changed; `null` clears `description`. Pending deliveries use the new URL from their next attempt on. New `eventNames` apply to later events. A disabled endpoint stays disabled, a paused one paused.",
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
            "Nothing is sent to it any more. Its pending deliveries are deleted, and the last attempt of each becomes `Failed`; with thousands of them, shortly after this response. Its history remains.",
        }),
      ),
    HttpApiEndpoint.post("rotateSecret", "/webhooks/:id/rotate-secret", {
      params: endpoint,
      headers: idempotencyHeaders,
      success: WebhookEndpointWithSecret,
      error: WebhookEndpointNotFound,
    })
      .middleware(Idempotency)
      .annotate(ReturnsSecret, true)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Rotate the secret of a webhook endpoint",
          description:
            "For 24 hours deliveries are signed with the new secret and the previous ones, so that you can update receivers one by one. Up to ten secrets are active.",
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
            "Sends a `WEBHOOK_ENDPOINT_TESTED` event to this endpoint only, whatever its subscriptions, even while it is disabled. While it is paused, the event waits. `GET /webhooks/history?event={eventId}` returns its attempts.",
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
          summary: "Enable a webhook endpoint",
          description:
            "An endpoint is disabled when every delivery to it has failed for five days. It receives later events, but not those of the time while it was disabled. An enabled endpoint is not changed.",
        }),
      ),
    HttpApiEndpoint.post("pause", "/webhooks/:id/pause", {
      params: endpoint,
      headers: idempotencyHeaders,
      success: WebhookEndpoint,
      error: [WebhookEndpointNotFound, PauseWebhookEndpointDisabled],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Pause a webhook endpoint",
          description:
            "Nothing is sent to it until it is resumed: events, retries, recoveries and test events wait in the queue. An attempt in flight still ends. A paused endpoint is not changed, and is never disabled. Use it while you maintain the receiver.",
        }),
      ),
    HttpApiEndpoint.post("resume", "/webhooks/:id/resume", {
      params: endpoint,
      headers: idempotencyHeaders,
      success: WebhookEndpoint,
      error: WebhookEndpointNotFound,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:webhooks")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Resume a webhook endpoint",
          description:
            "Sends what waited, oldest first, and then later events. An endpoint that is not paused is not changed.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook endpoints",
      description: "The URLs to which events of the organization are sent.",
    }),
  ) {}
