import { assert, describe, it } from "@effect/vitest"
import { decide, periodAt } from "../../src/offline/index.ts"
import type { Claims } from "../../src/offline/index.ts"
import { isCount, isInstant, millisOf } from "../../src/offline/values/Unknown.ts"
import { claims, now } from "./signer.ts"

const instant = (seconds: number, millis = 0) => new Date(seconds * 1000 + millis).toISOString()

describe("the periods of a bundle", () => {
  const periods = {
    fixed: { from: instant(1_000_000), every: 3_600 },
    named: { starts: [instant(100), instant(200), instant(300)] },
  }
  const shown = (name: string, millis: number) => {
    const period = periodAt({ periods }, name, new Date(millis))
    return period && [Date.parse(period.start) / 1000, period.end && Date.parse(period.end) / 1000]
  }

  it.each([
    ["fixed", 999_999_999, null],
    ["fixed", 1_000_000_000, [1_000_000, 1_003_600]],
    ["fixed", 1_003_599_999, [1_000_000, 1_003_600]],
    ["fixed", 1_003_600_000, [1_003_600, 1_007_200]],
    ["named", 99_999, null],
    ["named", 100_000, [100, 200]],
    ["named", 199_999, [100, 200]],
    ["named", 200_000, [200, 300]],
    ["named", 300_000, [300, null]],
    ["other", 100_000, null],
  ])("%s contain their starts, and not their ends: %d ms", (name, millis, expected) => {
    assert.deepStrictEqual(shown(name, millis), expected)
  })
})

describe("a decision without a service", () => {
  const number = {
    slug: "calls",
    type: "NUMBER",
    limit: "10",
    overagePercent: "20",
    aggregation: "SUM",
    used: "3",
    usedFrom: instant(claims.iat),
    period: "LIFETIME",
  }
  const ofNumber = (changes: object, request: object) =>
    decide(
      {
        ...claims,
        periods: { LIFETIME: { starts: [instant(claims.iat)] } },
        entitlements: [{ ...number, ...changes }],
      } as unknown as Claims,
      { entitlement: "calls", at: now, ...request },
    )

  it.each([
    [6, 1, true, "GRANTED", "1"],
    [7, 0, true, "GRANTED", "0"],
    [7, 1, true, "SOFT_LIMIT", "0"],
    [7, 2, true, "SOFT_LIMIT", "0"],
    [7, 3, false, "LIMIT_REACHED", "0"],
    [9, 0, true, "SOFT_LIMIT", "0"],
    [9, undefined, false, "LIMIT_REACHED", "0"],
    [0, 0, true, "GRANTED", "7"],
    [-1, 0, false, "INVALID_REQUEST", null],
    [0, -1, false, "INVALID_REQUEST", null],
    [0, "x", false, "INVALID_REQUEST", null],
    ["x", 0, false, "INVALID_REQUEST", null],
  ])("counts what was used at the issue, and since: %s and %s", (used, requested, allowed, reason, remaining) => {
    const request = requested === undefined ? { used } : { used, requested }
    assert.deepStrictEqual(ofNumber({}, request), { allowed, reason, remaining } as ReturnType<typeof decide>)
  })

  it("has no overage above a hard limit", () => {
    assert.strictEqual(ofNumber({ overagePercent: "0" }, { used: 7, requested: 1 }).reason, "LIMIT_REACHED")
    assert.strictEqual(ofNumber({ overagePercent: "x" }, { used: 7, requested: 1 }).reason, "LIMIT_REACHED")
    assert.strictEqual(ofNumber({ overagePercent: "10" }, { used: 7, requested: 1 }).reason, "SOFT_LIMIT")
  })

  it("has its allowance alone, whatever was used at the issue", () => {
    assert.strictEqual(ofNumber({ allowance: "5" }, { used: 4, requested: 1 }).reason, "GRANTED")
    assert.strictEqual(ofNumber({ allowance: "5" }, { used: 5, requested: 1 }).reason, "LIMIT_REACHED")
    assert.strictEqual(ofNumber({ allowance: "x" }, {}).reason, "NOT_GRANTED")
    assert.strictEqual(ofNumber({ allowance: null }, {}).reason, "GRANTED")
  })

  it("counts what was used at the issue in its own period only, and in doubt", () => {
    const used = (changes: object, at = now) =>
      ofNumber({ overagePercent: "0", ...changes }, { used: 8, requested: 1, at }).reason
    assert.strictEqual(used({ usedFrom: instant(claims.iat - 1) }), "GRANTED")
    assert.strictEqual(used({ usedFrom: instant(claims.iat, 1) }), "GRANTED")
    assert.strictEqual(used({ usedFrom: "?" }), "LIMIT_REACHED")
    assert.strictEqual(used({}, claims.iat - 9), "LIMIT_REACHED")
  })

  it("is unlimited only at -1, and nothing without a limit", () => {
    assert.deepStrictEqual(ofNumber({ limit: "-1" }, { used: 99 }), {
      allowed: true,
      reason: "UNLIMITED",
      remaining: "-1",
    })
    assert.strictEqual(ofNumber({ limit: "x" }, {}).reason, "NOT_GRANTED")
    assert.strictEqual(ofNumber({ used: "x" }, {}).reason, "NOT_GRANTED")
  })

  it("grants a true BOOLEAN, and a CONFIG that is an object", () => {
    const other = (type: string, value: unknown) => ofNumber({ type, value }, {}).allowed
    const values = [true, false, 1, {}, [], null, "x"]
    assert.deepStrictEqual(
      values.map((value) => other("BOOLEAN", value)),
      [true, false, false, false, false, false, false],
    )
    assert.deepStrictEqual(
      values.map((value) => other("CONFIG", value)),
      [false, false, false, true, false, false, false],
    )
    assert.isFalse(other("OTHER", true))
    assert.isFalse(ofNumber({}, { entitlement: "x" }).allowed)
  })
})

describe("values of unknown types", () => {
  it("are instants in seconds, as texts and as dates", () => {
    assert.deepStrictEqual([1e11 - 1, -1e11 + 1, 0].map(millisOf), [99_999_999_999_000, -99_999_999_999_000, 0])
    for (const value of [
      1e11,
      -1e11,
      "2026-01-31",
      "2026-01-31T09:00:00",
      "2026-01-31T09:00:00.0123456789Z",
      null,
      {},
    ]) {
      assert.isNaN(millisOf(value), JSON.stringify(value))
    }
    for (const text of ["2026-01-31T09:00:00Z", "2026-01-31T10:00:00.000000000+01:00"]) {
      assert.strictEqual(millisOf(text), Date.UTC(2026, 0, 31, 9))
    }
    assert.isFalse(isInstant(5))
    assert.isFalse(isInstant("2026-13-31T09:00:00Z"))
  })

  it("are counts from 0 on", () => {
    assert.deepStrictEqual([-1, 0, 1, 2 ** 53 - 1, 2 ** 53, 0.5, "1"].map(isCount), [
      false,
      true,
      true,
      true,
      false,
      false,
      false,
    ])
  })
})
