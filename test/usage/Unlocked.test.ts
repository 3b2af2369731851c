import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Effect, Layer, Option } from "effect"
import { accountOf, post } from "../../src/usage/Account.ts"
import { nothing } from "../../src/usage/Aggregation.ts"
import type { Meter } from "../../src/usage/Model.ts"
import { SnapshotRepo } from "../../src/usage/SnapshotRepo.ts"
import { Unlocked } from "../../src/usage/Unlocked.ts"

const at = new Date("2026-05-01T00:00:00Z")
const actor = { id: "00000000-0000-7000-8000-000000000001", name: "test" }

const calls: Meter = {
  organizationId: "o",
  instanceId: "i",
  instance: "prod",
  license: "pro",
  startLicenseDate: at,
  endLicenseDate: null,
  entitlementId: "e",
  entitlement: "calls",
  entitlementName: "Calls",
  type: "NUMBER",
  aggregationMethod: "SUM",
  resetPeriod: null,
  resetAnchor: null,
  warningThresholdPercent: null,
  displayOrder: 0,
  granted: "100",
  overagePercent: 0,
}

const total = {
  instanceId: calls.instanceId,
  entitlementId: calls.entitlementId,
  periodStart: at,
  total: nothing,
  crossings: { warned: false, limitReached: false, capExceeded: false },
  place: "(0,1)",
  version: "1",
  held: BigDecimal.fromBigInt(0n),
  decidedAt: at,
}

/** A counter that somebody else wins so many times. Tells how often it was tried to store. */
const counterWonByOthers = (times: number) => {
  const tries = { count: 0 }
  const repo = Layer.succeed(SnapshotRepo, {
    read: () => Effect.succeed([{ meter: calls, total }]),
    store: () => Effect.sync(() => ++tries.count > times),
  })
  const posting = {
    organizationId: calls.organizationId,
    names: [{ instance: "prod", entitlement: "calls" }],
    decide: () => {
      const used = { behavior: "append", value: BigDecimal.fromBigInt(1n), uniqueKey: null, metadata: null } as const
      const { account } = post(accountOf(calls, { start: at, end: null }, total), {
        ...used,
        timestamp: at,
        reportedBy: actor,
      })
      return { answer: "counted", accounts: new Map([["calls", account]]) }
    },
  }
  const counted = Effect.flatMap(Unlocked, (unlocked) => unlocked.post(posting)).pipe(
    Effect.provide(Unlocked.layer.pipe(Layer.provide(repo))),
  )
  return { counted, tries }
}

describe("usage that loses its counter to another node", () => {
  it.effect("is tried again, and counted without a lock once nobody else was faster", () =>
    Effect.gen(function* () {
      const { counted, tries } = counterWonByOthers(5)
      assert.deepStrictEqual(yield* counted, Option.some("counted"))
      assert.strictEqual(tries.count, 6)
    }),
  )

  it.effect("is left to a decision under locks if somebody else always is", () =>
    Effect.gen(function* () {
      const { counted, tries } = counterWonByOthers(Number.POSITIVE_INFINITY)
      assert.deepStrictEqual(yield* counted, Option.none())
      assert.strictEqual(tries.count, 8)
    }),
  )
})
