/** A part of the role `sweeper`: emits the events of credits that expired within two seconds of their time. */
import { Effect, Layer } from "effect"
import { workInBackground } from "../../../kernel/concurrency/BackgroundWork.ts"
import { CreditExpiry, EXPIRY_BATCH } from "./Expiry.ts"

/** Emits until the process ends. `GET /health/ready` reports the last pass. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(CreditExpiry, ({ emitDue }) =>
    workInBackground({
      name: "creditExpiry",
      failure: "The last look for expired credits failed",
      step: Effect.map(emitDue, (count) => count === EXPIRY_BATCH),
    }),
  ),
)
