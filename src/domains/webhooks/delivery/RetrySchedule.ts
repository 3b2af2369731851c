/** When a delivery is attempted (interface specification, section 6). The one source of these times. */
import { Duration, Effect, Pull, Schedule } from "effect"

/** The delay before each attempt, the first included: 0 s, 5 s, 5 min, 30 min, 2 h, 8 h. It ends after six. */
export const attemptSchedule = ["0 seconds", "5 seconds", "5 minutes", "30 minutes", "2 hours", "8 hours"]
  .map((delay) => Schedule.duration(Duration.fromInputUnsafe(delay as Duration.Input)))
  .reduce((first, next) => Schedule.concat(first, next))

// Steps from the beginning to the attempt: consecutive attempts run in different processes, and the attempt's number is
// all that they know. The schedule looks at nothing else, so its own time is simulated.
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

/** How long after the end of the attempt before it an attempt (from 1) is due. Nothing if there is no such attempt. */
export const delayBefore = (attempt: number): Duration.Duration | undefined => Effect.runSync(stepTo(attempt))

/** When the attempt after a failed one is due; `null` after the last, and after every attempt that was asked for by hand. */
export const nextAttemptAt = (failedAttempt: number, endedAt: Date): Date | null => {
  const delay = delayBefore(failedAttempt + 1)
  return delay === undefined ? null : new Date(endedAt.getTime() + Duration.toMillis(delay))
}
