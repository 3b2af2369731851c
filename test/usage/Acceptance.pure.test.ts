import { assert, describe, it } from "@effect/vitest"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import { rejectionText, timestampError, valueError } from "../../src/domains/usage/ledger/Acceptance.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { accountWith, after, decimal, meterWith, START } from "./meters.ts"

describe("the instant of usage", () => {
  const ends = meterWith({ endLicenseDate: after(100 * DAY_MS), graceDays: 2 })
  const [DAYS_35, MINUTES_5] = [3_024_000_000, 300_000]
  const early = "must not be before the license starts"
  const late = "must be before the license ends"
  const old = "must not be more than 35 days ago"
  const ahead = "must not be more than 5 minutes in the future"
  const now = 50 * DAY_MS

  it.each([
    ["one before the start", -1, 0, early],
    ["at the start", 0, 0, undefined],
    ["35 days ago", now - DAYS_35, now, undefined],
    ["one more than 35 days ago", now - DAYS_35 - 1, now, old],
    ["one less than 35 days ago", now - DAYS_35 + 1, now, undefined],
    ["5 minutes ahead", now + MINUTES_5, now, undefined],
    ["one more than 5 minutes ahead", now + MINUTES_5 + 1, now, ahead],
    ["at the end of the license, in grace", 100 * DAY_MS, 100 * DAY_MS, undefined],
    ["one before the end of grace", 102 * DAY_MS - 1, 102 * DAY_MS, undefined],
    ["at the end of grace", 102 * DAY_MS, 102 * DAY_MS, late],
  ])("%s: %d ms after the start, at %d ms: %s", (_, timestamp, at, expected) => {
    assert.strictEqual(timestampError(ends, after(timestamp), after(at)), expected)
  })

  it("has no end if the license has none", () => {
    assert.isUndefined(timestampError(meterWith(), after(9999 * DAY_MS), after(9999 * DAY_MS)))
  })
})

describe("the value of usage", () => {
  const optional = new Set(["UNIQUE_COUNT append", "UNIQUE_COUNT set", "COUNT append"])
  it("may be absent only where it does not count", () => {
    for (const aggregationMethod of aggregationMethods) {
      for (const behavior of ["append", "set"] as const) {
        const expected = optional.has(`${aggregationMethod} ${behavior}`) ? undefined : "required"
        assert.strictEqual(valueError(meterWith({ aggregationMethod }), behavior, undefined), expected)
      }
    }
  })

  it("may be negative only for a SUM that is added to, and where it does not count", () => {
    const negative = decimal("-1")
    for (const aggregationMethod of aggregationMethods) {
      const meter = meterWith({ aggregationMethod })
      const error = valueError(meter, "append", negative)
      const accepted = aggregationMethod === "SUM" || aggregationMethod === "UNIQUE_COUNT"
      assert.strictEqual(error === undefined, accepted, aggregationMethod)
      assert.isUndefined(valueError(meter, "append", decimal("0")))
    }
    assert.strictEqual(valueError(meterWith(), "set", negative), "must not be negative, because it becomes the total")
    assert.isUndefined(valueError(meterWith({ aggregationMethod: null }), "append", negative), "SUM is the default")
  })

  it("has at most 18 digits", () => {
    assert.isUndefined(valueError(meterWith(), "append", decimal("9".repeat(18))))
    assert.strictEqual(valueError(meterWith(), "append", decimal("9".repeat(19))), "must have at most 18 digits")
  })
})

describe("a rejection", () => {
  it("says what rejected the usage, with its figures", () => {
    const account = accountWith(meterWith(), { used: "9", held: "2" })
    assert.strictEqual(
      rejectionText("cap", account, START),
      'The limit of "calls" of "prod" is 10 (0 % overage); 9 is used in the period and 2 is held by reservations.',
    )
    assert.strictEqual(
      rejectionText("cap", accountWith(meterWith({ grant: null })), START),
      'The limit of "calls" of "prod" is 0 (0 % overage); 0 is used in the period and 0 is held by reservations.',
    )
    assert.match(rejectionText("not-granted", account, START), /^The license "pro" does not grant/)
    assert.match(rejectionText("negative", account, START), /would fall below zero/)
    assert.match(rejectionText("lowering", account, START), /^A license key cannot lower/)
  })
})
