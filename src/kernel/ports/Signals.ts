/**
 * Signals: how nodes tell each other that there is something new. Never needed for correctness: a signal may be lost, so
 * whoever waits for one also polls.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"

/** What there is something new of: work for the webhook dispatcher, events for readers of the stream. */
export const signalTopics = ["webhooks", "events"] as const
export type SignalTopic = (typeof signalTopics)[number]

/** Wakes the waiters of a topic on all nodes. */
export class Signals extends Context.Service<
  Signals,
  {
    /**
     * Says that a topic has something new. Inside a transaction it takes effect after the commit, and not at all after a
     * rollback. Costs the caller no statement and never fails: other nodes are told in the background, at most once in 20 ms.
     */
    readonly announce: (topic: SignalTopic) => Effect.Effect<void>
    /**
     * Answers an effect that waits until there has been a signal since it last returned (at first: since the subscription).
     * A signal between two waits ends the second one at once. For one waiter at a time.
     */
    readonly subscribe: (topic: SignalTopic) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
    /** Whether signals of other nodes arrive now. While they do not, waiters should poll more often. */
    readonly listening: Effect.Effect<boolean>
  }
>()("keyshelf/kernel/Signals") {}
