import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import {
  instantsToFit,
  meterErrors,
  rejectionOf,
  requestErrors,
  withPromisedGrant,
} from "../../src/domains/usage/allowances/Rules.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import { heldOf } from "../../src/domains/usage/rules/Held.ts"
import type { NumberSnapshot } from "../../src/domains/usage/snapshots/Model.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { accountWith, after, decimal, meterWith, START } from "./meters.ts"

const locations = (errors: ReadonlyArray<{ readonly location: string }>) =>
  errors.map(({ location }) => location.replace("body.allowances", ""))

describe("what allowances hold of a period", () => {
  const period = { start: START, end: after(DAY_MS) }
  const held = (allowances: ReadonlyArray<readonly [quantity: string, until: number]>, broughtIn = "0") =>
    BigDecimal.format(
      heldOf(
        {
          held: null,
          allowances: allowances.map(([quantity, until]) => ({ quantity, validUntil: after(until).toISOString() })),
          broughtIn,
        },
        period,
      ),
    )

  it.each([
    [-1, "0"],
    [0, "0"],
    [1, "5"],
  ])("is something only if they end after it begins: %d ms", (until, expected) => {
    assert.strictEqual(held([["5", until]]), expected)
  })

  it("is the greatest of them, without what ledgers brought, and at least 0", () => {
    assert.strictEqual(
      held([
        ["5", 1],
        ["7", 1],
        ["6", 1],
        ["99", 0],
      ]),
      "7",
    )
    assert.strictEqual(held([["7", 1]], "3"), "4")
    assert.strictEqual(held([["7", 1]], "9"), "0")
    assert.strictEqual(held([]), "0")
  })
})

describe("a request for allowances", () => {
  const requested = (entitlement: string, quantity = 1) => ({ entitlement, quantity })

  it("names each entitlement once, with at most 18 digits", () => {
    assert.deepStrictEqual(locations(requestErrors([requested("a"), requested("b"), requested("a"), requested("a")])), [
      "[2].entitlement",
      "[3].entitlement",
    ])
    assert.deepStrictEqual(locations(requestErrors([requested("a", 1e15), requested("b", 1e18)])), ["[1].quantity"])
  })

  it.each([
    ["an unknown one", undefined, 1, ["[0].entitlement"]],
    ["a BOOLEAN", { type: "BOOLEAN" }, 1, ["[0].entitlement"]],
    ["a MAX", { aggregationMethod: "MAX" }, 1, ["[0].entitlement"]],
    ["a SUM in parts", {}, 1.5, []],
    ["a COUNT in parts", { aggregationMethod: "COUNT" }, 1.5, ["[0].quantity"]],
    ["a COUNT of whole ones", { aggregationMethod: "COUNT" }, 7, []],
    ["a COUNT of tens", { aggregationMethod: "COUNT" }, 30, []],
  ] as ReadonlyArray<readonly [string, Partial<Meter> | undefined, number, ReadonlyArray<string>]>)(
    "for %s",
    (_, more, quantity, expected) => {
      const errors = meterErrors([requested("calls", quantity)], () =>
        more === undefined ? undefined : meterWith(more),
      )
      assert.deepStrictEqual(locations(errors), expected)
    },
  )
})

describe("the meter of an allowance", () => {
  const snapshot: NumberSnapshot = {
    slug: "calls",
    type: "NUMBER",
    limit: "7",
    overagePercent: "10",
    aggregation: "SUM",
    used: "0",
    usedFrom: "",
    period: "DAY/CALENDAR",
  }

  it("has the grant that its bundle promises, and none without a promise", () => {
    const granted = withPromisedGrant(meterWith(), [{ ...snapshot, slug: "other" }, snapshot]).grant
    assert.deepStrictEqual(granted, { value: decimal("7"), overagePercent: 10 })
    assert.isNull(withPromisedGrant(meterWith(), [{ ...snapshot, slug: "other" }]).grant)
    assert.isNull(withPromisedGrant(meterWith(), [{ slug: "calls", type: "BOOLEAN", value: true }]).grant)
  })

  it.each([
    [DAY_MS - 1, [1]],
    [DAY_MS, [1]],
    [DAY_MS + 1, [1, DAY_MS]],
    [3 * DAY_MS, [1, DAY_MS]],
  ])("must have room at the first instant, and in the period after: until %d ms", (until, expected) => {
    assert.deepStrictEqual(instantsToFit(meterWith(), { from: after(1), until: after(until) }), expected.map(after))
  })

  it("has room up to its limit, with what is held", () => {
    const meter = meterWith()
    const at = after(1)
    assert.isUndefined(rejectionOf(meter, at, [accountWith(meter, { used: "4", held: "6" })]))
    assert.match(
      rejectionOf(meter, at, [accountWith(meter), accountWith(meter, { used: "4", held: "6.1" })]) ?? "",
      /is 10 \(0 % overage\); in the period from 2026-01-01T00:00:00.000Z, 4 would be used, and 6.1 held/,
    )
    const ungranted = meterWith({ grant: null })
    assert.match(rejectionOf(ungranted, at, [accountWith(ungranted)]) ?? "", /does not grant/)
  })
})
