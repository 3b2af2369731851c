import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Schema } from "effect"
import { entitlementTypes } from "../../src/domains/entitlements/Model.ts"
import {
  allows,
  type CheckSubject,
  decide,
  figures,
  graceEndAt,
  type Grant,
} from "../../src/domains/usage/rules/Decision.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { CheckResult } from "../../src/domains/usage/check/Model.ts"
import { checkReasons } from "../../src/domains/usage/rules/Decision.ts"
import { checkAsText } from "../../src/domains/usage/check/CheckResponse.ts"

const decimal = BigDecimal.fromStringUnsafe
const utc = (text: string): Date => new Date(text)

const number = { slug: "api-calls", type: "NUMBER" } as const
const boolean = { slug: "single-sign-on", type: "BOOLEAN" } as const
const config = { slug: "regions", type: "CONFIG" } as const

const license = {
  startLicenseDate: utc("2025-01-01T00:00:00Z"),
  endLicenseDate: utc("2026-01-01T00:00:00Z"),
  graceDays: 0,
}
const period = { start: utc("2025-06-01T00:00:00Z"), end: utc("2025-07-01T00:00:00Z") }
const running = { instance: license, at: utc("2025-06-15T00:00:00Z"), period }

const limitOf = (limit: string, overagePercent = 0): Grant => ({ value: decimal(limit), overagePercent })
const check = (subject: Partial<CheckSubject>) =>
  decide({ entitlement: number, grant: limitOf("10"), usage: decimal("0"), held: decimal("0"), ...running, ...subject })
const reasonOf = (subject: Partial<CheckSubject>) => check(subject).reason
const figuresOf = (subject: Partial<CheckSubject>) => {
  const { limit, usage, remaining, overage } = check(subject)
  return { limit, usage, remaining, overage }
}
const noFigures = { limit: null, usage: null, remaining: null, overage: null }

describe("the license is decided on first", () => {
  it("an entitlement that the organization does not have is not found, even with a grant and an expired license", () => {
    const decision = check({ entitlement: null, at: utc("2030-01-01T00:00:00Z"), period: null })
    assert.deepStrictEqual(decision, {
      allowed: false,
      reason: "ENTITLEMENT_NOT_FOUND",
      ...noFigures,
      currentPeriodStart: null,
      currentPeriodEnd: null,
    })
  })

  it("the license is not running in the last millisecond before its start", () => {
    assert.strictEqual(reasonOf({ at: utc("2024-12-31T23:59:59.999Z") }), "LICENSE_NOT_STARTED")
  })

  it("the license is running at the instant of its start", () => {
    assert.strictEqual(reasonOf({ at: license.startLicenseDate }), "GRANTED")
  })

  it("the license is running in the last millisecond before its end", () => {
    assert.strictEqual(reasonOf({ at: utc("2025-12-31T23:59:59.999Z") }), "GRANTED")
  })

  it("the license is expired at the instant of its end", () => {
    assert.strictEqual(reasonOf({ at: license.endLicenseDate }), "LICENSE_EXPIRED")
  })

  it("a license without an end never expires", () => {
    const instance = { startLicenseDate: license.startLicenseDate, endLicenseDate: null, graceDays: 30 }
    assert.strictEqual(reasonOf({ instance, at: utc("9999-12-31T23:59:59.999Z") }), "GRANTED")
  })

  it("after its end, a license grants access until the last millisecond of its grace period", () => {
    const instance = { ...license, graceDays: 7 }
    assert.strictEqual(reasonOf({ instance, at: utc("2025-12-31T23:59:59.999Z") }), "GRANTED")
    assert.strictEqual(reasonOf({ instance, at: license.endLicenseDate }), "IN_GRACE")
    assert.strictEqual(reasonOf({ instance, at: utc("2026-01-07T23:59:59.999Z") }), "IN_GRACE")
    assert.strictEqual(reasonOf({ instance, at: utc("2026-01-08T00:00:00Z") }), "LICENSE_EXPIRED")
    assert.isNull(graceEndAt(instance, utc("2025-12-31T23:59:59.999Z")))
    assert.deepStrictEqual(graceEndAt(instance, license.endLicenseDate), utc("2026-01-08T00:00:00Z"))
    assert.isNull(graceEndAt(instance, utc("2026-01-08T00:00:00Z")))
  })

  it("an expired license is the reason rather than a missing grant or a reached limit", () => {
    const at = license.endLicenseDate
    assert.strictEqual(reasonOf({ at, grant: null }), "LICENSE_EXPIRED")
    assert.strictEqual(reasonOf({ at, usage: decimal("10") }), "LICENSE_EXPIRED")
  })

  it("figures are returned even if the license is not running", () => {
    assert.deepStrictEqual(figuresOf({ at: license.endLicenseDate, usage: decimal("4") }), {
      limit: 10,
      usage: 4,
      remaining: 6,
      overage: 0,
    })
  })
})

describe("an entitlement that is not granted is denied", () => {
  it.each([
    ["a number without a grant", { entitlement: number, grant: null }],
    ["a boolean without a grant", { entitlement: boolean, grant: null }],
    ["a configuration without a grant", { entitlement: config, grant: null }],
    ["a boolean granted as false", { entitlement: boolean, grant: { value: false, overagePercent: 0 } }],
    ["a number granted with a boolean", { entitlement: number, grant: { value: true, overagePercent: 0 } }],
    ["a number granted with a configuration", { entitlement: number, grant: { value: {}, overagePercent: 0 } }],
    ["a boolean granted with a number", { entitlement: boolean, grant: limitOf("1") }],
    ["a configuration granted with a number", { entitlement: config, grant: limitOf("1") }],
    ["a configuration granted with a boolean", { entitlement: config, grant: { value: true, overagePercent: 0 } }],
  ] as const)("%s is not granted", (_sentence, subject) => {
    const decision = check({ ...subject, requested: decimal("0") })
    assert.strictEqual(decision.reason, "NOT_GRANTED")
    assert.isFalse(decision.allowed)
  })

  it("a number without a grant has a usage and no other figure", () => {
    assert.deepStrictEqual(figuresOf({ grant: null, usage: decimal("7") }), { ...noFigures, usage: 7 })
  })
})

describe("booleans and configurations", () => {
  it.each([
    ["a boolean granted as true", { entitlement: boolean, grant: { value: true, overagePercent: 0 } }],
    ["a configuration", { entitlement: config, grant: { value: { regions: ["eu"] }, overagePercent: 0 } }],
    ["an empty configuration", { entitlement: config, grant: { value: {}, overagePercent: 0 } }],
  ] as const)("%s is granted, without figures, however much is asked for", (_sentence, subject) => {
    const asked = { ...subject, usage: decimal("5"), requested: decimal("1000000") }
    assert.strictEqual(reasonOf(asked), "GRANTED")
    assert.deepStrictEqual(figuresOf(asked), noFigures)
  })
})

describe("numbers", () => {
  it.each([
    ["nothing used", "10", 0, "0", undefined, "GRANTED"],
    ["one short of the limit", "10", 0, "9", undefined, "GRANTED"],
    ["one short of the limit, two asked for", "10", 0, "9", "2", "LIMIT_REACHED"],
    ["at the limit", "10", 0, "10", undefined, "LIMIT_REACHED"],
    ["at the limit, nothing asked for", "10", 0, "10", "0", "GRANTED"],
    ["over the limit, nothing asked for", "10", 0, "10.000000000000001", "0", "LIMIT_REACHED"],
    ["half a unit left, one asked for", "10", 0, "9.5", undefined, "LIMIT_REACHED"],
    ["half a unit left, half asked for", "10", 0, "9.5", "0.5", "GRANTED"],
    ["a limit of zero", "0", 0, "0", undefined, "LIMIT_REACHED"],
    ["a limit of zero, nothing asked for", "0", 0, "0", "0", "GRANTED"],
    ["a soft limit, still under the limit", "10", 20, "9", undefined, "GRANTED"],
    ["a soft limit, just over the limit", "10", 20, "10", undefined, "SOFT_LIMIT"],
    ["a soft limit, up to all of it", "10", 20, "11", undefined, "SOFT_LIMIT"],
    ["a soft limit, at all of it", "10", 20, "12", undefined, "LIMIT_REACHED"],
    ["a soft limit, at all of it, nothing asked for", "10", 20, "12", "0", "SOFT_LIMIT"],
    ["a soft limit of zero", "0", 50, "0", undefined, "LIMIT_REACHED"],
    ["a soft limit of a fraction of a percent", "1000", 0.1, "1000", "1", "SOFT_LIMIT"],
    ["an unlimited grant", "-1", 0, "999999999999999999", "999999999999999999", "UNLIMITED"],
    ["an unlimited grant, written with a fraction", "-1.00", 0, "5", undefined, "UNLIMITED"],
    ["a negative limit that is not unlimited", "-2", 0, "0", "0", "LIMIT_REACHED"],
    ["tenths that add up to the limit exactly", "0.3", 0, "0.1", "0.2", "GRANTED"],
    ["tenths that add up to the soft limit exactly", "1", 10, "0.9", "0.2", "SOFT_LIMIT"],
    ["eighteen digits, one left", "999999999999999999", 0, "999999999999999998", undefined, "GRANTED"],
    ["eighteen digits, none left", "999999999999999999", 0, "999999999999999999", undefined, "LIMIT_REACHED"],
  ] as const)(
    "%s: limit %s plus %s percent, %s used, %s asked for is %s",
    (_sentence, limit, over, usage, asked, expected) => {
      const requested = asked === undefined ? undefined : decimal(asked)
      const decision = check({ grant: limitOf(limit, over), usage: decimal(usage), requested })
      assert.strictEqual(decision.reason, expected)
      assert.strictEqual(decision.allowed, expected !== "LIMIT_REACHED")
    },
  )

  it("usage under the limit leaves a remainder and no overage", () => {
    assert.deepStrictEqual(figuresOf({ usage: decimal("9.7") }), { limit: 10, usage: 9.7, remaining: 0.3, overage: 0 })
  })

  it("usage above the limit leaves no remainder and has an overage", () => {
    const subject = { grant: limitOf("10", 50), usage: decimal("12.5") }
    assert.deepStrictEqual(figuresOf(subject), { limit: 10, usage: 12.5, remaining: 0, overage: 2.5 })
  })

  it("an unlimited grant has the limit -1 and the remainder -1", () => {
    const subject = { grant: limitOf("-1"), usage: decimal("12.5") }
    assert.deepStrictEqual(figuresOf(subject), { limit: -1, usage: 12.5, remaining: -1, overage: 0 })
  })

  it("a decision contains the period of its instant", () => {
    const { currentPeriodStart, currentPeriodEnd } = check({})
    assert.deepStrictEqual({ start: currentPeriodStart, end: currentPeriodEnd }, period)
    assert.isNull(check({ period: { start: license.startLicenseDate, end: null } }).currentPeriodEnd)
  })
})

const quantityOf = (maximum: number) =>
  Arbitrary.map(
    Arbitrary.all([
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))),
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 }))),
    ]),
    ([digits, scale]) => BigDecimal.make(BigInt(digits), scale),
  )
const quantity = quantityOf(2000)
const overagePercent = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))
const limited = Arbitrary.map(
  Arbitrary.all([quantity, Arbitrary.schema(overagePercent)]),
  ([value, overagePercent]): Grant => ({ value, overagePercent }),
)
const wholeGrants: ReadonlyArray<Grant | null> = [
  null,
  { value: false, overagePercent: 0 },
  { value: true, overagePercent: 0 },
  { value: { tier: "gold" }, overagePercent: 0 },
  limitOf("-1"),
]
const anyGrant = Arbitrary.map(
  Arbitrary.all([Arbitrary.schema(Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])), limited]),
  ([which, limit]): Grant | null => (which < wholeGrants.length ? (wholeGrants[which] ?? null) : limit),
)
const milliseconds = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const startTime = license.startLicenseDate.getTime()
const endTime = license.endLicenseDate.getTime()
const beforeStart = milliseconds(0, startTime - 1)
const graceDays = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 365 }))
const sinceEnd = milliseconds(endTime, endTime * 2)
const whileRunning = milliseconds(startTime, endTime - 1)
const anyEntitlement = Arbitrary.map(Arbitrary.schema(Schema.Literals(entitlementTypes)), (type) => ({
  slug: "any",
  type,
}))
const anySubject = { entitlement: anyEntitlement, grant: anyGrant, usage: quantity, requested: quantity }
const encodeResult = Schema.encodeSync(Schema.toCodecJson(CheckResult))
const decodeResult = Schema.decodeUnknownSync(Schema.toCodecJson(CheckResult), { onExcessProperty: "error" })
const manyRuns = { arbitrary: { runs: 1000 } }

describe("for all numbers", () => {
  it.prop(
    "nothing is allowed before the license starts",
    { ...anySubject, time: beforeStart },
    ({ time, ...subject }) => {
      const decision = check({ ...subject, at: new Date(time) })
      assert.isFalse(decision.allowed)
      assert.strictEqual(decision.reason, "LICENSE_NOT_STARTED")
    },
  )

  it.prop(
    "nothing is allowed once the license has ended",
    { ...anySubject, time: sinceEnd },
    ({ time, ...subject }) => {
      const decision = check({ ...subject, at: new Date(time) })
      assert.isFalse(decision.allowed)
      assert.strictEqual(decision.reason, "LICENSE_EXPIRED")
    },
  )

  it.prop(
    "the grace period allows exactly what the running license allows, with the same figures",
    { ...anySubject, days: graceDays, time: milliseconds(endTime, endTime + 366 * DAY_MS) },
    ({ days, time, ...subject }) => {
      const instance = { ...license, graceDays: days }
      const before = check({ ...subject, instance, at: new Date(endTime - 1) })
      const after = check({ ...subject, instance, at: new Date(time) })
      const isOver = time >= endTime + days * DAY_MS
      const reason = isOver ? "LICENSE_EXPIRED" : before.allowed ? "IN_GRACE" : before.reason
      assert.deepStrictEqual(after, { ...before, allowed: before.allowed && !isOver, reason })
    },
    manyRuns,
  )

  it.prop(
    "the serialized response is the same as one encoded by its schema",
    { ...anySubject, days: graceDays, time: milliseconds(0, endTime * 2) },
    ({ days, time, ...subject }) => {
      const at = new Date(time)
      const instance = { ...license, graceDays: days }
      const answer = { entitlement: "any", ...check({ ...subject, instance, at }) }
      const graceEndsAt = graceEndAt(instance, at)
      const result = { instance: "any", license: "any", at, graceEndsAt, checks: [answer, answer] }
      const written: unknown = JSON.parse(checkAsText(result))
      assert.deepStrictEqual(written, JSON.parse(JSON.stringify(encodeResult(result))))
      decodeResult(written)
    },
    manyRuns,
  )

  it.prop("nothing is allowed without a grant", { ...anySubject, time: whileRunning }, ({ time, ...subject }) => {
    assert.isFalse(check({ ...subject, grant: null, at: new Date(time) }).allowed)
  })

  it.prop(
    "an unlimited grant always allows while the license is running",
    { usage: quantity, requested: quantity, overagePercent, time: whileRunning },
    ({ time, overagePercent, ...subject }) => {
      const decision = check({ ...subject, grant: limitOf("-1", overagePercent), at: new Date(time) })
      assert.isTrue(decision.allowed)
      assert.strictEqual(decision.reason, "UNLIMITED")
    },
  )

  it.prop(
    "a request smaller than an allowed one is allowed",
    { ...anySubject, other: quantity, time: milliseconds(0, endTime * 2) },
    ({ time, other, requested, ...subject }) => {
      const at = new Date(time)
      const smaller = check({ ...subject, requested: BigDecimal.min(requested, other), at })
      const greater = check({ ...subject, requested: BigDecimal.max(requested, other), at })
      assert.isTrue(smaller.allowed || !greater.allowed)
    },
    manyRuns,
  )

  it.prop(
    "a request for at most the remainder is granted",
    { grant: limited, usage: quantity, requested: quantity },
    (subject) => {
      const left = BigDecimal.subtract(subject.grant.value as BigDecimal.BigDecimal, subject.usage)
      const asksForWhatIsLeft = BigDecimal.isLessThanOrEqualTo(subject.requested, left)
      assert.strictEqual(reasonOf(subject) === "GRANTED", asksForWhatIsLeft)
    },
    manyRuns,
  )

  it.prop(
    "under a hard limit a request for exactly the remainder is granted, and the smallest amount more is not",
    { limit: quantity, usage: quantity },
    ({ limit, usage }) => {
      const left = BigDecimal.max(BigDecimal.subtract(limit, usage), decimal("0"))
      const grant = { value: BigDecimal.max(limit, usage), overagePercent: 0 }
      assert.strictEqual(reasonOf({ grant, usage, requested: left }), "GRANTED")
      const more = BigDecimal.sum(left, decimal("0.000000000001"))
      assert.strictEqual(reasonOf({ grant, usage, requested: more }), "LIMIT_REACHED")
    },
    manyRuns,
  )

  it.prop(
    "a soft limit allows exactly what a hard limit at its cap allows",
    { limit: quantity, overagePercent, usage: quantity, requested: quantity },
    ({ limit, overagePercent, ...subject }) => {
      const height = BigDecimal.multiply(limit, BigDecimal.make(BigInt(100 + overagePercent), 2))
      const soft = check({ ...subject, grant: { value: limit, overagePercent } })
      const hard = check({ ...subject, grant: { value: height, overagePercent: 0 } })
      assert.strictEqual(soft.allowed, hard.allowed)
    },
    manyRuns,
  )

  it.prop(
    "a decision allows exactly if its reason allows",
    { ...anySubject, time: milliseconds(0, endTime * 2) },
    ({ time, ...subject }) => {
      const decision = check({ ...subject, at: new Date(time) })
      assert.strictEqual(decision.allowed, allows(decision.reason))
    },
  )

  it.prop(
    "the remainder and the overage are never both above zero",
    { limit: quantity, usage: quantity, held: quantity },
    ({ held, limit, usage }) => {
      const { remaining, overage } = figures(limit, usage, held)
      assert.isTrue(remaining >= 0 && overage >= 0 && (remaining === 0 || overage === 0))
    },
  )

  it.prop(
    "reserved quantities reduce what is allowed like usage, but are not usage",
    { limit: quantity, usage: quantity, held: quantity, requested: quantity },
    ({ held, limit, requested, usage }) => {
      const grant = { value: limit, overagePercent: 10 }
      const decision = check({ grant, usage, held, requested })
      const used = check({ grant, usage: BigDecimal.sum(usage, held), requested })
      assert.deepStrictEqual([decision.reason, decision.remaining], [used.reason, used.remaining])
      assert.strictEqual(decision.usage, BigDecimal.toNumberUnsafe(usage))
    },
  )
})

it("four reasons allow and five deny", () => {
  assert.deepStrictEqual(checkReasons.filter(allows), ["GRANTED", "UNLIMITED", "SOFT_LIMIT", "IN_GRACE"])
  assert.strictEqual(checkReasons.length, 9)
})
