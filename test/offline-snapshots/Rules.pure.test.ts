import { assert, describe, it } from "@effect/vitest"
import { claimsOf } from "../../src/domains/offline/bundles/Rules.ts"
import {
  confirmedTag,
  contentHash,
  makePollRate,
  maxAgeOf,
  sequenceOf,
  snapshotTag,
  timesOf,
} from "../../src/domains/offline/snapshots/Rules.ts"
import type { SnapshotClaims } from "../../src/domains/offline/snapshots/Rules.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const START = Date.parse("2026-01-31T09:00:00.000Z")
const at = (millis: number) => new Date(START + millis)

describe("the times of a snapshot", () => {
  it("are those of the second that has begun, and do not end with the license", () => {
    const iat = START / 1000
    assert.deepStrictEqual(timesOf({ staleSeconds: 600 }, at(-1), at(999)), {
      iat,
      nbf: iat,
      renew: iat + 600,
      exp: iat + 600,
      usageUntil: iat + 600 + 7_776_000,
    })
    assert.strictEqual(timesOf({ staleSeconds: 600 }, at(1_001), at(0)).nbf, iat + 2)
  })
})

describe("the number of a snapshot", () => {
  it.each([
    [0, 0, 1],
    [3, 0, 3],
    [3, 2, 3],
    [3, 3, 4],
  ])("after %d bundles, of which %d are void, is %d", (issued, voided, expected) => {
    assert.strictEqual(sequenceOf({ issued, voided }), expected)
  })
})

const content = {
  organizationId: organizationIdOf("o"),
  id: "one",
  sequence: 1,
  times: { iat: 1, nbf: 1, renew: 601, exp: 1_000, usageUntil: 2_000 },
  subject: {
    id: "i",
    slug: "prod",
    name: "Prod",
    customer: { slug: "c", name: "C" },
    license: { slug: "pro", family: "pro", version: "1", name: "Pro", type: "PAID" },
    zone: null,
    release: null,
  },
  access: { startLicenseDate: at(0), endLicenseDate: null, accessEnd: null },
  flags: {},
  rules: undefined,
  binding: null,
  next: null,
}
const entry = {
  slug: "exports",
  type: "NUMBER",
  limit: "10",
  overagePercent: "0",
  aggregation: "SUM",
  used: "1",
  usedFrom: "2026-01-01T00:00:00.000Z",
  period: "DAY/CALENDAR",
} as const
const claims = (more: object = {}, of: object = {}): SnapshotClaims => ({
  ...claimsOf({ ...content, grants: { entitlements: [{ ...entry, ...of }], periods: {} } }),
  complete: true,
  away: { then: "DENY" },
  ...more,
})
const hash = (snapshot: SnapshotClaims, reason: "GRANTED" | "LIMIT_REACHED" = "GRANTED") =>
  contentHash(snapshot, { exports: reason })

describe("the content of a snapshot", () => {
  it.each([
    ["its times and its id", { iat: 5, nbf: 5, renew: 6, exp: 7, jti: "two", usage: { until: 9 } }, {}],
    ["usage", {}, { used: "2", held: "1", usedFrom: "2026-01-02T00:00:00.000Z" }],
  ])("stays the same with other values of %s", (_, more, of) => {
    assert.strictEqual(hash(claims(more, of)), hash(claims()))
  })

  it.each([
    ["limit", {}, { limit: "11" }],
    ["grant of later", {}, { grants: [{ from: "2026-02-01T00:00:00.000Z", limit: null }] }],
    ["number", { seq: 2 }, {}],
    ["end of the term", { license: { ...claims().license, termEnd: "2027-01-01T00:00:00.000Z" } }, {}],
    ["rule", { rules: [] }, {}],
    ["answer when away", { away: { then: "ALLOW" } }, {}],
    ["next key", { next: { kid: "k" } }, {}],
  ])("is another with another %s", (_, more, of) => {
    assert.notStrictEqual(hash(claims(more, of)), hash(claims()))
  })

  it("is another once usage changes the answer", () => {
    assert.notStrictEqual(hash(claims(), "LIMIT_REACHED"), hash(claims()))
  })
})

describe("the entity tag of a snapshot", () => {
  it.each([
    ['"a.1000"', 1_299, '"a.1000"'],
    ['"a.1000"', 1_300, undefined],
    ['"a.1000"', 701, '"a.1000"'],
    ['"a.1000"', 700, undefined],
    ['"b.1000"', 1_000, undefined],
    ['"b.1000", W/"a.1000-gzip"', 1_000, '"a.1000"'],
    ['"a.x"', 1_000, undefined],
    ['"a"', 1_000, undefined],
    ["*", 1_000, undefined],
    [undefined, 1_000, undefined],
  ])("%s at %d stands as %s", (sent, now, expected) => {
    assert.strictEqual(confirmedTag(sent, "a", now), expected)
    assert.strictEqual(snapshotTag("a", 1_000), '"a.1000"')
  })
})

describe("how soon a product asks again", () => {
  it.each([
    [0, 30],
    [500, 30],
    [600, 36],
    [5_000, 300],
    [50_000, 300],
  ])("at %d polls a second is after %d s", (polls, seconds) => {
    assert.strictEqual(maxAgeOf(polls), seconds)
  })

  it("counts the polls of the last ten seconds, and forgets those before", () => {
    const count = makePollRate()
    for (let millis = 0; millis < 10_000; millis += 10) count(at(millis))
    assert.closeTo(count(at(10_000)), 100, 1)
    assert.closeTo(count(at(15_000)), 50, 1)
    assert.closeTo(count(at(40_000)), 0.1, 0.01)
    assert.closeTo(count(at(0)), 0.1, 0.01)
  })
})
