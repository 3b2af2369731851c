/** The role `sweeper`: a sweep at the start and one a minute after the last. */
import { Effect, Layer, Schedule } from "effect"
import { registerHealth } from "../../kernel/ports/HealthChecks.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Sweeper } from "./Service.ts"

/** Sweeps until the process ends, also through outages of the database. `GET /health/ready` tells how the last sweep went. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { kinds, sweep } = yield* Sweeper
    let state: PartState = { status: "up" }
    yield* registerHealth(
      "sweeper",
      Effect.sync(() => state),
    )

    const step = Effect.gen(function* () {
      const swept = yield* sweep
      const left = kinds.filter((kind) => swept[kind] === undefined)
      state =
        left.length === 0
          ? { status: "up", lastSweep: (yield* now).toISOString() }
          : { status: "down", reason: `The last sweep could not do ${left.join(", ")}` }
    })
    yield* Effect.forkScoped(Effect.repeat(step, Schedule.spaced("1 minute")))
  }),
)
