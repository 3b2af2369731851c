import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Option, Schema } from "effect"
import { decide, fingerprintOf, periodAt } from "../../src/offline/index.ts"
import type { BundleEntitlement, Claims, Decision } from "../../src/offline/index.ts"
import { decimalText } from "../../src/kernel/values/Decimal.ts"
import { claims } from "./signer.ts"

type NumberEntitlement = Extract<BundleEntitlement, { readonly type: "NUMBER" }> & {
  readonly limit: string
  readonly overagePercent: string
}

const zero = BigDecimal.fromBigInt(0n)
const big = (text: string) => Option.getOrThrow(BigDecimal.fromString(text))
const left = (limit: BigDecimal.BigDecimal, used: BigDecimal.BigDecimal) =>
  decimalText(BigDecimal.max(zero, BigDecimal.subtract(limit, used)))

/** The decision in the words of the documentation, by another arithmetic. */
const model = (entitlement: NumberEntitlement, used: string, requested: string, isSamePeriod: boolean): Decision => {
  const own = big(used)
  if (entitlement.allowance !== undefined) {
    const allowance = big(entitlement.allowance)
    const allowed = BigDecimal.isLessThanOrEqualTo(BigDecimal.sum(own, big(requested)), allowance)
    return { allowed, reason: allowed ? "GRANTED" : "LIMIT_REACHED", remaining: left(allowance, own) }
  }
  if (entitlement.limit === "-1") return { allowed: true, reason: "UNLIMITED", remaining: "-1" }
  const total = isSamePeriod ? BigDecimal.sum(own, big(entitlement.used)) : own
  const after = BigDecimal.sum(total, big(requested))
  const limit = big(entitlement.limit)
  const overage = BigDecimal.multiply(BigDecimal.multiply(limit, big(entitlement.overagePercent)), big("0.01"))
  const isWithin = BigDecimal.isLessThanOrEqualTo(after, limit)
  const allowed = BigDecimal.isLessThanOrEqualTo(after, BigDecimal.sum(limit, overage))
  const reason = isWithin ? "GRANTED" : allowed ? "SOFT_LIMIT" : "LIMIT_REACHED"
  return { allowed, reason, remaining: left(limit, total) }
}

const JANUARY = "2026-01-12T08:00:00.000Z"
const FEBRUARY = "2026-02-03T08:00:00.000Z"

const whole = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))

/** Small amounts, those of 18 digits, and fractions: near each other, so that limits are reached and met. */
const anyAmount = Arbitrary.map(
  Arbitrary.schema(
    Schema.Struct({
      form: Schema.Literals(["small", "large", "fraction"]),
      digits: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 })),
    }),
  ),
  ({ digits, form }) => {
    if (form === "small") return String(digits)
    return form === "large"
      ? `1234567890123456${String(digits).padStart(2, "0")}`
      : `${digits}.${"0".repeat(15)}${digits}`
  },
)

const anyInput = {
  limit: anyAmount,
  isUnlimited: whole(9),
  overagePercent: Arbitrary.schema(Schema.Literals(["0", "10", "33.5", "1000"])),
  used: anyAmount,
  hasAllowance: whole(3),
  allowance: anyAmount,
  own: anyAmount,
  requested: anyAmount,
  at: Arbitrary.schema(Schema.Literals([JANUARY, FEBRUARY])),
}

const entitlementOf = (changes: Partial<NumberEntitlement>): NumberEntitlement => ({
  slug: "calls",
  type: "NUMBER",
  limit: "10",
  overagePercent: "0",
  aggregation: "SUM",
  used: "0",
  usedFrom: "2026-01-01T00:00:00.000Z",
  period: "MONTH/CALENDAR",
  ...changes,
})

const withEntitlement = (entitlement: object): Claims => ({
  ...claims,
  entitlements: [entitlement as BundleEntitlement],
})

describe("a decision without a service", () => {
  it.prop(
    "is the one of an independent model, to the last digit",
    anyInput,
    ({ allowance, at, hasAllowance, isUnlimited, limit, overagePercent, own, requested, used }) => {
      const entitlement = entitlementOf({
        limit: isUnlimited === 0 ? "-1" : limit,
        overagePercent,
        used,
        ...(hasAllowance === 0 ? { allowance } : {}),
      })
      const decision = decide(withEntitlement(entitlement), { entitlement: "calls", used: own, requested, at })
      assert.deepStrictEqual(decision, model(entitlement, own, requested, at === JANUARY))
    },
    { arbitrary: { runs: 2000 } },
  )

  it("uses 1 and the clock where nothing is said", () => {
    const entitlement = entitlementOf({ usedFrom: "2000-01-01T00:00:00.000Z", used: "10" })
    assert.isTrue(decide(withEntitlement(entitlement), { entitlement: "calls" }).allowed)
    assert.isFalse(decide(withEntitlement(entitlement), { entitlement: "calls", requested: 11 }).allowed)
    assert.isFalse(decide(withEntitlement(entitlement), { entitlement: "calls", used: 10n }).allowed)
  })

  it("counts the usage at issue where the bundle does not name the period", () => {
    for (const changes of [{ period: "DAY/LICENSE_START" }, { period: "__proto__" }, { usedFrom: "soon" }]) {
      const decision = decide(withEntitlement(entitlementOf({ used: "10", ...changes })), {
        entitlement: "calls",
        at: FEBRUARY,
      })
      assert.strictEqual(decision.reason, "LIMIT_REACHED")
    }
    const before = { entitlement: "calls", at: "1999-01-01T00:00:00.000Z" }
    assert.isFalse(decide(withEntitlement(entitlementOf({ used: "10" })), before).allowed)
  })

  it("allows nothing by amounts that are none, nor by entitlements of another form", () => {
    const grants = withEntitlement(entitlementOf({ limit: "-1" }))
    for (const amount of ["", "x", "1e3", "-1", -1, Number.NaN, Infinity, null, {}, [], true, "9".repeat(65)]) {
      const requests = [{ requested: amount }, { used: amount }]
      for (const request of amount === null ? [] : requests) {
        const decision = decide(grants, { entitlement: "calls", ...(request as object) })
        assert.deepStrictEqual(decision, { allowed: false, reason: "INVALID_REQUEST", remaining: null })
      }
    }
    for (const entitlement of [
      entitlementOf({ limit: "many" }),
      entitlementOf({ limit: null as never }),
      entitlementOf({ used: "some" }),
      entitlementOf({ limit: "-1", allowance: "all" }),
      { slug: "calls", type: "BOOLEAN", value: "true" },
      { slug: "calls", type: "CONFIG", value: null },
      { slug: "calls", type: "OTHER", value: true },
    ]) {
      assert.strictEqual(
        decide(withEntitlement(entitlement), { entitlement: "calls", at: JANUARY }).reason,
        "NOT_GRANTED",
      )
    }
    for (const value of [undefined, null, 7, {}, { entitlements: 7 }, { entitlements: [null] }] as never[]) {
      assert.strictEqual(decide(value, { entitlement: "calls" }).reason, "NOT_GRANTED")
      assert.strictEqual(decide(claims, value).reason, "NOT_GRANTED")
    }
  })
})

describe("a period", () => {
  it("is null where the arguments name none", () => {
    for (const [period, at] of [
      ["NEVER", JANUARY],
      ["__proto__", JANUARY],
      ["constructor", JANUARY],
      ["DAY/CALENDAR", "2026-01-09T23:59:59.999Z"],
      ["DAY/CALENDAR", "today"],
      [7, JANUARY],
      ["DAY/CALENDAR", null],
    ]) {
      assert.isNull(periodAt(claims, period as never, at as never))
    }
    assert.isNull(periodAt(null as never, "DAY/CALENDAR", JANUARY))
    const broken = {
      periods: { A: { from: "x", every: 1 }, B: { from: JANUARY, every: 0 }, C: { starts: ["x", 7e99] } },
    }
    for (const period of ["A", "B", "C"]) assert.isNull(periodAt(broken as never, period, FEBRUARY))
  })
})

describe("a fingerprint", () => {
  it("differs by instance, and is empty for what is no text", async () => {
    assert.notStrictEqual(await fingerprintOf("a", "mac:1"), await fingerprintOf("b", "mac:1"))
    for (const value of [undefined, null, 7, Symbol("x")] as never[])
      assert.strictEqual(await fingerprintOf("a", value), "")
  })
})
