/** How long the stream is kept: as long as the operator wants, for ever if nothing is said. */
import { Context, Effect, Layer } from "effect"
import { EventsRepo } from "./Repo.ts"

/** Removes old events. The stream keeps its positions, so a reader's cursor stays good. */
export class EventRetention extends Context.Service<
  EventRetention,
  {
    /** Removes up to so many events that happened before the instant, but none that deliveries still wait for; answers how many. */
    readonly removeBefore: (at: Date, count: number) => Effect.Effect<number>
  }
>()("keyshelf/events/Retention") {
  static readonly layer = Layer.effect(
    EventRetention,
    Effect.map(EventsRepo, (repo) => EventRetention.of({ removeBefore: repo.deleteBefore })),
  )
}
