import { assert, describe, it } from "@effect/vitest"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import type { StoredReservation } from "../../src/domains/usage/reservations/Model.ts"
import {
  commitValidationError,
  decideReservation,
  findFullAccount,
  periodsTouched,
  reservationAt,
  reserveRejectionText,
  reserveValidationError,
  stateAt,
} from "../../src/domains/usage/reservations/Rules.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { accountWith, after, decimal, meterWith, START } from "./meters.ts"

describe("the state of a reservation", () => {
  it.each([
    [-1, "HELD"],
    [0, "EXPIRED"],
    [1, "EXPIRED"],
  ])("is EXPIRED from its expiry on, if it was HELD: %d ms", (millis, expected) => {
    assert.strictEqual(stateAt({ state: "HELD", expiresAt: START }, after(millis)), expected)
    for (const state of ["COMMITTED", "RELEASED"] as const) {
      assert.strictEqual(stateAt({ state, expiresAt: START }, after(millis)), state)
    }
  })

  it("is shown with its quantities as numbers", () => {
    const stored = { quantity: "2.5", state: "HELD", expiresAt: START, committedQuantity: null } as StoredReservation
    assert.deepInclude(reservationAt(stored, START), { quantity: 2.5, committedQuantity: null, state: "EXPIRED" })
    assert.deepInclude(reservationAt({ ...stored, committedQuantity: "0" }, START), { committedQuantity: 0 })
  })
})

describe("the periods of a reservation", () => {
  it.each([
    [DAY_MS - 1, 1],
    [DAY_MS, 1],
    [DAY_MS + 1, 2],
    [2 * DAY_MS + 1, 3],
  ])("are those that begin before it ends: %d ms", (until, count) => {
    const starts = periodsTouched(meterWith(), after(5), after(until)).map(({ start }) => start)
    assert.deepStrictEqual(
      starts,
      Array.from({ length: count }, (_, day) => after(day * DAY_MS)),
    )
  })

  it("are one if usage never resets", () => {
    assert.lengthOf(periodsTouched(meterWith({ resetPeriod: null }), START, after(9_999 * DAY_MS)), 1)
  })
})

describe("a quantity to reserve", () => {
  it.each([
    ["of a BOOLEAN", { type: "BOOLEAN" }, 1, "path.entitlementSlug"],
    ["of a MAX", { aggregationMethod: "MAX" }, 1, "path.entitlementSlug"],
    ["that is absent", {}, undefined, undefined],
    ["of a SUM", {}, 2.5, undefined],
    ["of too many digits", {}, 1e18, "body.quantity"],
    ["that is no number", {}, Number.NaN, "body.quantity"],
    ["of a COUNT of 0", { aggregationMethod: "COUNT" }, 0, undefined],
    ["of a COUNT of 1", { aggregationMethod: "COUNT" }, 1, undefined],
    ["of a COUNT of 2", { aggregationMethod: "COUNT" }, 2, "body.quantity"],
    ["of a COUNT of a part", { aggregationMethod: "COUNT" }, 0.5, "body.quantity"],
  ] as ReadonlyArray<readonly [string, Partial<Meter>, number | undefined, string | undefined]>)(
    "%s has the error %s",
    (_, more, quantity, location) => {
      assert.strictEqual(reserveValidationError(meterWith(more), quantity)?.location, location)
    },
  )

  it.each([
    [undefined, true],
    [0, true],
    [2.4, true],
    [2.5, true],
    [2.6, false],
  ])("is committed up to what was reserved, 2.5: %s", (quantity, expected) => {
    assert.strictEqual(commitValidationError(meterWith(), { quantity: "2.5" }, quantity) === undefined, expected)
  })

  it("is committed by the rules of its meter too", () => {
    const error = commitValidationError(meterWith({ aggregationMethod: "COUNT" }), { quantity: "5" }, 2)
    assert.strictEqual(error?.message, "must be 1, because a COUNT counts single events")
  })

  it("fits into all accounts, on top of what is used and held", () => {
    const meter = meterWith()
    const accounts = [
      accountWith(meter, { used: "4", held: "5" }),
      accountWith(meter, { used: "8" }),
      accountWith(meter, { used: "9" }),
    ]
    const full = (quantity: string) =>
      accounts.findIndex((account) => account === findFullAccount(meter, decimal(quantity), START, accounts))
    assert.deepStrictEqual(["1", "1.1", "3"].map(full), [-1, 0, 0])
    assert.isUndefined(findFullAccount(meter, decimal("1"), START, accounts))
    assert.strictEqual(findFullAccount(meter, decimal("2"), START, accounts.slice(1)), accounts[2])
  })

  it("that is rejected says what is used and held", () => {
    const meter = meterWith()
    const decision = decideReservation(meter, decimal("11"), START)
    const text = (used: string, held: string) =>
      `The limit of "calls" of "prod" is 10 (0 % overage); ${used} is used in the period and ${held} is held by reservations.`
    assert.strictEqual(reserveRejectionText(meter, decision), text("0", "0"))
    assert.strictEqual(
      reserveRejectionText(meter, decision, accountWith(meter, { used: "3", held: "2.5" })),
      text("3", "2.5"),
    )
    const early = decideReservation(meter, decimal("1"), after(-1))
    assert.strictEqual(reserveRejectionText(meter, early), 'The license of "prod" starts on 2026-01-01T00:00:00.000Z.')
  })
})
