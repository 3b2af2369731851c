/** Retention of events, by default forever, and the rows of a removed organization in this domain. */
import { Context, Effect, Layer, Option } from "effect"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"
import { CurrentRetentionPeriods, endedBefore } from "../../kernel/ports/RetentionPeriods.ts"
import { EventsRepo } from "./Repo.ts"

export const removal = rowsIn("webhook_outbox", "events", "event_streams")

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
