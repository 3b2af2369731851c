/**
 * The older usage of the furnished organization. The API accepts usage of the last 35 days, because callers must not
 * change what was billed. So this calls the use case itself, with a clock that is set back, in a process with access to
 * the database.
 */
import { Array as Arr, Clock, Effect } from "effect"
import { MAX_EVENTS } from "../domains/usage/cloudevents/Model.ts"
import { CloudEvents } from "../domains/usage/cloudevents/Service.ts"
import { bySystem, Caller, platformIdentity } from "../kernel/contract/Caller.ts"
import { shiftedClock } from "../kernel/values/ShiftedClock.ts"
import { DAY_MS } from "../kernel/values/Timestamp.ts"
import { DemoFailed } from "./Demo.ts"
import { RECENT_DAYS, usageOfDay } from "./Furnish.ts"
import type { Furnished } from "./Furnish.ts"

/** Three days are reported at a time, so that a year takes seconds. */
const STEP_DAYS = 3
const OLDEST_DAYS = 364

/** Reports usage from a year ago up to the time from which the API accepted it. */
export const reportPastUsage = Effect.fn("Demo.reportPastUsage")(function* ({ instances, organizationId }: Furnished) {
  const cloudEvents = yield* CloudEvents
  const clock = yield* Clock.Clock
  const today = yield* Clock.currentTimeMillis
  const caller = Caller.of({ ...bySystem, credentialId: platformIdentity.id, organizationId, scopes: [] })
  for (let back = OLDEST_DAYS; back > RECENT_DAYS; back -= STEP_DAYS) {
    const setBack = shiftedClock(clock, () => -back * DAY_MS)
    const day = new Date(today - back * DAY_MS)
    const events = instances.flatMap((instance) => usageOfDay(instance, day, STEP_DAYS))
    for (const batch of Arr.chunksOf(events, MAX_EVENTS)) {
      const { results } = yield* cloudEvents
        .report(batch)
        .pipe(Effect.provideService(Caller, caller), Effect.provideService(Clock.Clock, setBack))
      const rejected = results.find(({ status }) => status !== "accepted")
      if (rejected !== undefined) {
        return yield* new DemoFailed({
          message: `The usage of ${day.toISOString()} was ${rejected.status}: ${rejected.message ?? ""}`,
        })
      }
    }
  }
})
