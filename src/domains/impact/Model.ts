/** A change whose impact is requested. */
import type { Effect } from "effect"
import type { Caller } from "../../kernel/contract/Caller.ts"
import type { DryRunEvent } from "../../kernel/contract/dryruns/DryRun.ts"

/** A change that was applied, and will be rolled back. */
export interface Rehearsed {
  readonly caller: Caller["Service"]
  /** The parameters of the path. */
  readonly params: Readonly<Record<string, string | undefined>>
  readonly events: ReadonlyArray<DryRunEvent>
  /** The body of the response. */
  readonly body: unknown
}

/** An impact that reads the state after the change, and returns the effect that reads the state before it. */
export type Impact = (change: Rehearsed) => Effect.Effect<Effect.Effect<object>>
