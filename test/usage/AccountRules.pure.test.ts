import { assert, describe, it } from "@effect/vitest"
import { accountIn, entryOf, isChanged, isConsumable, meterPeriodAt } from "../../src/domains/usage/ledger/Account.ts"
import { post } from "../../src/domains/usage/ledger/Posting.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import { emptyTotal } from "../../src/domains/usage/rules/Aggregation.ts"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import { periodOf } from "../../src/domains/usage/rules/Terms.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { accountWith, after, decimal, meterWith, START } from "./meters.ts"

describe("the usage entry of a meter", () => {
  const granted = (value: boolean | object | string): Partial<Meter> => ({
    grant: { value: typeof value === "string" ? decimal(value) : (value as boolean), overagePercent: 0 },
  })

  it.each([
    ["NUMBER", granted("10"), "number", 10],
    ["NUMBER", granted("0"), "number", 0],
    ["NUMBER", granted("-1"), "unlimited", -1],
    ["NUMBER", { grant: null }, "number", 0],
    ["BOOLEAN", granted(true), "boolean", 1],
    ["BOOLEAN", granted(false), "boolean", 0],
    ["BOOLEAN", { grant: null }, "boolean", 0],
    ["CONFIG", granted({}), "config", 1],
    ["CONFIG", { grant: null }, "config", 0],
  ] as ReadonlyArray<readonly [Meter["type"], Partial<Meter>, string, number]>)(
    "of a %s has what is granted: %o is %s %d",
    (type, more, kind, value) => {
      const total = { ...emptyTotal, value: decimal("7.5"), eventCount: 5, voidedCount: 2 }
      const entry = entryOf(meterWith({ type, ...more }), { start: START, end: null }, total)
      assert.deepStrictEqual(entry.licenseValue, { type: kind, value, event_count: 0 })
      assert.deepStrictEqual(
        entry.usageValue,
        type === "NUMBER" ? { type: "number", value: 7.5, event_count: 3 } : { type: kind, value: 0, event_count: 0 },
      )
    },
  )

  it("counts all events if none was voided", () => {
    const entry = entryOf(meterWith(), { start: START, end: null }, { ...emptyTotal, eventCount: 5 })
    assert.strictEqual(entry.usageValue.event_count, 5)
  })
})

describe("an account", () => {
  const meter = meterWith()

  it("is changed by an event, by another total, and by a threshold", () => {
    const account = accountWith(meter)
    assert.isFalse(isChanged(account))
    assert.isTrue(isChanged({ ...account, total: { ...account.total } }))
    const event = {
      timestamp: START,
      behavior: "append",
      value: decimal("1"),
      uniqueKey: null,
      metadata: null,
      reportedBy: platformIdentity,
    } as const
    const posted = post(account, event).account
    assert.isTrue(isChanged(posted))
    assert.isTrue(isChanged({ ...posted, total: account.total }))
  })

  it("must have been opened", () => {
    const account = accountWith(meter)
    assert.strictEqual(accountIn(new Map([["a", account]]), "a"), account)
    assert.throws(() => accountIn(new Map(), "a"), "A total is missing")
  })

  it("of what is no NUMBER has a period that never ends", () => {
    const flag = meterWith({ type: "BOOLEAN" })
    assert.isNull(periodOf(flag, flag, START))
    assert.deepStrictEqual(meterPeriodAt(flag, after(5)), { start: START, end: null })
  })

  it("of a NUMBER follows the calendar unless it says something else", () => {
    const starts = (["CALENDAR", "LICENSE_START", null] as const).map((resetAnchor) => {
      const each = meterWith({ resetAnchor, startLicenseDate: after(5) })
      return meterPeriodAt(each, after(DAY_MS)).start.getTime() - START.getTime()
    })
    assert.deepStrictEqual(starts, [DAY_MS, 5, DAY_MS])
  })

  it("is of what can be consumed only for a SUM and a COUNT", () => {
    assert.deepStrictEqual(
      aggregationMethods.filter((aggregationMethod) => isConsumable(meterWith({ aggregationMethod }))),
      ["SUM", "COUNT"],
    )
    assert.throws(() => post(accountWith(meterWith({ aggregationMethod: "CONCURRENT" })), {} as never), "not reported")
  })
})
