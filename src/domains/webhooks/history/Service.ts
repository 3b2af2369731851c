/** Use cases of the delivery history (interface specification, section 6; contract, section 6). */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { isEventName } from "../../../kernel/contract/Event.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { eventText } from "../../events/log/EventText.ts"
import { eventOf } from "../Payload.ts"
import { RetryDeliveryEndpointNotActive, RetryDeliveryNotFailed, WebhookDeliveryNotFound } from "../Errors.ts"
import { HistoryRepo } from "./Repo.ts"
import type { AttemptEntry } from "./HistorySql.ts"
import type { HistoryFilters, QueuedDelivery, WebhookAttempt } from "../Model.ts"
import { WebhookQueue } from "../queue/Queue.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import type { InvalidCursor } from "../../../kernel/contract/Problem.ts"

/** The first attempt after the schedule of six. It is made once. */
const FIRST_REQUESTED_ATTEMPT = 7

const attemptOf = (
  organizationId: string,
  { actor, data, eventType, occurredAt, previous, ...attempt }: AttemptEntry,
): WebhookAttempt => {
  const type = isEventName(eventType) ? eventType : null
  const event = eventOf({ organizationId, eventId: attempt.eventId }, { actor, data, occurredAt, previous, type })
  return { ...attempt, requestBody: event === null ? null : eventText(event) }
}

const NOT_THE_ID = "Send the `deliveryId` of an attempt in the history, not its `id`."

/** The delivery history of the caller's webhook endpoints. */
export class WebhookHistory extends Context.Service<
  WebhookHistory,
  {
    /** ??? */
    readonly list: (input: PageRequest & HistoryFilters) => Effect.Effect<
      {
        readonly items: WebhookAttempt[]
        readonly hasMore: boolean
        readonly nextCursor: string
      },
      InvalidCursor,
      Caller
    >
    /** ??? */
    readonly retry: (
      deliveryId: string,
    ) => Effect.Effect<
      QueuedDelivery,
      RetryDeliveryNotFailed | WebhookDeliveryNotFound | RetryDeliveryEndpointNotActive,
      Caller
    >
  }
>()("keyshelf/webhooks/history/WebhookHistory") {
  static readonly layer = Layer.effect(
    WebhookHistory,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* HistoryRepo
  const endpoints = yield* EndpointsRepo
  const queue = yield* WebhookQueue
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const list = Effect.fn("WebhookHistory.list")(function* ({
    endpoint,
    event,
    since,
    state,
    statusCode,
    until,
    ...request
  }: PageRequest & HistoryFilters) {
    const { organizationId } = yield* Caller
    const filters: HistoryFilters = {
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(event === undefined ? {} : { event }),
      ...(state === undefined ? {} : { state }),
      ...(statusCode === undefined ? {} : { statusCode }),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
    }
    const bound = { ...filters, statusCode: statusCode?.toString() }
    const at = yield* now
    const isPlannedByValues = endpoint !== undefined && isEventName(event)
    const page = yield* cursors.page(
      { name: "webhook-history", organizationId, filters: bound },
      request,
      (after, count) => {
        const rows = repo.list(organizationId, filters, after, count, at)
        return isPlannedByValues ? transactions.run(Effect.andThen(repo.planByValues, rows)) : rows
      },
      ({ id, timestamp }) => [timestamp.toISOString(), id],
    )
    return { ...page, items: page.items.map((row) => attemptOf(organizationId, row)) }
  })

  const retry = Effect.fn("WebhookHistory.retry")(function* (deliveryId: string) {
    const { organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockRetries(organizationId, deliveryId)
        const at = yield* now
        // In this order: an attempt that leaves the queue in between is already in the history.
        const pending = yield* repo.lockPending(organizationId, deliveryId, at)
        if (Option.isSome(pending)) {
          const { endpointId, eventId, isSending } = pending.value
          if (isSending) return yield* new RetryDeliveryNotFailed({ detail: "The delivery is being sent right now." })
          yield* repo.makeDue(organizationId, deliveryId, at)
          yield* queue.announce({ organizationId, endpointId, dueAt: at })
          const queued: QueuedDelivery = { deliveryId, eventId }
          return queued
        }
        const last = yield* repo.findLastAttempt(organizationId, deliveryId)
        if (Option.isNone(last)) {
          return yield* new WebhookDeliveryNotFound({
            detail: `${noSuch("webhook delivery", deliveryId)} ${NOT_THE_ID}`,
          })
        }
        // A `Failure` without a pending attempt is final: it ended at the same time as its endpoint.
        const { attempt, endpointId, eventId, eventName, state } = last.value
        const endpoint = yield* endpoints.lockForShare(organizationId, endpointId)
        if (Option.isNone(endpoint) || endpoint.value.disabledAt !== null) {
          return yield* new RetryDeliveryEndpointNotActive({
            detail: Option.isNone(endpoint)
              ? "The delivery's endpoint was deleted."
              : "The delivery's endpoint is disabled. Enable it first.",
          })
        }
        yield* queue.enqueue({
          organizationId,
          endpointId,
          eventId,
          eventName,
          deliveryId,
          // A delivery that has succeeded is sent once more, and not retried.
          attempt: state === "Success" ? Math.max(attempt + 1, FIRST_REQUESTED_ATTEMPT) : attempt + 1,
          dueAt: at,
        })
        const queued: QueuedDelivery = { deliveryId, eventId }
        return queued
      }),
    )
  })

  return { list, retry }
})
