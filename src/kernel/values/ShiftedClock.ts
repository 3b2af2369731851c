/** Clocks that are ahead of another one, or behind it. */
import { Effect } from "effect"
import type { Clock } from "effect"

/** A clock that shows the time of another one plus this many milliseconds. Durations, such as of sleeps, stay the other's. */
export const shiftedClock = (clock: Clock.Clock, offsetMillis: () => number): Clock.Clock => {
  const millis = () => clock.currentTimeMillisUnsafe() + offsetMillis()
  const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(offsetMillis()) * 1_000_000n
  return Object.assign(Object.create(clock) as Clock.Clock, {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
  })
}
