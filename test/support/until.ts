/** Waits for a condition, and says which one it was if it does not come true. */
import { Effect, Schedule } from "effect"

export const until = <E, R>(what: string, condition: Effect.Effect<boolean, E, R>) =>
  Effect.repeat(condition, { until: (holds) => holds, schedule: Schedule.spaced("20 millis") }).pipe(
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => Effect.die(new Error(`This did not happen: ${what}`)),
    }),
  )
