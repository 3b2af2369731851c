/** The retry schedule. No other file knows these times. */
import { Duration, Effect, Pull, Schedule } from "effect"

/** The delay before each of the six attempts. */
export const attemptSchedule = Schedule.duration("0 seconds").pipe(
  Schedule.concat(Schedule.duration("5 seconds")),
  Schedule.concat(Schedule.duration("5 minutes")),
  Schedule.concat(Schedule.duration("30 minutes")),
  Schedule.concat(Schedule.duration("2 hours")),
  Schedule.concat(Schedule.duration("8 hours")),
)

// Steps through the schedule from its start, with simulated time. Consecutive attempts run in different processes,
// which know only the attempt's number.
const stepTo = Effect.fnUntraced(function* (attempt: number) {
  const step = yield* Schedule.toStep(attemptSchedule)
  let now = 0
  let delay: Duration.Duration | undefined
  for (let number = 1; number <= attempt; number++) {
    delay = yield* step(now, undefined).pipe(
      Effect.map(([, wait]): Duration.Duration | undefined => wait),
      Pull.catchDone(() => Effect.undefined),
    )
    if (delay === undefined) return undefined
    now += Duration.toMillis(delay)
  }
  return delay
})

/**
 * The delay between the end of the previous attempt and this one, counted from 1; `undefined` after the last attempt.
 */
export const delayBefore = (attempt: number): Duration.Duration | undefined => Effect.runSync(stepTo(attempt))

/** When the attempt after a failed one is due; `null` after the last attempt and after every requested retry. */
export const nextAttemptAt = (failedAttempt: number, endedAt: Date): Date | null => {
  const delay = delayBefore(failedAttempt + 1)
  return delay === undefined ? null : new Date(endedAt.getTime() + Duration.toMillis(delay))
}
