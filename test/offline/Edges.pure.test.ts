import { assert, describe, it } from "@effect/vitest"
import { decide, periodAt, verifyBundle, verifyRevocations } from "../../src/offline/index.ts"
import type { BundleOptions, Claims, State } from "../../src/offline/index.ts"
import { isCount, isInstant, millisOf } from "../../src/offline/values/Unknown.ts"
import { claims, current, goodToken, issuer, now, options } from "./signer.ts"

const verified = (token: string, changes: Partial<BundleOptions> = {}) =>
  verifyBundle(token, { ...options, ...changes })
const statusOf = async (token: string, changes: Partial<BundleOptions> = {}) => (await verified(token, changes)).status
const signed = (changes: object) => current.sign({ ...claims, ...changes })
const list = (seq: number, changes: object = {}) =>
  current.sign(
    {
      v: 1,
      iss: issuer,
      number: 5,
      iat: claims.iat,
      exp: claims.iat + 604_800,
      revoked: [{ sub: claims.sub, seq }],
      ...changes,
    },
    "keyshelf-revocations+jwt",
  )
const memory: State = {
  sub: claims.sub,
  kid: current.kid,
  seq: claims.seq,
  latest: now,
  revocations: 5,
  voided: 0,
  keys: {},
}
const instant = (seconds: number, millis = 0) => new Date(seconds * 1000 + millis).toISOString()

describe("the clock of a site", () => {
  it.each([
    [86_399, "VALID"],
    [86_400, "VALID"],
    [86_401, "CLOCK_BEHIND"],
  ])("may be one day behind what it showed before: %d s", async (behind, expected) => {
    const latest = claims.exp - 10
    assert.strictEqual(await statusOf(goodToken, { now: latest - behind, state: { ...memory, latest } }), expected)
  })

  it.each([
    [86_400, "VALID"],
    [86_401, "CLOCK_BEHIND"],
  ])("may be one day behind the issue of the bundle: %d s", async (behind, expected) => {
    const answer = await verified(goodToken, { now: claims.iat - behind })
    assert.strictEqual(answer.status, expected)
    if (expected === "VALID") assert.strictEqual(answer.state?.latest, claims.iat)
  })

  it("does not remember a time that another bundle saw", async () => {
    const state = { ...memory, seq: claims.seq - 1, latest: claims.exp + 99 }
    assert.strictEqual(await statusOf(goodToken, { state }), "VALID")
    assert.strictEqual(await statusOf(goodToken, { state: { ...state, seq: claims.seq } }), "CLOCK_BEHIND")
  })
})

describe("the life of a bundle", () => {
  it.each([
    [-1, "VALID", true],
    [0, "BUNDLE_EXPIRED", false],
  ])("ends at its expiry: %d s", async (seconds, status, renewDue) => {
    const answer = await verified(goodToken, { now: claims.exp + seconds })
    assert.deepStrictEqual([answer.status, answer.renewDue], [status, renewDue])
  })

  it.each([
    [-1, false],
    [0, true],
    [1, true],
  ])("has a time to renew it: %d s", async (seconds, renewDue) => {
    assert.strictEqual((await verified(goodToken, { now: claims.renew + seconds })).renewDue, renewDue)
  })

  it.each([
    [-1, "LICENSE_NOT_STARTED"],
    [0, "VALID"],
  ])("begins when it says, and with the license: %d s", async (seconds, expected) => {
    const at = claims.iat + 100
    assert.strictEqual(await statusOf(await signed({ nbf: at }), { now: at + seconds }), expected)
    const license = { ...claims.license, start: instant(at) }
    assert.strictEqual(await statusOf(await signed({ license }), { now: at + seconds }), expected)
  })

  it.each([
    [-1, "VALID"],
    [0, "LICENSE_EXPIRED"],
  ])("ends with the license: %d s", async (seconds, expected) => {
    const at = claims.iat + 100
    const license = { ...claims.license, end: instant(at) }
    assert.strictEqual(await statusOf(await signed({ license }), { now: at + seconds }), expected)
  })

  it("may have no time between its issue, its renewal and its expiry", async () => {
    assert.strictEqual(await statusOf(await signed({ renew: claims.iat })), "VALID")
    assert.strictEqual(await statusOf(await signed({ renew: claims.exp })), "VALID")
  })
})

describe("the number of a bundle", () => {
  it.each([
    [claims.seq - 1, "VALID"],
    [claims.seq, "VALID"],
    [claims.seq + 1, "SUPERSEDED"],
  ])("is not below the one before: %d", async (seq, expected) => {
    assert.strictEqual(await statusOf(goodToken, { state: { ...memory, seq } }), expected)
  })

  it.each([
    [claims.seq - 1, "VALID"],
    [claims.seq, "REVOKED"],
    [claims.seq + 1, "REVOKED"],
  ])("is above the revoked ones: %d", async (seq, expected) => {
    const answer = await verified(goodToken, { revocations: await list(seq) })
    assert.strictEqual(answer.status, expected)
    assert.strictEqual(answer.state?.voided, seq)
    assert.strictEqual(answer.state.revocations, 5)
    assert.strictEqual(await statusOf(goodToken, { state: { ...memory, voided: seq } }), expected)
  })

  it("is revoked only for its own instance, by the highest entry", async () => {
    const revoked = [
      { sub: claims.sub, seq: claims.seq },
      { sub: claims.sub, seq: 1 },
    ]
    assert.strictEqual(await statusOf(goodToken, { revocations: await list(1, { revoked }) }), "REVOKED")
    const other = [{ sub: "other", seq: claims.seq }]
    assert.strictEqual(await statusOf(goodToken, { revocations: await list(1, { revoked: other }) }), "VALID")
  })
})

describe("a list of revocations", () => {
  it.each([
    [4, "REVOCATIONS_INVALID", "SUPERSEDED"],
    [5, "VALID", "VALID"],
    [6, "VALID", "VALID"],
  ])("is not older than the one before, which had 5: %d", async (number, expected, alone) => {
    const text = await list(1, { number })
    assert.strictEqual(await statusOf(goodToken, { revocations: text, state: memory }), expected)
    assert.strictEqual((await verifyRevocations(text, { ...options, state: memory })).status, alone)
  })

  it.each([
    [1, "VALID", false],
    [0, "REVOCATIONS_STALE", true],
  ])("is fresh until its expiry: %d s from now", async (seconds, expected, stale) => {
    const text = await list(1, { exp: now + seconds })
    assert.strictEqual(await statusOf(goodToken, { revocations: text, requireRevocations: true }), expected)
    assert.strictEqual(await statusOf(goodToken, { revocations: text }), "VALID")
    assert.strictEqual((await verifyRevocations(text, options)).stale, stale)
  })

  it("is needed only where it is required", async () => {
    assert.strictEqual(await statusOf(goodToken, { requireRevocations: true }), "REVOCATIONS_STALE")
    assert.strictEqual(await statusOf(goodToken, { revocations: null as never }), "VALID")
  })
})

describe("a binding", () => {
  const of = ["a", "b", "c", "c", ""]
  it.each([
    [["a"], 1, "VALID"],
    [["a"], 2, "NOT_BOUND"],
    [["a", "x", "b"], 2, "VALID"],
    [["c", "c"], 2, "NOT_BOUND"],
    [["a", ""], 2, "NOT_BOUND"],
    [[], 1, "NOT_BOUND"],
    ["a", 1, "VALID"],
  ])("counts each component once: of %j, %d", async (fingerprints, match, expected) => {
    const token = await signed({ binding: { match, of } })
    assert.strictEqual(await statusOf(token, { fingerprints: fingerprints as ReadonlyArray<string> }), expected)
  })
})

describe("the periods of a bundle", () => {
  const periods = {
    fixed: { from: instant(1_000_000), every: 3_600 },
    named: { starts: [instant(100), instant(200), instant(300)] },
  }
  const shown = (name: string, millis: number) => {
    const period = periodAt({ periods } as unknown as Claims, name, new Date(millis))
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
      { entitlement: "calls", at: now, ...request } as Parameters<typeof decide>[1],
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
      assert.isNaN(millisOf(value), String(value))
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
