/** The phases of a process: starting, serving, draining. */
import { Context } from "effect"

/** Phase of the process. It should receive requests only while `serving`. */
export interface Lifecycle {
  phase: "starting" | "serving" | "draining"
}

/** The {@link Lifecycle} of this process. */
export const CurrentLifecycle = Context.Reference<Lifecycle>("keyshelf.reference/kernel/Lifecycle", {
  defaultValue: () => ({ phase: "serving" }),
})
