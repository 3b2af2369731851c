import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Schema } from "effect"
import { answer } from "../../src/offline/Answers.ts"
import type { Claims } from "../../src/offline/Model.ts"
import { creditsAt, figuresWith, pay } from "../../src/domains/usage/rules/Burn.ts"
import { creditOf } from "../../src/domains/usage/rules/StoredCredit.ts"
import { periodStarts, standingWithCredits } from "../../src/domains/usage/snapshots/Rules.ts"
import type { SnapshotRow } from "../../src/domains/usage/snapshots/Rules.ts"
import { decimalText } from "../../src/kernel/values/Decimal.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import { after, decimal, meterWith, START } from "./meters.ts"

const hour = Schema.Int.check(Schema.isBetween({ minimum: -3, maximum: 50 }))
const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))

const Credits = Schema.Array(
  Schema.Struct({
    amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
    used: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
    reserved: Schema.Literals(["0", "0", "1"]),
    from: hour,
    hours: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))),
  }),
).check(Schema.isMaxLength(3))

const terms = Schema.NullOr(
  Schema.Struct({ value: Schema.Literals([-1, 0, 7, 10]), overagePercent: Schema.Literals([0, 10, 33.3]) }),
)

const at = (hours: number): Date => after(hours * HOUR_MS)

describe("a snapshot with credits", () => {
  it.prop(
    "answers as a check does, at each instant of its life",
    {
      granted: terms,
      credits: Credits,
      usage: small,
      paid: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
      held: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
      hours: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 47 })),
      requested: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })),
    },
    ({ credits, granted, held, hours, paid, requested, usage }) => {
      const stored = credits.map(({ amount, from, hours: long, reserved, used }, number) => ({
        id: String(number),
        amount: String(amount),
        priority: 50,
        startsAt: at(from).toISOString(),
        expiresAt: long === null ? null : at(from + long).toISOString(),
        createdAt: START.toISOString(),
        voidedAt: null,
        reason: null,
        used: String(Math.min(used, amount)),
        reserved,
      }))
      const row: SnapshotRow = {
        ...meterWith(),
        granted: granted === null ? null : String(granted.value),
        overagePercent: granted?.overagePercent ?? 0,
        addOns: null,
        override: null,
        periodStart: null,
        used: null,
        held: null,
        allowances: null,
        broughtIn: null,
        credits: stored,
      }
      const burned = decimal(String(Math.min(paid, usage)))
      const life = { from: START, until: after(2 * DAY_MS) }
      const net = BigDecimal.subtract(decimal(String(usage)), burned)
      const taken = BigDecimal.sum(net, decimal(String(held)))
      const used = { amount: taken, held: decimal(String(held)), from: START, until: after(DAY_MS) }
      const standing = standingWithCredits(row, used, life)
      const claims = {
        instance: { slug: "prod" },
        license: { slug: "pro", start: START.toISOString(), termEnd: null, end: null },
        entitlements: [standing],
        periods: { "DAY/CALENDAR": periodStarts(row, START, life) },
        complete: true,
      } as unknown as Claims
      const instant = at(hours)
      // Tenths, because the cap of a soft limit need not be whole.
      const amount = decimal(String(requested / 10))
      const [own] = answer(claims, [{ entitlement: "calls", requested: String(requested / 10) }], instant).checks

      const isPresent = hours < 24
      const state = {
        limit: granted === null ? null : { ...granted, value: decimal(String(granted.value)) },
        usage: isPresent ? decimal(String(usage)) : decimal("0"),
        burned: isPresent ? burned : decimal("0"),
        held: isPresent ? decimal(String(held)) : decimal("0"),
      }
      const active = creditsAt(stored.map(creditOf), instant)
      const { reason } = pay(state, amount, active)
      assert.strictEqual(own?.reason, reason)
      if (reason === "UNLIMITED" || reason === "NOT_GRANTED") return
      const limit = state.limit ?? { value: decimal("0"), overagePercent: 0 }
      assert.strictEqual(own?.remaining, decimalText(figuresWith(limit, state, active).remaining))
    },
    { arbitrary: { runs: 3_000 } },
  )
})
