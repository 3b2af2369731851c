/** Memory of the start, given back: compiling a few hundred modules fills a young generation that an idle service never needs again. */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/**
 * Collects all garbage at once. Node offers the collector to programs only behind this flag. The flavor makes V8 shrink its spaces
 * to what is left.
 */
export const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const gc: unknown = runInNewContext("gc")
  if (typeof gc === "function") gc({ type: "major", execution: "sync", flavor: "last-resort" })
}

/**
 * Collects garbage once, a moment after the start, which takes some tens of milliseconds. An idle process then holds two
 * thirds of the memory.
 */
export const releaseAfterStart = Effect.delay(Effect.sync(collectGarbage), "1 second")
