/**
 * The service's clock, aligned to the database's: nodes may be hours off, yet a license ends at one instant and a
 * retry is due at one instant for all of them. Durations (sleep, timeouts) keep the process's own monotonic time.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"

// Within this the node's own clock is as good as a measurement over the network.
const TOLERANCE_MS = 20

const measureOffset = Effect.fnUntraced(function* (system: Clock.Clock) {
  const sql = yield* SqlClient.SqlClient
  const before = system.currentTimeMillisUnsafe()
  const [row] = yield* sql<{ millis: string }>`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis`
  const after = system.currentTimeMillisUnsafe()
  const offset = Number(row?.millis) - (before + after) / 2
  return Math.abs(offset) <= TOLERANCE_MS + (after - before) / 2 ? 0 : Math.round(offset)
})

/** Replaces the Clock of everything built on it. Measures at the start and once a minute. */
export const layer = Layer.effect(
  Clock.Clock,
  Effect.gen(function* () {
    const system = yield* Clock.Clock
    let offset = yield* Effect.orDie(measureOffset(system))
    if (offset !== 0)
      yield* Effect.logWarning(`This machine's clock is ${-offset} ms off the database's; using the database's`)
    yield* measureOffset(system).pipe(
      Effect.tap((measured) => Effect.sync(() => (offset = measured))),
      Effect.ignore,
      Effect.repeat(Schedule.spaced("1 minute")),
      Effect.forkScoped,
    )
    const millis = () => system.currentTimeMillisUnsafe() + offset
    const nanos = () => system.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n
    return Object.assign(Object.create(system) as Clock.Clock, {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
    })
  }),
)
