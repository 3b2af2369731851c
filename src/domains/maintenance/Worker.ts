/** The role `sweeper`: sweeps at startup, then one minute after the end of each sweep. */
import { Effect, Layer, Schedule } from "effect"
import { registerHealth } from "../../kernel/ports/HealthChecks.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Sweeper } from "./Service.ts"

/** Sweeps until the process ends, even through database outages. `GET /health/ready` reports the last sweep. */
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
      const failed = kinds.filter((kind) => swept[kind] === undefined)
      state =
        failed.length === 0
          ? { status: "up", lastSweep: (yield* now).toISOString() }
          : { status: "down", reason: `The last sweep failed for ${failed.join(", ")}` }
    })
    yield* Effect.forkScoped(Effect.repeat(step, Schedule.spaced("1 minute")))
  }),
)
