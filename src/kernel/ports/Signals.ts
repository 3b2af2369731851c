/**
 * Signals notify other nodes of new work or events. A signal may be lost, so correctness never depends on it: waiting
 * code also polls.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"

/** The topics: work for the webhook dispatcher, and events for readers of the stream. */
export const signalTopics = ["webhooks", "events"] as const
export type SignalTopic = (typeof signalTopics)[number]

/** Wakes the subscribers of a topic on all nodes. */
export class Signals extends Context.Service<
  Signals,
  {
    /**
     * Signals a topic. Inside a transaction it takes effect after the commit, and not after a rollback. It runs no
     * statement for the caller and never fails: other nodes are notified in the background, at most every 20 ms.
     */
    readonly notify: (topic: SignalTopic) => Effect.Effect<void>
    /**
     * Returns an effect that waits for a signal since its last return, or since the subscription. A signal between two
     * waits ends the second one immediately. Supports one waiter at a time.
     */
    readonly subscribe: (topic: SignalTopic) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
    /** Whether signals of other nodes are received. While they are not, subscribers should poll more often. */
    readonly listening: Effect.Effect<boolean>
  }
>()("keyshelf/kernel/Signals") {}
