/** A clock that runs like the system's, and that a test moves forward instead of waiting. */
import { Clock, Context, Effect, Layer } from "effect"

export class MovableClock extends Context.Service<
  MovableClock,
  {
    /** The time in milliseconds since 1970. */
    readonly now: () => number
    /** Lets this much time pass at once. What sleeps does not wake earlier. */
    readonly pass: (millis: number) => Effect.Effect<void>
  }
>()("keyshelf/test/MovableClock") {
  /** The clock, also as that of the services above. */
  static readonly layer = Layer.effectContext(
    Effect.map(Clock.Clock, (system) => {
      let passed = 0
      const now = () => system.currentTimeMillisUnsafe() + passed
      const nanos = () => system.currentTimeNanosUnsafe() + BigInt(passed) * 1_000_000n
      const clock: Clock.Clock = Object.assign(Object.create(system) as Clock.Clock, {
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
        currentTimeNanosUnsafe: nanos,
        currentTimeNanos: Effect.sync(nanos),
      })
      const pass = (millis: number) =>
        Effect.sync(() => {
          passed += millis
        })
      return Context.make(MovableClock, { now, pass }).pipe(Context.add(Clock.Clock, clock))
    }),
  )
}
