/** Webhook endpoints and the history of their deliveries (interface specification, sections 2, 3 and 6; contract, section 6). */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { EventName, eventNames } from "../../kernel/contract/Event.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Description, Text } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The event of a test: it goes to disabled endpoints too, and to none but the one that is tested. */
export const TEST_EVENT = "WEBHOOK_ENDPOINT_TESTED" satisfies EventName

/** What an endpoint subscribes to: an event's name, or `*` for all, also those of later versions. */
export const Subscription = Schema.Literals(["*", ...eventNames])

export type Subscription = typeof Subscription.Type

export const WebhookEndpoint = Schema.Struct({
  id: Uuid,
  url: Schema.String,
  eventNames: Schema.Array(Schema.String).annotate({ description: "Names of events, or `*` for all" }),
  description: Schema.NullOr(Schema.String),
  disabledAt: Schema.NullOr(Timestamp).annotate({
    description: "Since when it gets nothing, because all of it failed",
  }),
  disabledReason: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
})

export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** The answer to creation and rotation: the one time that the secret is shown. */
export const WebhookEndpointWithSecret = Schema.Struct({
  ...WebhookEndpoint.fields,
  secret: Schema.String.annotate({
    description: "`whsec_` and base64 of 32 random bytes, as Standard Webhooks libraries take it; shown only here",
  }),
})

export type WebhookEndpointWithSecret = typeof WebhookEndpointWithSecret.Type

const Url = Text(1, 2048).annotate({ format: "uri", description: "Where events are sent, over https" })

const Subscriptions = Schema.Array(Subscription)
  .check(Schema.isMinLength(1))
  .annotate({ description: "Names of events, each once, or `*` for all" })

/** Body of `POST /webhooks`. */
export const CreateWebhookEndpoint = Schema.Struct({
  url: Url,
  eventNames: Subscriptions,
  description: Schema.optionalKey(Schema.NullOr(Description)),
})

export type CreateWebhookEndpoint = typeof CreateWebhookEndpoint.Type

/** Body of `PUT /webhooks/{id}`: missing members stay as they are. */
export const UpdateWebhookEndpoint = Schema.Struct({
  url: Schema.optionalKey(Url),
  eventNames: Schema.optionalKey(Subscriptions),
  description: Schema.optionalKey(Schema.NullOr(Description)),
})

export type UpdateWebhookEndpoint = typeof UpdateWebhookEndpoint.Type

/** A delivery that was put in the queue: what the answers to `test` and `retry` name. */
export const QueuedDelivery = Schema.Struct({ deliveryId: Uuid, eventId: Uuid })

export type QueuedDelivery = typeof QueuedDelivery.Type

/** The response to a request that queues a delivery. */
export const Queued = QueuedDelivery.pipe(HttpApiSchema.status(202))

/** States of an attempt (interface specification, section 3): in flight, done, failed with a retry to come, failed for good. */
export const AttemptState = Schema.Literals(["Sending", "Success", "Failure", "Failed"])

export type AttemptState = typeof AttemptState.Type

/** One attempt of a delivery, as `GET /webhooks/history` lists it. */
export const WebhookAttempt = Schema.Struct({
  id: Uuid,
  deliveryId: Uuid.annotate({ description: "The same for all attempts of a delivery" }),
  eventId: Uuid.annotate({ description: "What `webhook-id` carries" }),
  eventName: Schema.String,
  endpointId: Uuid,
  endpointUrl: Schema.String.annotate({ description: "Where this attempt went" }),
  attempt: Schema.Int.annotate({ description: "1 for the first; 7 and more for retries that were asked for" }),
  state: AttemptState,
  statusCode: Schema.NullOr(Schema.Int).annotate({ description: "`null` without an answer" }),
  requestBody: Schema.NullOr(Schema.String).annotate({
    description: "The exact text sent; `null` once its event is no longer kept",
  }),
  responseBody: Schema.NullOr(Schema.String).annotate({ description: "Up to 16 KiB" }),
  error: Schema.NullOr(Schema.String).annotate({ description: "Why there is no success, for a person" }),
  durationMs: Schema.NullOr(Schema.Int).annotate({ description: "`null` in flight" }),
  nextAttemptAt: Schema.NullOr(Timestamp).annotate({ description: "When the next attempt is due after a `Failure`" }),
  timestamp: Timestamp.annotate({ description: "When the attempt began" }),
})

export type WebhookAttempt = typeof WebhookAttempt.Type

const isEventName = Schema.is(EventName)

const isUuid = Schema.is(Uuid)

/** Filters of the history. An `event` is a name, or the id of one event. */
export const historyFilters = {
  endpoint: Schema.optionalKey(Uuid.annotate({ description: "Id of an endpoint, also of a deleted one" })),
  event: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((text) => isEventName(text) || isUuid(text), {
        expected: "the name of an event, e.g. CUSTOMER_CREATION, or the id of one",
      }),
    ).annotate({ description: "Name of events, or the id of one event" }),
  ),
  state: Schema.optionalKey(AttemptState),
}

/** The caller's choice among attempts. */
export interface HistoryFilters {
  readonly endpoint?: string
  readonly event?: string
  readonly state?: AttemptState
}
