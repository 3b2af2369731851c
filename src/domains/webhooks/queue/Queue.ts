/** The queue of pending deliveries. */
import { Context, Effect, Layer } from "effect"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { QueueRepo } from "./QueueRepo.ts"
import type { LaneHead } from "./Model.ts"

/** A delivery to enqueue. */
interface NewDelivery {
  readonly organizationId: OrganizationId
  readonly endpointId: string
  readonly eventId: string
  readonly eventName: string
  /** The delivery that this attempt belongs to; by default a new one. */
  readonly deliveryId?: string
  /** The number of the next attempt; 1 by default. An attempt above 6 is made once and never retried. */
  readonly attempt?: number
  readonly dueAt: Date
}

/** Adds deliveries to the queue. */
export class WebhookQueue extends Context.Service<
  WebhookQueue,
  {
    /**
     * Enqueues a delivery in the caller's transaction, signals the dispatchers on commit, and returns its id. A
     * delivery that is already pending is not changed.
     */
    readonly enqueue: (delivery: NewDelivery) => Effect.Effect<string, never, Transaction>
    /** Notifies the dispatchers of a pending delivery that the caller's transaction has made due at this time. */
    readonly announce: (lane: LaneHead) => Effect.Effect<void, never, Transaction>
  }
>()("keyshelf/webhooks/queue/WebhookQueue") {
  static readonly layer = Layer.effect(
    WebhookQueue,
    Effect.gen(function* () {
      const repo = yield* QueueRepo
      const signals = yield* Signals
      const announce = Effect.fnUntraced(function* (lane: LaneHead) {
        yield* Transaction
        yield* repo.lowerLaneHeads([lane])
        yield* signals.notify("webhooks")
      })
      return WebhookQueue.of({
        announce,
        enqueue: Effect.fnUntraced(function* ({ organizationId, endpointId, eventId, eventName, dueAt, ...rest }) {
          const id = rest.deliveryId ?? (yield* newId)
          yield* repo.insert([
            { organizationId, id, endpointId, eventId, eventName, attempt: rest.attempt ?? 1, dueAt },
          ])
          yield* announce({ organizationId, endpointId, dueAt })
          return id
        }),
      })
    }),
  )
}
