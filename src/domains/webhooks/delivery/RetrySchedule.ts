/** The retry schedule (interface specification, section 6). No other file knows these times. */
import { Duration, Effect, Pull, Schedule } from "effect"

/** The delay before each of the six attempts: 0 s, 5 s, 5 min, 30 min, 2 h, 8 h. */
export const attemptSchedule = ["0 seconds", "5 seconds", "5 minutes", "30 minutes", "2 hours", "8 hours"]
  .map((delay) => Schedule.duration(Duration.fromInputUnsafe(delay as Duration.Input)))
  .reduce((first, next) => Schedule.concat(first, next))

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
