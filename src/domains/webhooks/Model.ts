/** Webhook endpoints and the history of their deliveries. */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { isEventName } from "../../kernel/contract/Event.ts"
import { eventNames } from "../../kernel/values/EventNames.ts"
import type { EventName } from "../../kernel/contract/Event.ts"
import { OrganizationId, Uuid } from "../../kernel/values/Identifiers.ts"
import { Description, Text } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"
import { WholeNumberText } from "../../kernel/values/WholeNumbers.ts"

/** Identifies an endpoint. */
export const EndpointKey = Schema.Struct({ organizationId: OrganizationId, endpointId: Schema.String })
export type EndpointKey = typeof EndpointKey.Type

/** The key of an endpoint as one text. */
export const endpointName = ({ endpointId, organizationId }: EndpointKey): string => `${organizationId}/${endpointId}`

/** The event of a test. It is delivered to the tested endpoint only, even if that is disabled. */
export const TEST_EVENT = "WEBHOOK_ENDPOINT_TESTED" satisfies EventName

/** A subscription: the name of an event, or `*` for all events, including those of later versions. */
const Subscription = Schema.Literals(["*", ...eventNames]).annotate(component("EventSubscription", "*"))

type Subscription = typeof Subscription.Type

/** A number of deliveries. */
const DeliveryCount = Schema.Struct({
  count: Schema.Int.annotate({ description: "How many there are, at most 10,000" }),
  truncated: Schema.Boolean.annotate({ description: "Whether there may be more than were counted" }),
}).annotate(component("WebhookDeliveryCount", { count: 12, truncated: false }))

/** Whether deliveries to an endpoint arrive. */
const EndpointHealth = Schema.Struct({
  lastSuccessAt: Schema.NullOr(Timestamp).annotate({
    description: "When the last successful attempt began; `null` if none is stored",
  }),
  waiting: DeliveryCount.annotate({ description: "The deliveries that wait for an attempt" }),
}).annotate(component("WebhookEndpointHealth"))

/** What a request reads of an endpoint beside its record. */
export const endpointQuery = {
  include: Schema.optionalKey(
    Schema.Literal("health").annotate({
      description: "Returns when a delivery last succeeded and how many wait, too",
    }),
  ),
}
export interface EndpointQuery {
  readonly include?: "health"
}

export const WebhookEndpoint = Schema.Struct({
  id: Uuid,
  url: Schema.String,
  eventNames: Schema.Array(Schema.String).annotate({ description: "Names of events, or `*` for all events" }),
  description: Schema.NullOr(Schema.String),
  disabledAt: Schema.NullOr(Timestamp).annotate({
    description: "When the endpoint was disabled because all its deliveries failed",
  }),
  disabledReason: Schema.NullOr(Schema.String),
  pausedAt: Schema.NullOr(Timestamp).annotate({
    description: "Since when the endpoint is paused: what is due waits until it is resumed; `null` if it is not paused",
  }),
  failingSince: Schema.NullOr(Timestamp).annotate({
    description: "Since when every delivery to it fails; `null` after a success, and before the first failure",
  }),
  health: Schema.optionalKey(EndpointHealth).annotate({ description: "Only with `include=health`" }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: ActorReference,
  updatedBy: ActorReference,
}).annotate(
  component("WebhookEndpoint", {
    url: "https://example.com/keyshelf-events",
    eventNames: ["CUSTOMER_CREATION", "INSTANCE_CREATION"],
    description: "Synchronizes our billing",
    disabledAt: null,
    disabledReason: null,
    pausedAt: null,
    failingSince: null,
  }),
)

export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** The response to creation and rotation, which alone contains the secret. */
export const WebhookEndpointWithSecret = Schema.Struct({
  ...WebhookEndpoint.fields,
  secret: Schema.String.annotate({
    description:
      "`whsec_` and 32 random bytes in base64, the format of Standard Webhooks libraries; returned only here",
  }),
}).annotate(
  component("WebhookEndpointWithSecret", {
    url: "https://example.com/keyshelf-events",
    eventNames: ["CUSTOMER_CREATION", "INSTANCE_CREATION"],
    description: "Synchronizes our billing",
    disabledAt: null,
    disabledReason: null,
    pausedAt: null,
    failingSince: null,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwP3yRkzXqUuM=",
  }),
)

export type WebhookEndpointWithSecret = typeof WebhookEndpointWithSecret.Type

const Url = Text(1, 2048).annotate({ format: "uri", description: "The `https` URL to which events are sent" })

const Subscriptions = Schema.Array(Subscription)
  .check(Schema.isMinLength(1))
  .annotate({ description: "Names of events without duplicates, or `*` for all events" })

/** Body of `POST /webhooks`. */
export const CreateWebhookEndpoint = Schema.Struct({
  url: Url,
  eventNames: Subscriptions,
  description: Schema.optionalKey(Schema.NullOr(Description)),
}).annotate(component("CreateWebhookEndpoint"))

export type CreateWebhookEndpoint = typeof CreateWebhookEndpoint.Type

/** Body of `PUT /webhooks/{id}`: omitted properties are not changed. */
export const UpdateWebhookEndpoint = Schema.Struct({
  url: Schema.optionalKey(Url),
  eventNames: Schema.optionalKey(Subscriptions),
  description: Schema.optionalKey(Schema.NullOr(Description)),
}).annotate(component("UpdateWebhookEndpoint"))

export type UpdateWebhookEndpoint = typeof UpdateWebhookEndpoint.Type

/** The queued delivery of a `test` or `retry`. */
export const QueuedDelivery = Schema.Struct({ deliveryId: Uuid, eventId: Uuid }).annotate(
  component("QueuedDelivery", {}),
)

export type QueuedDelivery = typeof QueuedDelivery.Type

/** The response to a request that queues a delivery. */
export const Queued = QueuedDelivery.pipe(HttpApiSchema.status(202))

/** The time span of a recovery. */
export const recoveryRange = {
  since: TimestampInput.annotate({ description: "Deliveries whose first attempt began at this time or later" }),
  until: Schema.optionalKey(
    TimestampInput.annotate({ description: "Deliveries whose first attempt began before this time; default now" }),
  ),
}

/** Body of `POST /webhooks/{id}/recover`. */
export const RecoverDeliveries = Schema.Struct(recoveryRange).annotate(component("RecoverDeliveries"))

export type RecoverDeliveries = typeof RecoverDeliveries.Type

/** The response to a recovery. */
export const Recovered = Schema.Struct({
  count: Schema.Int.annotate({ description: "How many deliveries are tried again" }),
})
  .annotate(component("RecoveredDeliveries", { count: 12 }))
  .pipe(HttpApiSchema.status(202))

/** How many deliveries a recovery would retry. */
export const RecoverableDeliveries = DeliveryCount

/** States of an attempt: in flight, succeeded, failed with a retry pending, failed. */
export const AttemptState = Schema.Literals(["Sending", "Success", "Failure", "Failed"]).annotate(
  component("WebhookAttemptState", "Success"),
)

export type AttemptState = typeof AttemptState.Type

/** One attempt of a delivery, as `GET /webhooks/history` lists it. */
export const WebhookAttempt = Schema.Struct({
  id: Uuid,
  deliveryId: Uuid.annotate({ description: "The same for all attempts of a delivery" }),
  eventId: Uuid.annotate({ description: "The value of the `webhook-id` header" }),
  eventName: Schema.String,
  endpointId: Uuid,
  endpointUrl: Schema.String.annotate({ description: "The URL of this attempt" }),
  attempt: Schema.Int.annotate({ description: "1 for the first attempt; 7 and higher for requested retries" }),
  state: AttemptState,
  statusCode: Schema.NullOr(Schema.Int).annotate({ description: "`null` without a response" }),
  requestBody: Schema.NullOr(Schema.String).annotate({
    description: "The exact text sent; `null` when its event is no longer stored",
  }),
  responseBody: Schema.NullOr(Schema.String).annotate({ description: "The first 16 KiB" }),
  error: Schema.NullOr(Schema.String).annotate({ description: "A message that says why there was no response" }),
  durationMs: Schema.NullOr(Schema.Int).annotate({ description: "`null` while the attempt is in flight" }),
  nextAttemptAt: Schema.NullOr(Timestamp).annotate({ description: "When the next attempt is due after a `Failure`" }),
  timestamp: Timestamp.annotate({ description: "When the attempt began" }),
}).annotate(
  component("WebhookAttempt", {
    eventName: "CUSTOMER_CREATION",
    endpointUrl: "https://example.com/keyshelf-events",
    attempt: 1,
    statusCode: 204,
    requestBody: "{}",
    responseBody: "",
    error: null,
    durationMs: 41,
    nextAttemptAt: null,
  }),
)

export type WebhookAttempt = typeof WebhookAttempt.Type

const isUuid = Schema.is(Uuid)

const StatusCode = WholeNumberText(100, 599, "Only attempts that were answered with this status")

/** Filters of the history. `event` is the name of events, or the id of one event. */
export const historyFilters = {
  endpoint: Schema.optionalKey(Uuid.annotate({ description: "Id of an endpoint, which may be deleted" })),
  event: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((text) => isEventName(text) || isUuid(text), {
        expected: "the name of an event, e.g. CUSTOMER_CREATION, or the id of one",
      }),
    ).annotate({ description: "Name of events, or the id of one event" }),
  ),
  state: Schema.optionalKey(AttemptState).annotate({ description: "Only attempts in this state" }),
  statusCode: Schema.optionalKey(StatusCode),
  since: Schema.optionalKey(TimestampInput.annotate({ description: "Only attempts that began at this time or later" })),
  until: Schema.optionalKey(TimestampInput.annotate({ description: "Only attempts that began before this time" })),
}

/** The filters of a request. */
export interface HistoryFilters {
  readonly endpoint?: string
  readonly event?: string
  readonly state?: AttemptState
  readonly statusCode?: number
  readonly since?: Date
  readonly until?: Date
}
