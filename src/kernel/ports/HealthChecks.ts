/** The health of the parts of a process. */
import { Context, Effect } from "effect"
import type { Scope } from "effect"

/** The health of a part. */
export interface PartState {
  readonly status: "up" | "down"
  /** The reason why it is down, or other figures. Never a secret, because the internal listener needs no credential. */
  readonly [detail: string]: string | number | boolean
}

/** The registered parts of this process, by name. */
export const HealthChecks = Context.Reference<Map<string, Effect.Effect<PartState>>>(
  "keyshelf.reference/kernel/HealthChecks",
  {
    defaultValue: () => new Map(),
  },
)

/**
 * Registers a part, such as a worker, until the scope closes. `GET /health/ready` shows it. A part that is down does
 * not make the process unready: its API still works, and removing all nodes from the load balancer would make it worse.
 */
export const registerHealth = (
  name: string,
  state: Effect.Effect<PartState>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(HealthChecks, (parts) =>
    Effect.acquireRelease(
      Effect.sync(() => void parts.set(name, state)),
      () => Effect.sync(() => parts.get(name) === state && parts.delete(name)),
    ),
  )
