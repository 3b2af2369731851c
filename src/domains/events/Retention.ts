/** Retention of events. By default they are retained forever. */
import { Context, Effect, Layer, Option } from "effect"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { CurrentRetentionPeriods, endedBefore } from "../../kernel/ports/RetentionPeriods.ts"
import { EventsRepo } from "./Repo.ts"

/** Deletes old events, except those that wait for delivery. Positions are not reused, so cursors stay valid. */
export class EventRetention extends Context.Service<EventRetention, { readonly jobs: ReadonlyArray<RetentionJob> }>()(
  "keyshelf/events/Retention",
) {
  static readonly layer = Layer.effect(
    EventRetention,
    Effect.gen(function* () {
      const repo = yield* EventsRepo
      const { events } = yield* CurrentRetentionPeriods
      return EventRetention.of({
        jobs: Option.match(events, {
          onNone: () => [],
          onSome: (retained) => [
            { kind: "events", step: (at, count) => repo.deleteBefore(endedBefore(at, retained), count) },
          ],
        }),
      })
    }),
  )
}
