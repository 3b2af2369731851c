import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import type { AppliedOverride } from "../../src/domains/instances/overrides/Model.ts"
import { checkBasisOf, unknownEntitlement } from "../../src/domains/usage/rules/CheckBasis.ts"
import type { Grant } from "../../src/domains/usage/rules/Decision.ts"
import { configurationOf, grantAt, grantOf, isInForce, licensedGrant } from "../../src/domains/usage/rules/Grant.ts"
import { refusalText } from "../../src/domains/usage/rules/Refusals.ts"
import type { CheckRow } from "../../src/domains/usage/rules/Terms.ts"
import { decimalOrZero } from "../../src/kernel/values/Decimal.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { after, decimal, meterWith, START } from "./meters.ts"

const override: AppliedOverride = {
  mode: "SET",
  value: "5",
  overagePercent: null,
  startsAt: after(0).toISOString(),
  endsAt: after(10).toISOString(),
  reason: null,
  by: { id: "", name: "" },
  at: "",
}

const shown = (grant: Grant | null) => {
  if (grant === null) return null
  const { overagePercent, value } = grant
  return [BigDecimal.isBigDecimal(value) ? BigDecimal.format(value) : value, overagePercent]
}

describe("what a license grants", () => {
  it.each([
    [null, null],
    ["true", [true, 0]],
    ["false", [false, 0]],
    ["{}", [{}, 0]],
    ["12.5", ["12.5", 0]],
    ["much", null],
  ])("is read from its text: %s", (granted, expected) => {
    assert.deepStrictEqual(shown(licensedGrant({ granted, overagePercent: null })), expected)
  })

  it("has its overage", () => {
    assert.deepStrictEqual(shown(licensedGrant({ granted: "1", overagePercent: 20 })), ["1", 20])
  })
})

describe("an override", () => {
  it.each([
    [-1, false],
    [0, true],
    [9, true],
    [10, false],
  ])("is in force from its start until before its end: at %d ms %s", (at, expected) => {
    assert.strictEqual(isInForce(override, after(at)), expected)
    assert.strictEqual(isInForce({ ...override, endsAt: null }, after(at)), at >= 0)
    const grant = grantOf({ granted: "3", overagePercent: 7, addOns: null, override }, after(at))
    assert.deepStrictEqual(shown(grant), [expected ? "5" : "3", 7])
    assert.strictEqual(grant?.override !== undefined, expected)
  })

  it.each([
    ["SET", "5", null, "3", ["5", 7]],
    ["SET", "5", 0, "3", ["5", 0]],
    ["SET", "5", null, null, ["5", 0]],
    ["SET", "-1", null, "3", ["-1", 7]],
    ["ADD", "5", null, "3", ["8", 7]],
    ["ADD", "5", 9, null, ["5", 9]],
    ["ADD", "5", null, "-1", ["-1", 7]],
    ["ADD", "5", null, "true", ["5", 7]],
    ["SET", "much", null, "3", ["3", 7]],
    ["ADD", "much", null, "3", ["3", 7]],
    ["SET", true, null, "3", [true, 7]],
    ["SET", { a: 1 }, null, "{}", [{ a: 1 }, 7]],
  ] as const)("that says %s %j with the overage %s changes %s", (mode, value, overagePercent, granted, expected) => {
    const licensed = licensedGrant({ granted, overagePercent: 7 })
    assert.deepStrictEqual(
      shown(grantAt(licensed, { addOns: null, override: { ...override, mode, value, overagePercent } }, START)),
      [...expected],
    )
  })

  it("that is absent changes nothing", () => {
    const licensed = licensedGrant({ granted: "3", overagePercent: 7 })
    assert.strictEqual(grantAt(licensed, { addOns: null, override: null }, START), licensed)
    assert.strictEqual(grantAt(licensed, { addOns: [], override: undefined }, START), licensed)
    assert.isNull(grantAt(null, { addOns: undefined, override: undefined }, START))
  })

  it("has its own configuration, if it is one", () => {
    const granted = { a: 1 }
    assert.strictEqual(configurationOf({ value: {}, overagePercent: 0 }, granted), granted)
    assert.isNull(configurationOf(null, undefined))
    assert.deepStrictEqual(configurationOf({ value: { b: 2 }, overagePercent: 0, override }, granted), { b: 2 })
    for (const value of [true, decimal("1")]) {
      assert.isNull(configurationOf({ value, overagePercent: 0, override }, granted))
    }
  })
})

describe("the basis of a check", () => {
  const meter = meterWith()
  const row = (more: Partial<Extract<CheckRow, { readonly entitlement: string }>>): CheckRow => ({
    ...meter,
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
  const allowances = [{ quantity: "9", validUntil: after(99 * DAY_MS).toISOString() }]
  const basisOf = (rows: ReadonlyArray<CheckRow>, slug = "calls", at = after(1)) => {
    const basis = checkBasisOf(rows, [slug], at)?.bases[0]
    return basis && [BigDecimal.format(basis.usage), BigDecimal.format(basis.held), basis.period?.start ?? null]
  }

  it("has the total of the very period, and none of another one", () => {
    const rows = [row({ periodStart: after(-DAY_MS), used: "7" }), row({ periodStart: START, used: "3", held: "2" })]
    assert.deepStrictEqual(basisOf(rows), ["3", "0", START])
    assert.deepStrictEqual(basisOf(rows.toReversed()), ["3", "2", START])
    assert.deepStrictEqual(basisOf([row({ periodStart: START, used: "3" })], "calls", after(DAY_MS)), [
      "0",
      "0",
      after(DAY_MS),
    ])
  })

  it("holds what is reserved, and the rest of allowances", () => {
    assert.deepStrictEqual(basisOf([row({ held: "2", allowances })]), ["0", "11", START])
    assert.deepStrictEqual(basisOf([row({ periodStart: START, used: "4", held: "2", allowances, broughtIn: "4" })]), [
      "4",
      "7",
      START,
    ])
    assert.deepStrictEqual(basisOf([row({ type: "BOOLEAN", held: "2", allowances })]), ["0", "2", null])
  })

  it("is unknown for an entitlement without a row, and absent without an instance", () => {
    assert.isUndefined(checkBasisOf([], ["calls"], START))
    const bases = checkBasisOf([{ ...meter, entitlement: null }], ["calls", "x"], START)?.bases
    assert.deepStrictEqual(bases, [unknownEntitlement, unknownEntitlement])
  })

  it("reads an absent decimal as 0", () => {
    for (const text of [null, undefined, "0"]) assert.isTrue(BigDecimal.isZero(decimalOrZero(text)))
    assert.strictEqual(BigDecimal.format(decimalOrZero("1.5")), "1.5")
  })
})

it("a refusal by the license is put into words, and one by a limit is not", () => {
  const meter = meterWith({ endLicenseDate: after(DAY_MS) })
  assert.strictEqual(
    refusalText(meter, "LICENSE_NOT_STARTED"),
    'The license of "prod" starts on 2026-01-01T00:00:00.000Z.',
  )
  assert.strictEqual(refusalText(meter, "LICENSE_EXPIRED"), 'The license of "prod" ended on 2026-01-02T00:00:00.000Z.')
  assert.strictEqual(refusalText(meterWith(), "LICENSE_EXPIRED"), 'The license of "prod" ended on .')
  assert.strictEqual(refusalText(meter, "NOT_GRANTED"), 'The license "pro" does not grant "calls" of "prod".')
  assert.isUndefined(refusalText(meter, "LIMIT_REACHED"))
})
