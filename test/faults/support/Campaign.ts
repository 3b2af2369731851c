/** All faults by name, and how to run and report one. */
import { Cause, Effect, Exit } from "effect"
import { cap } from "../scenarios/cap.ts"
import { database } from "../scenarios/database.ts"
import { ddl } from "../scenarios/ddl.ts"
import { diskfull } from "../scenarios/diskfull.ts"
import { exhaustion } from "../scenarios/exhaustion.ts"
import { failover } from "../scenarios/failover.ts"
import { fairness } from "../scenarios/fairness.ts"
import { fanout } from "../scenarios/fanout.ts"
import { holders } from "../scenarios/holders.ts"
import { kills } from "../scenarios/kills.ts"
import { neighbours } from "../scenarios/neighbours.ts"
import { latency, partition } from "../scenarios/network.ts"
import { poolers } from "../scenarios/poolers.ts"
import { receivers } from "../scenarios/receivers.ts"
import { retention } from "../scenarios/retention.ts"
import { shutdown, terminations } from "../scenarios/shutdown.ts"
import { signals } from "../scenarios/signals.ts"
import { steps } from "../scenarios/steps.ts"
import { products, tranches } from "../scenarios/tranches.ts"
import { invariants } from "./Checker.ts"
import type { Server } from "./Installation.ts"
import { random } from "./Random.ts"
import type { ScenarioOptions, Verdict } from "./World.ts"

/** The faults, in the order in which they run. */
export const faults = {
  kills,
  cap,
  tranches,
  products,
  steps,
  poolers,
  shutdown,
  terminations,
  database,
  failover,
  receivers,
  signals,
  fairness,
  neighbours,
  holders,
  retention,
  fanout,
  exhaustion,
  diskfull,
  partition,
  ddl,
  latency,
} as const
export type Fault = keyof typeof faults

/** Parameters of a campaign. */
export interface Plan {
  readonly server: Server
  readonly seed: number
  readonly seconds: number
  readonly limits: ScenarioOptions["limits"]
  readonly backlog: number
}

// Derives a seed per fault, so that a fault makes the same choices alone and with others.
const seedOf = (seed: number, fault: string): number =>
  Buffer.from(fault).reduce((mixed, byte) => Math.imul(mixed ^ byte, 0x01000193), seed)

/** Runs one fault. */
export const run = (fault: Fault, { seed, ...plan }: Plan) =>
  Effect.scoped(faults[fault]({ ...plan, perSecond: 50, random: random(seedOf(seed, fault)) }))

/** Formats a result as lines: the verdict with its figures, then the violations. */
export const reportLines = (fault: string, millis: number, exit: Exit.Exit<Verdict>): ReadonlyArray<string> => {
  const took = `${(millis / 1000).toFixed(1)} s`
  if (Exit.isFailure(exit)) return [`FAILED  ${fault} (${took})`, Cause.pretty(exit.cause)]
  const { figures, violations } = exit.value
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  const maxShown = 10
  return [
    `${violations.length === 0 ? "ok    " : "FAILED"}  ${fault} (${took}): ${shown.join(", ")}`,
    ...violations
      .slice(0, maxShown)
      .map(({ detail, invariant }) => `        ${invariant} (${invariants[invariant]}): ${detail}`),
    ...(violations.length > maxShown ? [`        and ${violations.length - maxShown} more`] : []),
  ]
}
