/** A part of the role `sweeper`: seals new events every second, and signs checkpoints. */
import { Effect, Layer } from "effect"
import { workInBackground } from "../../kernel/concurrency/BackgroundWork.ts"
import { LogKeeper } from "./log/LogKeeper.ts"

/** Works until the process ends. `GET /health/ready` reports the last step. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(LogKeeper, ({ step }) =>
    workInBackground({
      name: "audit",
      failure: "An event log could not be sealed, or does not follow from its newest checkpoint",
      step,
    }),
  ),
)
