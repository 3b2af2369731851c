/** Clocks that run ahead of another clock, or behind. */
import { Effect } from "effect"
import type { Clock } from "effect"

/**
 * A clock that shows the time of another one plus this many milliseconds. Durations, such as those of sleeps, are
 * unchanged.
 */
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
