/** The role `sweeper`: a sweep at the start and one a minute after the last. */
import { Effect, Layer, Schedule } from "effect"
import { Sweeper } from "./Service.ts"

/** Sweeps until the process ends, also through outages of the database. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(Sweeper, ({ sweep }) => Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("1 minute")))),
)
