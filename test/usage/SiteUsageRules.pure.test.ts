import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import type { CountableEvent, ParsedEvent } from "../../src/domains/usage/cloudevents/Rules.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import type { ReportedEvent } from "../../src/domains/usage/ledger/Account.ts"
import {
  checkUse,
  growthsOf,
  hasCorrection,
  overAllowances,
  parseUse,
  periodsOf,
  postPastCap,
} from "../../src/domains/usage/siteusage/Rules.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { zero } from "../../src/kernel/values/Decimal.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { accountWith, after, decimal, meterWith, START } from "./meters.ts"

const line = { specversion: "1.0", id: "1", source: "s", subject: "prod", type: "calls", data: { value: 2 } }
const timed = (millis: number) => ({ ...line, time: after(millis).toISOString() })
const parsed = (millis: number): ParsedEvent => {
  const event = parseUse(timed(millis), "prod", START)
  return "outcome" in event ? assert.fail(event.outcome.message) : event
}

describe("a use of a site", () => {
  it.each([
    ["without a time", line, "`time` is missing or invalid."],
    ["with a time that is null", { ...line, time: null }, "`time` is missing or invalid."],
    ["of another instance", { ...timed(0), subject: "x" }, '`subject` must be "prod".'],
    ["without a type", { ...timed(0), type: 1 }, "`type` is missing or invalid."],
  ])("%s is rejected", (_, event, message) => {
    const read = parseUse(event, "prod", START)
    assert.deepInclude("outcome" in read ? read.outcome : {}, { message })
  })

  it.each([
    [-1, false],
    [0, true],
    [99, true],
    [100, false],
  ])("counts within the life of its bundle: at %d ms %s", (millis, counts) => {
    const window = { from: START, until: after(100) }
    const checked = checkUse(parsed(millis), meterWith({ startLicenseDate: after(-DAY_MS) }), window)
    assert.strictEqual("meter" in checked, counts)
    assert.isTrue("outcome" in checkUse(parsed(millis), undefined, window))
  })

  it("is a correction only if it lowers a SUM", () => {
    const event = (value: string, more: Partial<Meter> = {}) =>
      ({ meter: meterWith(more), value: decimal(value) }) as CountableEvent
    assert.isTrue(hasCorrection([event("1"), event("-1")]))
    for (const other of [event("0"), event("1"), event("-1", { aggregationMethod: "COUNT" })]) {
      assert.isFalse(hasCorrection([other]))
    }
    assert.isFalse(hasCorrection([]))
  })
})

describe("usage that has happened", () => {
  const use = (value: string): ReportedEvent => ({
    timestamp: START,
    behavior: "append",
    value: decimal(value),
    uniqueKey: null,
    metadata: null,
    reportedBy: platformIdentity,
  })

  it.each([
    ["9", "1", false],
    ["9", "2", true],
    ["11", "0", false],
  ])("counts past the cap, and marks it: %s and %s", (used, value, marked) => {
    const { account, rejection } = postPastCap(accountWith(meterWith(), { used, held: "5" }), use(value), {}, zero)
    assert.isUndefined(rejection)
    assert.strictEqual(account.crossings.capExceeded, marked)
  })

  it("counts without a grant, and marks nothing; what would be below zero does not count", () => {
    const posted = postPastCap(accountWith(meterWith({ grant: null })), use("2"), {}, zero)
    assert.deepStrictEqual([posted.rejection, posted.account.crossings.capExceeded], [undefined, false])
    assert.strictEqual(BigDecimal.format(posted.account.total.value), "2")
    assert.strictEqual(postPastCap(accountWith(meterWith()), use("-1"), { mayLower: true }, zero).rejection, "negative")
  })

  it("grows what can be reserved, if it changes it", () => {
    const grown = (more: Partial<Meter>, value: string) =>
      growthsOf([postPastCap(accountWith(meterWith(more), { used: "1" }), use(value), {}, zero).account])
    assert.deepStrictEqual(grown({}, "2"), [{ instanceId: "i", entitlementId: "e", periodStart: START, quantity: "2" }])
    assert.deepStrictEqual(grown({}, "0"), [])
    assert.deepStrictEqual(grown({ aggregationMethod: "MAX" }, "5"), [])
  })
})

describe("usage above allowances", () => {
  const meter = meterWith()
  const meters = new Map([["calls", meter]])
  const day = { meter, period: { start: START, end: after(DAY_MS) } }
  const allowance = (quantity: string, from: number, until: number, entitlement = "calls") => ({
    entitlement,
    quantity,
    validFrom: after(from),
    validUntil: after(until),
  })

  it("is of the different periods of uses of known entitlements", () => {
    const uses = [parsed(0), parsed(DAY_MS - 1), parsed(DAY_MS), { ...parsed(0), entitlement: "x" }]
    assert.deepStrictEqual(
      periodsOf(meters, uses).map(({ period }) => period.start),
      [START, after(DAY_MS)],
    )
  })

  it.each([
    ["ends where the period begins", -5, 0, false],
    ["ends just after the period begins", -5, 1, true],
    ["begins just before the period ends", DAY_MS - 1, 2 * DAY_MS, true],
    ["begins where the period ends", DAY_MS, 2 * DAY_MS, false],
  ])("has to do with an allowance only if that touches the period: it %s", (_, from, until, touches) => {
    const over = overAllowances([day], [allowance("5", from, until)], () => "7")
    assert.deepStrictEqual(over, touches ? [{ entitlement: "calls", periodStart: START, quantity: 2 }] : [])
  })

  it("is above the greatest of them, and not at it", () => {
    const given = [allowance("3", 0, 9), allowance("5", 0, 9), allowance("4", 0, 9), allowance("9", 0, 9, "x")]
    const over = (brought: string | undefined) =>
      overAllowances([day], given, () => brought).map(({ quantity }) => quantity)
    assert.deepStrictEqual([over("5"), over("5.5"), over(undefined)], [[], [0.5], []])
  })

  it("of a period that never ends has to do with every later allowance", () => {
    const ever = { meter, period: { start: START, end: null } }
    assert.lengthOf(
      overAllowances([ever], [allowance("5", 9_999 * DAY_MS, 10_000 * DAY_MS)], () => "6"),
      1,
    )
  })
})
