/**
 * Aligns the service's clock with the database's. Node clocks may be hours off, yet all nodes must agree on when a
 * license ends and a retry is due. Durations (sleeps, timeouts) still use the process's monotonic clock.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { shiftedClock } from "../../kernel/values/ShiftedClock.ts"

// A smaller difference is within the error of measuring over the network.
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

/** Replaces the Clock for all layers built on it. Measures the offset at startup and once a minute. */
export const layer = Layer.effect(
  Clock.Clock,
  Effect.gen(function* () {
    const system = yield* Clock.Clock
    let offset = yield* Effect.orDie(measureOffset(system))
    if (offset !== 0)
      yield* Effect.logWarning(
        `This machine's clock differs from the database's by ${-offset} ms; using the database's clock`,
      )
    yield* measureOffset(system).pipe(
      Effect.tap((measured) => Effect.sync(() => (offset = measured))),
      Effect.ignore,
      Effect.repeat(Schedule.spaced("1 minute")),
      Effect.forkScoped,
    )
    return shiftedClock(system, () => offset)
  }),
)
