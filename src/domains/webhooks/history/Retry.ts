/** Retries a delivery on request. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import { RetryDeliveryEndpointNotActive, RetryDeliveryNotFailed, WebhookDeliveryNotFound } from "../Errors.ts"
import type { QueuedDelivery } from "../Model.ts"
import { WebhookQueue } from "../queue/Queue.ts"
import { HistoryRepo } from "./Repo.ts"

/** The first attempt after the schedule of six. It is made once. */
const FIRST_REQUESTED_ATTEMPT = 7

const NOT_THE_ID = "Send the `deliveryId` of an attempt in the history, not its `id`."

export const retrying = Effect.gen(function* () {
  const repo = yield* HistoryRepo
  const endpoints = yield* EndpointsRepo
  const queue = yield* WebhookQueue
  const transactions = yield* Transactions

  return Effect.fn("WebhookHistory.retry")(function* (deliveryId: string) {
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
})
