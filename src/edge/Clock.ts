/** The clock and the timers of this process, for the local clients of instances. */
import { Context } from "effect"
import type { Clock } from "../local/index.ts"
import { systemClock } from "../machine/SystemClock.ts"

/** Timers that are longer end at whole seconds: Node.js keeps a list for each length, and thousands of instances share these. */
const EXACT_MS = 5_000

const edgeClock: Clock = {
  ...systemClock,
  after: (millis, work) => systemClock.after(millis > EXACT_MS ? Math.ceil(millis / 1000) * 1000 : millis, work),
}

/** The clock of an edge. */
export const EdgeClock = Context.Reference<Clock>("keyshelf.reference/edge/Clock", { defaultValue: () => edgeClock })
