/** Runs faults for the test suite: with a fixed seed, for a few seconds and with short leases. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"
import { run } from "./Campaign.ts"
import type { Fault, Plan } from "./Campaign.ts"

const SHORT = { lease: 22_000, timeout: 2_000 }

/** Runs a fault; fails on violations and returns the figures. */
export const bounded = Effect.fnUntraced(function* (fault: Fault, seconds: number, limits: Plan["limits"] = SHORT) {
  const { figures, violations } = yield* run(fault, {
    server: { url: inject("serverUrl"), cluster: inject("serverUrls"), template: inject("template") },
    seed: 5,
    seconds,
    limits,
    backlog: 1_000,
  })
  assert.deepStrictEqual(violations, [])
  return figures
})
