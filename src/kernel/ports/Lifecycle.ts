/** The phases of a process: starting, serving, draining. */
import { Context } from "effect"

/** Where the process is in its life. It should get requests only in between. */
export interface Lifecycle {
  phase: "starting" | "serving" | "draining"
}

/** The {@link Lifecycle} of this process. */
export const CurrentLifecycle = Context.Reference<Lifecycle>("keyshelf.reference/runtime/Lifecycle", {
  defaultValue: () => ({ phase: "serving" }),
})
