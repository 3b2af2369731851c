/** Queues an event that only tests an endpoint. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { Events } from "../../events/Service.ts"
import { TEST_EVENT } from "../Model.ts"
import type { QueuedDelivery } from "../Model.ts"
import { WebhookQueue } from "../queue/Queue.ts"
import { lookup } from "./Lookup.ts"

export const testDelivery = Effect.gen(function* () {
  const queue = yield* WebhookQueue
  const events = yield* Events
  const transactions = yield* Transactions
  const { lockShared } = yield* lookup

  return Effect.fn("Webhooks.test")(function* (id: string) {
    const caller = yield* Caller
    const { organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const endpoint = yield* lockShared(organizationId, id)
        const event = yield* events.record(caller, TEST_EVENT, endpoint)
        const deliveryId = yield* queue.enqueue({
          organizationId,
          endpointId: endpoint.id,
          eventId: event.id,
          eventName: event.type,
          dueAt: event.timestamp,
        })
        const queued: QueuedDelivery = { deliveryId, eventId: event.id }
        return queued
      }),
    )
  })
})
