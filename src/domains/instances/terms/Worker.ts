/** A part of the role `sweeper`: emits the events about the ends of licenses within a second of their time. */
import { Effect, Layer } from "effect"
import { workInBackground } from "../../../kernel/concurrency/BackgroundWork.ts"
import { TERM_BATCH, TermNotices } from "./Service.ts"

/** Emits until the process ends. `GET /health/ready` reports the last pass. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(TermNotices, ({ applyLeads, emitDue }) =>
    workInBackground({
      name: "termNotices",
      failure: "The last look for ended licenses failed",
      prepare: applyLeads,
      step: Effect.map(emitDue, (count) => count === TERM_BATCH),
    }),
  ),
)
