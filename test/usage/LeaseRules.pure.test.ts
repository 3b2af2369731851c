import { assert, describe, it } from "@effect/vitest"
import {
  decideSeat,
  endOfDay,
  leaseRefusalText,
  leaseValidationError,
  seatsOf,
} from "../../src/domains/usage/leases/Rules.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { after, decimal, meterWith, START } from "./meters.ts"

const seats = meterWith({ aggregationMethod: "CONCURRENT", resetPeriod: null })

describe("a seat", () => {
  it.each([
    [0, true],
    [9, true],
    [10, false],
    [11, false],
  ])("after %d others is there: %s", (others, allowed) => {
    assert.strictEqual(decideSeat(seats, others, START).allowed, allowed)
  })

  it.each([
    ["10", 0, 10],
    ["10", 5, 10],
    ["10", 10, 11],
    ["2.9", 0, 2],
    ["0", 50, 0],
    ["-1", 0, Infinity],
  ])("is one of the limit and its overage, rounded down: %s and %d %% are %d", (value, overagePercent, expected) => {
    assert.strictEqual(seatsOf({ ...seats, grant: { value: decimal(value), overagePercent } }), expected)
  })

  it("is none without a grant", () => {
    assert.strictEqual(seatsOf({ ...seats, grant: null }), 0)
    const refusal = leaseRefusalText(seats, decideSeat({ ...seats, grant: null }, 0, START), 0)
    assert.strictEqual(refusal, 'The license "pro" does not grant "calls" of "prod".')
    assert.strictEqual(
      leaseRefusalText(seats, decideSeat(seats, 10, START), 10),
      'The limit of "calls" of "prod" is 10 (0 % overage); 10 hold one.',
    )
  })

  it("is only of a CONCURRENT", () => {
    assert.isUndefined(leaseValidationError(seats))
    assert.match(leaseValidationError(meterWith())?.message ?? "", /; its aggregation is SUM$/)
    const flag = meterWith({ type: "BOOLEAN", aggregationMethod: null })
    assert.match(leaseValidationError(flag)?.message ?? "", /; its type is BOOLEAN$/)
  })
})

describe("the day of a lease", () => {
  it.each([
    [-1, 0],
    [0, 0],
    [1, DAY_MS],
    [DAY_MS - 1, DAY_MS],
    [DAY_MS, DAY_MS],
    [DAY_MS + 1, 2 * DAY_MS],
  ])("that ends at %d ms ends at %d ms", (millis, expected) => {
    assert.deepStrictEqual(endOfDay(after(millis)), after(expected))
  })
})
