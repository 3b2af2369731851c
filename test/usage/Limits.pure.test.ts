import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"
import { isChanged, withCapExceeded } from "../../src/domains/usage/ledger/Account.ts"
import type { Account, ReportedEvent } from "../../src/domains/usage/ledger/Account.ts"
import { post } from "../../src/domains/usage/ledger/Posting.ts"
import type { PostOptions } from "../../src/domains/usage/ledger/Posting.ts"
import {
  crossingsAt,
  limitOf,
  newlyCrossed,
  rejectionReason,
  thresholdsOf,
} from "../../src/domains/usage/rules/Limits.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { accountWith, after, decimal, meterWith, noCrossings } from "./meters.ts"

const limit = { value: decimal("10"), overagePercent: 20 }
const unlimited = { value: decimal("-1"), overagePercent: 0 }

const use = (value: string, more: Partial<ReportedEvent> = {}): ReportedEvent => ({
  timestamp: after(1),
  behavior: "append",
  value: decimal(value),
  uniqueKey: null,
  metadata: null,
  reportedBy: platformIdentity,
  ...more,
})

describe("usage that changes", () => {
  it.each([
    ["unchanged without a grant", null, "5", "5", "0", "not-granted"],
    ["that rises without a grant", null, "5", "6", "0", "not-granted"],
    ["that falls without a grant", null, "5", "4", "0", undefined],
    ["that rises to the cap", limit, "11", "12", "0", undefined],
    ["that rises above the cap", limit, "11", "12.1", "0", "cap"],
    ["that rises to what reservations leave", limit, "11", "11.5", "0.5", undefined],
    ["that rises into what reservations hold", limit, "11", "11.5", "0.6", "cap"],
    ["unchanged above the cap", limit, "13", "13", "0", undefined],
    ["that falls, but stays above the cap", limit, "14", "13", "5", undefined],
    ["without a limit", unlimited, "5", "999999", "999999", undefined],
  ] as const)("%s: %o, from %s to %s, with %s held: %s", (_, of, before, later, held, expected) => {
    assert.strictEqual(rejectionReason(of, decimal(before), decimal(later), decimal(held)), expected)
  })
})

describe("the thresholds of a limit", () => {
  const all = { warned: true, limitReached: true, capExceeded: true }
  const crossings = (before: string, later: string, crossed = noCrossings, warning: number | null = 80) =>
    crossingsAt(limit, warning, crossed, decimal(before), decimal(later))

  it.each([
    ["7.9", false, false],
    ["8", true, false],
    ["9.9", true, false],
    ["10", true, true],
    ["12", true, true],
  ])("are reached at their very value: %s", (usage, warned, limitReached) => {
    assert.deepStrictEqual(crossings("0", usage), { warned, limitReached, capExceeded: false })
    assert.deepStrictEqual(crossings("0", usage, noCrossings, null), {
      warned: false,
      limitReached,
      capExceeded: false,
    })
  })

  it.each([
    ["rises above the cap", "13", "14", true],
    ["stays above the cap", "13", "13", true],
    ["falls, but stays above the cap", "14", "12.1", true],
    ["falls to the cap", "13", "12", false],
    ["stays at the cap", "12", "12", true],
    ["rises to the cap", "11", "12", true],
  ])("an exceeded cap stays so while usage %s: from %s to %s", (_, before, later, expected) => {
    assert.strictEqual(crossings(before, later, all).capExceeded, expected)
    assert.isFalse(crossings(before, later).capExceeded, "only a rejection exceeds a cap")
  })

  it("of no limit, and of no grant, are never crossed", () => {
    for (const none of [null, unlimited]) {
      assert.deepStrictEqual(crossingsAt(none, 80, all, decimal("0"), decimal("99")), noCrossings)
    }
    assert.isNull(thresholdsOf(unlimited, 80))
  })

  it("are the lowest usage at the warning, the limit, and the highest within the overage", () => {
    const thresholds = thresholdsOf(limit, 80)
    assert.deepStrictEqual(
      [thresholds?.warning, thresholds?.limit, thresholds?.cap].map((one) => one && BigDecimal.toNumberUnsafe(one)),
      [8, 10, 12],
    )
    assert.isNull(thresholdsOf(limit, null)?.warning)
  })

  it("that were crossed between two states are those that only the later one has", () => {
    assert.deepStrictEqual(newlyCrossed(noCrossings, all), ["warned", "limitReached", "capExceeded"])
    assert.deepStrictEqual(newlyCrossed({ ...all, warned: false }, all), ["warned"])
    assert.deepStrictEqual(newlyCrossed(all, noCrossings), [])
  })

  const tenths = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 150 }))
  it.prop("agree with the crossings and rejections of usage that rises", [tenths, tenths], ([one, other]) => {
    const [before, later] = [Math.min(one, other), Math.max(one, other)].map((amount) =>
      BigDecimal.make(BigInt(amount), 1),
    )
    if (before === undefined || later === undefined) return
    const thresholds = thresholdsOf(limit, 80)
    const reached = (of: BigDecimal.BigDecimal | null | undefined) =>
      of !== null && of !== undefined && BigDecimal.isGreaterThanOrEqualTo(later, of)
    const { limitReached, warned } = crossingsAt(limit, 80, noCrossings, before, later)
    assert.deepStrictEqual([warned, limitReached], [reached(thresholds?.warning), reached(thresholds?.limit)])
    const isAbove = thresholds !== null && BigDecimal.isGreaterThan(later, thresholds.cap)
    assert.strictEqual(rejectionReason(limit, before, later, decimal("0")) === "cap", isAbove && one !== other)
  })
})

describe("the limit of a grant", () => {
  it("is that of a number, and of nothing else", () => {
    assert.deepStrictEqual(limitOf({ value: decimal("3"), overagePercent: 5 }), {
      value: decimal("3"),
      overagePercent: 5,
    })
    for (const grant of [null, { value: true, overagePercent: 0 }, { value: {}, overagePercent: 0 }]) {
      assert.isNull(limitOf(grant))
    }
  })
})

describe("posting to an account", () => {
  const meter = meterWith({ warningThresholdPercent: 80 })

  it("marks the cap when usage is rejected, and does not mark it again while usage stays above", () => {
    const first = post(accountWith(meter, { used: "10" }), use("1"))
    assert.strictEqual(first.rejection, "cap")
    assert.deepStrictEqual(newlyCrossed(noCrossings, first.account.crossings), ["capExceeded"])
    assert.isTrue(isChanged(first.account))

    const crossings = { warned: true, limitReached: true, capExceeded: true }
    const again = post(accountWith(meter, { used: "10", crossings }), use("1"))
    assert.strictEqual(again.rejection, "cap")
    assert.isFalse(isChanged(again.account))
    assert.isFalse(isChanged(withCapExceeded(accountWith(meter, { crossings }))))
  })

  it("may be marked again after usage fell to the cap", () => {
    const crossings = { warned: true, limitReached: true, capExceeded: true }
    const above = accountWith(meter, { used: "13", crossings })
    const lowered = post(above, use("-1"), { mayLower: true })
    assert.isTrue(lowered.account.crossings.capExceeded)
    assert.isFalse(post(lowered.account, use("-2"), { mayLower: true }).account.crossings.capExceeded)
  })

  it.each([
    ["below zero", "SUM", "2", use("-3"), { mayLower: true }, "negative"],
    ["to zero", "SUM", "2", use("-2"), { mayLower: true }, undefined],
    ["down, without leave to lower", "SUM", "2", use("-1"), {}, "lowering"],
    [
      "above the cap, reserved before",
      "SUM",
      "10",
      use("5"),
      { setAside: { held: decimal("0"), credits: [] } },
      undefined,
    ],
    ["above the cap", "SUM", "10", use("5"), {}, "cap"],
    [
      "by a set of the instant of the last decision",
      "SUM",
      "2",
      use("3", { behavior: "set" }),
      { decided: 1 },
      undefined,
    ],
    ["by a set after the last decision", "SUM", "2", use("3", { behavior: "set" }), { decided: 0 }, "lowering"],
    [
      "by a measurement after the last decision",
      "LATEST",
      "2",
      use("3", { behavior: "set" }),
      { decided: 0 },
      undefined,
    ],
  ] as const)("of an event that brings usage %s", (_, aggregationMethod, used, event, sent, rejection) => {
    const { decided = 0, ...options }: PostOptions & { readonly decided?: number } = sent
    const account = accountWith(meterWith({ aggregationMethod }), { used, decidedAt: after(decided) })
    const posted = post(account, event, options)
    assert.strictEqual(posted.rejection, rejection)
    assert.strictEqual(posted.account.events.length, rejection === undefined ? 1 : 0)
  })

  it("counts a unique key once, of the period or of the request", () => {
    const unique = meterWith({ aggregationMethod: "UNIQUE_COUNT" })
    const known: Account = { ...accountWith(unique, { used: "1" }), knownKeys: new Set(["ann"]) }
    const keys = ["ann", "bob", "bob", "cy"]
    const { total, newKeys } = keys.reduce<Account>(
      (account, uniqueKey) => post(account, use("0", { uniqueKey })).account,
      known,
    )
    assert.strictEqual(BigDecimal.format(total.value), "3")
    assert.deepStrictEqual([...newKeys], ["bob", "cy"])
    assert.deepStrictEqual([...post(accountWith(meter), use("1", { uniqueKey: "ann" })).account.newKeys], [])
  })

  it.prop(
    "leaves room for what reservations hold",
    [Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))],
    ([held]) => {
      const posted = post(accountWith(meterWith(), { held: String(held) }), use("1"))
      assert.strictEqual(posted.rejection, held > 9 ? "cap" : undefined)
    },
  )
})
