/** All faults by name, and how one of them is played and told. */
import { Cause, Effect, Exit } from "effect"
import { database } from "../scenarios/database.ts"
import { ddl } from "../scenarios/ddl.ts"
import { diskfull } from "../scenarios/diskfull.ts"
import { exhaustion } from "../scenarios/exhaustion.ts"
import { fairness } from "../scenarios/fairness.ts"
import { fanout } from "../scenarios/fanout.ts"
import { holders } from "../scenarios/holders.ts"
import { kills } from "../scenarios/kills.ts"
import { latency, partition } from "../scenarios/network.ts"
import { receivers } from "../scenarios/receivers.ts"
import { retention } from "../scenarios/retention.ts"
import { shutdown, terminations } from "../scenarios/shutdown.ts"
import { signals } from "../scenarios/signals.ts"
import { steps } from "../scenarios/steps.ts"
import { invariants } from "./Checker.ts"
import type { Server } from "./Installation.ts"
import { random } from "./Random.ts"
import type { Setting, Verdict } from "./World.ts"

/** The faults, in the order in which they are played. */
export const faults = {
  kills,
  steps,
  shutdown,
  terminations,
  database,
  receivers,
  signals,
  fairness,
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

/** How a campaign is played. */
export interface Plan {
  readonly server: Server
  readonly seed: number
  readonly seconds: number
  readonly limits: Setting["limits"]
  readonly owed: number
}

// Each fault has its own chance, so that it is the same alone as among the others.
const seedOf = (seed: number, fault: string): number =>
  Buffer.from(fault).reduce((mixed, byte) => Math.imul(mixed ^ byte, 0x01000193), seed)

/** Plays one fault. */
export const play = (fault: Fault, { seed, ...plan }: Plan) =>
  Effect.scoped(faults[fault]({ ...plan, perSecond: 50, random: random(seedOf(seed, fault)) }))

/** What was found, in lines: the verdict with its figures, then what was violated. */
export const told = (fault: string, millis: number, exit: Exit.Exit<Verdict>): ReadonlyArray<string> => {
  const took = `${(millis / 1000).toFixed(1)} s`
  if (Exit.isFailure(exit)) return [`BROKEN  ${fault} (${took})`, Cause.pretty(exit.cause)]
  const { figures, violations } = exit.value
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  const most = 10
  return [
    `${violations.length === 0 ? "ok    " : "BROKEN"}  ${fault} (${took}): ${shown.join(", ")}`,
    ...violations
      .slice(0, most)
      .map(({ detail, invariant }) => `        ${invariant} (${invariants[invariant]}): ${detail}`),
    ...(violations.length > most ? [`        and ${violations.length - most} more`] : []),
  ]
}
