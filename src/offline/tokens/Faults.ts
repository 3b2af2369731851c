/** How a verification ends early. A fault is thrown and caught in this folder; callers see its status. */
import type { BundleFault } from "../Model.ts"

/** Ends the verification with a status, unless the condition holds. */
export function check(holds: unknown, status: BundleFault = "MALFORMED"): asserts holds {
  if (!holds) throw new Error(status, { cause: check })
}

/** The status of what was thrown. Any other error, such as one of a getter of the caller, is `MALFORMED`. */
export const statusOf = (thrown: unknown): BundleFault =>
  thrown instanceof Error && thrown.cause === check ? (thrown.message as BundleFault) : "MALFORMED"
