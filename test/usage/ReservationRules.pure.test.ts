import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Schema } from "effect"
import { emptyTotal } from "../../src/domains/usage/rules/Aggregation.ts"
import { accountOf, periodFor } from "../../src/domains/usage/ledger/Account.ts"
import { post } from "../../src/domains/usage/ledger/Posting.ts"
import type { Account } from "../../src/domains/usage/ledger/Account.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { capOf } from "../../src/domains/usage/rules/Cap.ts"
import {
  decideReservation,
  findFullAccount,
  periodsTouched,
  stateAt,
} from "../../src/domains/usage/reservations/Rules.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const start = Date.UTC(2031, 0, 31, 10)
const minutes = (count: number): Date => new Date(start + count * 60_000)
const amount = (tenths: number) => BigDecimal.make(BigInt(tenths), 1)

const meter = (more: Partial<Meter> = {}): Meter => ({
  instance: "prod",
  license: "pro",
  startLicenseDate: minutes(0),
  endLicenseDate: null,
  graceDays: 0,
  organizationId: organizationIdOf("o"),
  instanceId: "i",
  entitlementId: "e",
  entitlement: "calls",
  entitlementName: "Calls",
  type: "NUMBER",
  aggregationMethod: "SUM",
  resetPeriod: "HOUR",
  resetAnchor: "CALENDAR",
  warningThresholdPercent: null,
  displayOrder: 0,
  grant: { value: BigDecimal.fromBigInt(10n), overagePercent: 0 },
  ...more,
})

const OVERAGE = 20
const calls = meter({ grant: { value: BigDecimal.fromBigInt(10n), overagePercent: OVERAGE } })
const cap = capOf(BigDecimal.fromBigInt(10n), OVERAGE)

interface Held {
  readonly quantity: BigDecimal.BigDecimal
  readonly createdAt: Date
  readonly expiresAt: Date
  state: "HELD" | "COMMITTED" | "RELEASED"
}

const zero = BigDecimal.fromBigInt(0n)

/** A model of the database: totals by period, and reservations. Every step is decided by the rules. */
const openBooks = () => {
  const totals = new Map<number, Account["total"]>()
  const holds: Array<Held> = []
  const heldIn = (period: Account["period"], at: Date) =>
    holds
      .filter((hold) => stateAt(hold, at) === "HELD" && hold.expiresAt > period.start)
      .filter(({ createdAt }) => period.end === null || createdAt < period.end)
      .reduce((sum, { quantity }) => BigDecimal.sum(sum, quantity), zero)
  const account = (instant: Date, at: Date): Account => {
    const period = periodFor(calls, instant)
    const total = totals.get(period.start.getTime()) ?? emptyTotal
    const crossings = { warned: false, limitReached: false, capExceeded: false }
    return accountOf(calls, period, {
      held: heldIn(period, at),
      allowed: zero,
      burned: zero,
      decidedAt: at,
      total,
      crossings,
      location: "(0,1)",
      version: "1",
    })
  }
  const add = (instant: Date, at: Date, value: BigDecimal.BigDecimal, isPromised = false) => {
    const what = { behavior: "append", value, uniqueKey: null, metadata: null } as const
    const posted = post(
      account(instant, at),
      { ...what, timestamp: instant, reportedBy: platformIdentity },
      { setAside: isPromised ? { held: zero, credits: [] } : undefined },
    )
    totals.set(posted.account.period.start.getTime(), posted.account.total)
  }
  return {
    totals,
    holds,
    heldIn,
    add,
    consume: (at: Date, value: BigDecimal.BigDecimal) => {
      if (decideReservation(calls, value, at, account(at, at)).allowed) add(at, at, value)
    },
    reserve: (at: Date, quantity: BigDecimal.BigDecimal, minutesHeld: number) => {
      const expiresAt = new Date(at.getTime() + minutesHeld * 60_000)
      const accounts = periodsTouched(calls, at, expiresAt).map(({ start }) => account(start < at ? at : start, at))
      if (findFullAccount(calls, quantity, at, accounts) === undefined) {
        holds.push({ quantity, createdAt: at, expiresAt, state: "HELD" })
      }
    },
  }
}

const step = Schema.Struct({
  what: Schema.Literals([
    "consume",
    "report",
    "late",
    "correct",
    "reserve",
    "reserveLong",
    "commit",
    "commitPart",
    "release",
  ]),
  /** Tenths of a unit. */
  quantity: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })),
  /** The minutes before the step. */
  passes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 25 })),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
})

describe("reserving, committing, releasing, consuming and reporting in any order", () => {
  it.prop(
    "never brings the usage of a period, or usage and reservations, above the cap",
    { steps: Arbitrary.schema(Schema.Array(step).check(Schema.isMinLength(5), Schema.isMaxLength(60))) },
    ({ steps }) => {
      const books = openBooks()
      let at = minutes(0)
      for (const { passes, quantity, what, which } of steps) {
        at = new Date(at.getTime() + passes * 60_000)
        const value = amount(quantity)
        const live = books.holds.filter((hold) => stateAt(hold, at) === "HELD")
        const chosen = live[which % Math.max(1, live.length)]
        if (what === "consume") books.consume(at, value)
        if (what === "report") books.add(at, at, value)
        if (what === "late") books.add(new Date(at.getTime() - 50 * 60_000), at, value)
        if (what === "correct") books.add(at, at, BigDecimal.negate(value))
        if (what === "reserve") books.reserve(at, value, 10)
        if (what === "reserveLong") books.reserve(at, value, 130)
        if (chosen !== undefined && what.startsWith("commit")) {
          const used = what === "commit" ? chosen.quantity : BigDecimal.min(chosen.quantity, value)
          chosen.state = "COMMITTED"
          books.add(at, at, used, true)
        }
        if (chosen !== undefined && what === "release") chosen.state = "RELEASED"
        for (const [begin, total] of books.totals) {
          const period = periodFor(calls, new Date(begin))
          const taken = BigDecimal.sum(total.value, books.heldIn(period, at))
          assert.isTrue(BigDecimal.isLessThanOrEqualTo(taken, cap), `${what}: ${BigDecimal.format(taken)}`)
        }
      }
    },
    { arbitrary: { runs: 500 } },
  )
})

describe("the periods of a reservation", () => {
  const starts = (more: Partial<Meter>, from: Date, until: Date) =>
    periodsTouched(meter(more), from, until).map(({ start }) => start.toISOString())

  it("reach from that of its creation to that before its expiry", () => {
    assert.deepStrictEqual(starts({}, minutes(30), minutes(60)), ["2031-01-31T10:00:00.000Z"])
    assert.deepStrictEqual(starts({}, minutes(30), new Date(minutes(60).getTime() + 1)), [
      "2031-01-31T10:00:00.000Z",
      "2031-01-31T11:00:00.000Z",
    ])
    assert.strictEqual(starts({}, minutes(30), minutes(30 + 24 * 60)).length, 25)
    assert.deepStrictEqual(starts({ resetPeriod: "MONTH" }, minutes(13 * 60), minutes(15 * 60)), [
      "2031-01-01T00:00:00.000Z",
      "2031-02-01T00:00:00.000Z",
    ])
  })

  it("are a single one if usage never resets", () => {
    assert.deepStrictEqual(starts({ resetPeriod: null }, minutes(30), minutes(9000)), ["2031-01-31T10:00:00.000Z"])
  })
})
