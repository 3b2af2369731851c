/** What the parts of a process say about themselves when somebody asks whether it is well. */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

/** How a part is. */
export interface PartState {
  readonly status: "up" | "down"
  /** Why it is down, or figures worth showing. Never a secret: the internal listener answers it to anyone who can reach it. */
  readonly [detail: string]: string | number | boolean
}

/** The parts of this process that were registered, by name. */
export const HealthParts = Context.Reference<Map<string, Effect.Effect<PartState>>>(
  "keyshelf.reference/kernel/HealthParts",
  {
    defaultValue: () => new Map(),
  },
)

/**
 * Registers a part, such as a worker, for as long as the scope is open. `GET /health/ready` shows it. A part that is down
 * does not make the process unready: its API still serves, and taking all nodes away would make it worse.
 */
export const registerHealth = (
  name: string,
  state: Effect.Effect<PartState>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(HealthParts, (parts) =>
    Effect.acquireRelease(
      Effect.sync(() => void parts.set(name, state)),
      () => Effect.sync(() => parts.get(name) === state && parts.delete(name)),
    ),
  )
