/** Retention of events. By default they are retained forever. */
import { Context, Effect, Layer } from "effect"
import { EventsRepo } from "./Repo.ts"

/** Deletes old events. Positions are not reused, so cursors stay valid. */
export class EventRetention extends Context.Service<
  EventRetention,
  {
    /** Deletes up to `count` events that occurred before `at`, except pending ones. Returns the number deleted. */
    readonly removeBefore: (at: Date, count: number) => Effect.Effect<number>
  }
>()("keyshelf/events/Retention") {
  static readonly layer = Layer.effect(
    EventRetention,
    Effect.map(EventsRepo, (repo) => EventRetention.of({ removeBefore: repo.deleteBefore })),
  )
}
