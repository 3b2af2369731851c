/** The port of what delivers events: this service, or an external provider. Both read the same outbox. */
import { Context } from "effect"
import type { Effect } from "effect"

/** Publishes the events of the outbox. During an outage of a provider the outbox grows, and nothing else fails. */
export class WebhookProvider extends Context.Service<
  WebhookProvider,
  {
    /** Who delivers: this installation, or Svix. */
    readonly name: "internal" | "svix"
    /**
     * Publishes a bounded number of due events, each at least once over all nodes. Returns how many it removed from the
     * outbox or postponed; 0 means that no event is due.
     */
    readonly publishDue: Effect.Effect<number>
  }
>()("keyshelf/webhooks/outbox/WebhookProvider") {}
