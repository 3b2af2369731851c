import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"
import { resetAnchors, resetPeriods } from "../../src/domains/entitlements/Model.ts"
import { timesOf } from "../../src/domains/offline/bundles/Rules.ts"
import { fullHour, hourAfter } from "../../src/domains/offline/revocations/Rules.ts"
import { decide } from "../../src/domains/usage/rules/Decision.ts"
import { grantOf } from "../../src/domains/usage/rules/Grant.ts"
import { periodAt } from "../../src/domains/usage/rules/Period.ts"
import { grantOver, periodStarts } from "../../src/domains/usage/snapshots/Rules.ts"
import type { SnapshotRow } from "../../src/domains/usage/snapshots/Rules.ts"
import { zero } from "../../src/kernel/values/Decimal.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"

const START = Date.parse("2026-01-31T09:00:00.000Z")
const onDay = (day: number) => new Date(START + day * DAY_MS)

const days = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const amount = Schema.Union([Schema.Literal(-1), days(0, 20)])
const percent = Schema.Literals([0, 10, 100])

const terms = {
  licensed: Schema.NullOr(Schema.Struct({ value: amount, overagePercent: percent })),
  override: Schema.NullOr(
    Schema.Struct({
      mode: Schema.Literals(["SET", "ADD"]),
      value: days(0, 20),
      overagePercent: Schema.NullOr(percent),
      from: days(-10, 30),
      length: Schema.NullOr(days(1, 30)),
    }),
  ),
  used: days(0, 10),
}

const rowOf = ({ licensed, override }: Terms): SnapshotRow => ({
  entitlement: "calls",
  type: "NUMBER",
  resetPeriod: null,
  resetAnchor: null,
  aggregationMethod: "SUM",
  periodStart: null,
  used: null,
  held: null,
  allowances: null,
  broughtIn: null,
  granted: licensed === null ? null : String(licensed.value),
  overagePercent: licensed?.overagePercent ?? null,
  addOns: null,
  override:
    override === null
      ? null
      : {
          mode: override.mode,
          value: String(override.value),
          overagePercent: override.overagePercent,
          startsAt: onDay(override.from).toISOString(),
          endsAt: override.length === null ? null : onDay(override.from + override.length).toISOString(),
          reason: null,
          by: { id: "", name: "" },
          at: "",
        },
})

interface Terms {
  readonly licensed: { readonly value: number; readonly overagePercent: number } | null
  readonly override: typeof terms.override.Type
  readonly used: number
}

const LIFE = { from: onDay(0), until: onDay(20) }

/** Whether a check at a day allows so much more. */
const allowsOnline = (given: Terms, day: number, requested: number) =>
  decide({
    entitlement: { slug: "calls", type: "NUMBER" },
    grant: grantOf(rowOf(given), onDay(day)),
    usage: BigDecimal.fromNumberUnsafe(given.used),
    held: BigDecimal.fromNumberUnsafe(0),
    period: null,
    requested: BigDecimal.fromNumberUnsafe(requested),
    instance: { startLicenseDate: onDay(-100), endLicenseDate: null, graceDays: 0 },
    at: onDay(day),
  }).allowed

/** Whether the snapshot allows so much more, by the rules that are printed for other languages. */
const allowsOffline = (given: Terms, requested: number) => {
  const used = { amount: BigDecimal.fromNumberUnsafe(given.used), held: zero, from: onDay(-100) }
  const granted = grantOver(rowOf(given), used, LIFE)
  if (granted?.type !== "NUMBER") return false
  const limit = Number(granted.limit)
  return limit === -1 || (Number(granted.used) + requested) * 100 <= limit * (100 + Number(granted.overagePercent))
}

describe("what is granted over a life", () => {
  it.prop(
    "allows exactly what a check allows on each day of it, and never more",
    { ...terms, requested: days(0, 30) },
    ({ requested, ...given }) => {
      const online = Array.from({ length: 20 }, (_, day) => allowsOnline(given, day, requested))
      assert.strictEqual(allowsOffline(given, requested), online.every(Boolean))
    },
    { arbitrary: { runs: 3_000 } },
  )

  it.prop(
    "has all periods that touch the life, and one start more",
    {
      resetPeriod: Schema.NullOr(Schema.Literals(resetPeriods)),
      resetAnchor: Schema.Literals(resetAnchors),
      started: days(0, 5_000),
      life: days(1, 490),
      shift: days(0, DAY_MS),
    },
    ({ life, resetAnchor, resetPeriod, shift, started }) => {
      const licenseStart = new Date(START - started * DAY_MS + shift)
      const from = new Date(START + shift)
      const until = new Date(from.getTime() + life * DAY_MS)
      const found = periodStarts({ resetPeriod, resetAnchor }, licenseStart, { from, until })
      const starts = (at: Date) => {
        if (!("every" in found)) return found.starts.filter((start) => Date.parse(start) <= at.getTime()).at(-1)
        const first = Date.parse(found.from)
        const length = found.every * 1000
        return new Date(first + Math.floor((at.getTime() - first) / length) * length).toISOString()
      }
      for (let step = 0; step < 40; step++) {
        const at = new Date(from.getTime() + Math.floor((step / 40) * (until.getTime() - from.getTime())))
        const period = periodAt({ resetPeriod, resetAnchor, licenseStart, at })
        if (at >= licenseStart || resetPeriod !== null) {
          assert.strictEqual(starts(at), period.start.toISOString())
        }
      }
      if ("starts" in found && resetPeriod !== null) {
        assert.isAtLeast(Date.parse(found.starts.at(-1) ?? ""), until.getTime())
        assert.isBelow(Date.parse(found.starts.at(-2) ?? ""), until.getTime())
        assert.isAtMost(Date.parse(found.starts[0] ?? ""), from.getTime())
      }
    },
  )
})

describe("the times of a bundle", () => {
  it.prop(
    "lie in order, within access to the license, whole seconds",
    {
      ttlSeconds: days(3_600, 34_560_000),
      graceSeconds: days(0, 7_776_000),
      start: days(-400, 100),
      end: Schema.NullOr(days(1, 500)),
      millis: days(0, 999),
    },
    ({ end, graceSeconds, millis, start, ttlSeconds }) => {
      const at = new Date(START + millis)
      const accessEnd = end === null ? null : new Date(onDay(end).getTime() + 500)
      const times = timesOf({ ttlSeconds, graceSeconds }, { startLicenseDate: onDay(start), accessEnd }, at)
      assert.isTrue(Object.values(times).every(Number.isInteger))
      assert.isAtMost(times.iat * 1000, at.getTime())
      assert.isAtMost(times.renew, times.exp)
      assert.isAtLeast(times.renew, times.iat)
      assert.isAtMost(times.exp, times.iat + ttlSeconds + graceSeconds)
      assert.isAtMost(times.exp * 1000, accessEnd?.getTime() ?? Infinity)
      assert.isAtLeast(times.nbf * 1000, onDay(start).getTime())
      assert.strictEqual(times.usageUntil, times.exp + 7_776_000)
    },
  )

  it("of a list are full hours: the one before, and for an end the one after", () => {
    assert.strictEqual(fullHour(new Date(START + 59 * 60_000)).getTime(), START)
    assert.strictEqual(hourAfter(new Date(START + 1)).getTime(), START + HOUR_MS)
    assert.strictEqual(hourAfter(new Date(START)).getTime(), START)
  })
})
