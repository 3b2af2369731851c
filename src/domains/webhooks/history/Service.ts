/** Use cases of the delivery history. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { isEventName } from "../../../kernel/contract/Event.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import type { InvalidCursor } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { eventText } from "../../events/log/EventText.ts"
import { eventOf } from "../Payload.ts"
import type { RetryDeliveryEndpointNotActive, RetryDeliveryNotFailed, WebhookDeliveryNotFound } from "../Errors.ts"
import { HistoryRepo } from "./Repo.ts"
import type { AttemptEntry } from "./HistorySql.ts"
import type { HistoryFilters, QueuedDelivery, WebhookAttempt } from "../Model.ts"
import { retrying } from "./Retry.ts"

const attemptOf = (
  organizationId: OrganizationId,
  { actor, data, eventType, occurredAt, previous, ...attempt }: AttemptEntry,
): WebhookAttempt => {
  const found = { actor, data, occurredAt, previous, type: eventType }
  const event = eventOf({ organizationId, eventId: attempt.eventId }, found)
  return { ...attempt, requestBody: event === null ? null : eventText(event) }
}

/** The delivery history of the caller's webhook endpoints. */
export class WebhookHistory extends Context.Service<
  WebhookHistory,
  {
    /** A page of the attempts that match all filters, newest first. */
    readonly list: (request: PageRequest & HistoryFilters) => Effect.Effect<Page<WebhookAttempt>, InvalidCursor, Caller>
    /** Makes a pending delivery due now, or queues one that has ended again. */
    readonly retry: (
      deliveryId: string,
    ) => Effect.Effect<
      QueuedDelivery,
      RetryDeliveryNotFailed | WebhookDeliveryNotFound | RetryDeliveryEndpointNotActive,
      Caller
    >
  }
>()("keyshelf/webhooks/history/WebhookHistory") {
  static readonly layer = Layer.suspend(() => Layer.effect(WebhookHistory, make))
}

const make = Effect.gen(function* () {
  const repo = yield* HistoryRepo
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

  return { list, retry: yield* retrying }
})
