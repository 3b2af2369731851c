/**
 * What decides checks and evaluates flags, and nothing else. No layer here has a worker, a signal, a key or outbound HTTP, so a program on
 * them opens no connection but those to the database, and sends nothing of what it finds there.
 */
import { Layer } from "effect"
import * as Flags from "../domains/flags/Layer.ts"
import * as Usage from "../domains/usage/Layer.ts"
import * as DedicatedConnections from "../infra/database/DedicatedConnections.ts"

/** Checks and evaluations, on a migrated database without Citus. */
export const decisions = Flags.evaluations.pipe(
  Layer.provideMerge(Usage.checks),
  Layer.provide(Usage.repositories),
  Layer.provide(DedicatedConnections.layer),
)
