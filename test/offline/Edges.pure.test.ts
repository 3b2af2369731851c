import { assert, describe, it } from "@effect/vitest"
import { verifyBundle, verifyRevocations } from "../../src/offline/index.ts"
import type { BundleOptions, State } from "../../src/offline/index.ts"
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
const instant = (seconds: number) => new Date(seconds * 1000).toISOString()

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
    assert.strictEqual(answer.state?.revocations, 5)
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
