import { assert, describe, it } from "@effect/vitest"
import type { AppliedOverride } from "../../src/domains/instances/overrides/Model.ts"
import { grantOver, periodStarts } from "../../src/domains/usage/snapshots/Rules.ts"
import type { SnapshotRow } from "../../src/domains/usage/snapshots/Rules.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import { after, decimal, meterWith, START } from "./meters.ts"

const row = (more: Partial<SnapshotRow> = {}): SnapshotRow => ({
  ...meterWith(),
  granted: "10",
  overagePercent: 0,
  addOns: null,
  override: null,
  periodStart: null,
  used: null,
  held: null,
  allowances: null,
  broughtIn: null,
  ...more,
})
const override = (more: Partial<AppliedOverride>): AppliedOverride => ({
  mode: "SET",
  value: "5",
  overagePercent: null,
  startsAt: after(-1).toISOString(),
  endsAt: null,
  reason: null,
  by: { id: "", name: "" },
  at: "",
  ...more,
})
const life = { from: START, until: after(100) }
const used = { amount: decimal("4"), held: decimal("0"), from: START }
const limitOf = (more: Partial<SnapshotRow>) => {
  const granted = grantOver(row(more), used, life)
  return granted?.type === "NUMBER" ? [granted.limit, granted.overagePercent] : granted
}

describe("what is promised of a number", () => {
  it.each([
    ["ends at the beginning", { startsAt: after(-9).toISOString(), endsAt: after(0).toISOString() }, "10"],
    ["ends just after it", { startsAt: after(-9).toISOString(), endsAt: after(1).toISOString() }, "5"],
    ["starts just before the end", { startsAt: after(99).toISOString() }, "5"],
    ["starts at the end", { startsAt: after(100).toISOString() }, "10"],
    ["raises it from within", { startsAt: after(50).toISOString(), value: "20" }, "10"],
    ["raises it until within", { value: "20", endsAt: after(50).toISOString() }, "10"],
    ["raises it all the time", { value: "20" }, "20"],
  ])("is the least of its life: with an override that %s", (_, terms, limit) => {
    assert.deepStrictEqual(limitOf({ override: override(terms) }), [limit, "0"])
  })

  it("is what allows least with its overage, and unlimited only if it always is", () => {
    const soft = override({ startsAt: after(50).toISOString(), value: "9", overagePercent: 20 })
    assert.deepStrictEqual(limitOf({ override: soft }), ["10", "0"])
    assert.deepStrictEqual(limitOf({ override: { ...soft, overagePercent: 10 } }), ["9", "10"])
    const later = override({ startsAt: after(50).toISOString() })
    assert.deepStrictEqual(limitOf({ override: { ...later, value: "-1" } }), ["10", "0"])
    assert.deepStrictEqual(limitOf({ granted: "-1", override: later }), ["5", "0"])
    assert.deepStrictEqual(limitOf({ granted: "-1" }), ["-1", "0"])
    assert.isNull(limitOf({ granted: null, override: later }))
    assert.isNull(limitOf({ granted: null, override: override({ endsAt: after(50).toISOString() }) }))
  })

  it("has its usage and the name of its periods, and is never one of seats or without usage", () => {
    assert.deepInclude(grantOver(row({ aggregationMethod: null, resetAnchor: null }), used, life), {
      aggregation: "SUM",
      used: "4",
      usedFrom: START.toISOString(),
      period: "DAY/CALENDAR",
    })
    assert.deepInclude(grantOver(row({ resetPeriod: null, aggregationMethod: "COUNT" }), used, life), {
      aggregation: "COUNT",
      period: "LIFETIME",
    })
    assert.deepInclude(grantOver(row({ resetAnchor: "LICENSE_START" }), used, life), { period: "DAY/LICENSE_START" })
    assert.isNull(grantOver(row({ aggregationMethod: "CONCURRENT" }), used, life))
    assert.isNull(grantOver(row(), null, life))
  })
})

describe("what is promised of others", () => {
  const within = { startsAt: after(50).toISOString() }
  const boolean = (more: Partial<SnapshotRow>) => grantOver(row({ type: "BOOLEAN", ...more }), null, life)
  const config = (more: Partial<SnapshotRow>) =>
    grantOver(row({ type: "CONFIG", granted: "{}", configuration: { a: 1 }, ...more }), null, life)

  it("is true only if a BOOLEAN is true all the time, and nothing if it is not always granted", () => {
    assert.deepInclude(boolean({ granted: "true" }), { value: true })
    assert.deepInclude(boolean({ granted: "false" }), { value: false })
    assert.deepInclude(boolean({ granted: "true", override: override({ ...within, value: false }) }), { value: false })
    assert.isNull(boolean({ granted: null, override: override({ ...within, value: true }) }))
    assert.isNull(boolean({ granted: null }))
  })

  it("is a CONFIG only if it does not change", () => {
    assert.deepInclude(config({}), { value: { a: 1 } })
    assert.deepInclude(config({ override: override({ ...within, value: { a: 1 } }) }), { value: { a: 1 } })
    assert.isNull(config({ override: override({ ...within, value: { a: 2 } }) }))
    assert.isNull(config({ granted: null }))
  })
})

describe("the starts of periods", () => {
  const starts = (
    resetPeriod: "HOUR" | "DAY" | "WEEK" | "MONTH" | "YEAR" | null,
    until: number,
    resetAnchor: "LICENSE_START" | null = null,
  ) => periodStarts({ resetPeriod, resetAnchor }, after(HOUR_MS / 2), { from: after(HOUR_MS), until: after(until) })

  it("of fixed lengths are a start and a length in seconds", () => {
    assert.deepStrictEqual(starts("HOUR", DAY_MS), { from: "2026-01-01T01:00:00.000Z", every: 3_600 })
    assert.deepStrictEqual(starts("DAY", DAY_MS), { from: "2026-01-01T00:00:00.000Z", every: 86_400 })
    assert.deepStrictEqual(starts("WEEK", DAY_MS), { from: "2025-12-29T00:00:00.000Z", every: 604_800 })
    assert.deepStrictEqual(starts("DAY", DAY_MS, "LICENSE_START"), { from: "2026-01-01T00:30:00.000Z", every: 86_400 })
  })

  it.each([
    [31 * DAY_MS, ["2026-01-01", "2026-02-01"]],
    [31 * DAY_MS + 1, ["2026-01-01", "2026-02-01", "2026-03-01"]],
  ])("of months are all that touch a life of %d ms, and one more", (until, days) => {
    assert.deepStrictEqual(starts("MONTH", until), { starts: days.map((day) => `${day}T00:00:00.000Z`) })
  })

  it("of usage that never resets are that of the license", () => {
    assert.deepStrictEqual(starts(null, DAY_MS), { starts: ["2026-01-01T00:30:00.000Z"] })
  })
})
