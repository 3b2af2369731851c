/** Who delivers events: this service, or an external provider. The outbox is the same for both. */
import { Context } from "effect"
import type { Effect } from "effect"

/** Takes over what waits in the outbox. An outage of a provider only makes the outbox grow. */
export class WebhookProvider extends Context.Service<
  WebhookProvider,
  {
    readonly name: "internal" | "svix"
    /**
     * Takes over a bounded number of the events that are due, and answers how many it took from the outbox or put off.
     * 0 means that nothing is due now. Each event is taken over at least once, by the nodes together.
     */
    readonly publishDue: Effect.Effect<number>
  }
>()("keyshelf/webhooks/WebhookProvider") {}
