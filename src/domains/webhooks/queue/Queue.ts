/** The queue of deliveries that are owed (contract, section 6). */
import { Context, Effect, Layer } from "effect"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { QueueRepo } from "./QueueRepo.ts"

/** One delivery to be made. */
export interface OwedDelivery {
  readonly organizationId: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventName: string
  /** The delivery that this attempt belongs to; a new one if absent. */
  readonly deliveryId?: string
  /** The number of the attempt to make, from 1 (default). A number above six is made once and never repeated. */
  readonly attempt?: number
  readonly dueAt: Date
}

/** Adds deliveries to the queue. */
export class WebhookQueue extends Context.Service<
  WebhookQueue,
  {
    /**
     * Owes the delivery from the commit of the caller's transaction on, tells whoever delivers, and answers its id. A delivery
     * that is owed already stays as it is.
     */
    readonly enqueue: (delivery: OwedDelivery) => Effect.Effect<string, never, Transaction>
  }
>()("keyshelf/webhooks/Queue") {
  static readonly layer = Layer.effect(
    WebhookQueue,
    Effect.gen(function* () {
      const repo = yield* QueueRepo
      const signals = yield* Signals
      return WebhookQueue.of({
        enqueue: Effect.fnUntraced(function* ({ organizationId, endpointId, eventId, eventName, dueAt, ...rest }) {
          yield* Transaction
          const id = rest.deliveryId ?? (yield* newId)
          yield* repo.insert([
            { organizationId, id, endpointId, eventId, eventName, attempt: rest.attempt ?? 1, dueAt },
          ])
          yield* repo.lowerHeads([{ organizationId, endpointId, dueAt }])
          yield* signals.announce("webhooks")
          return id
        }),
      })
    }),
  )
}
