import { assert, describe, it } from "@effect/vitest"
import {
  bindingErrors,
  claimsOf,
  timesErrors,
  timesOf,
  withAllowances,
} from "../../src/domains/offline/bundles/Rules.ts"
import type { BundleContent } from "../../src/domains/offline/bundles/Rules.ts"
import { bundleIdOf, follow, hashOf, newestOf, parseLines, windowOf } from "../../src/domains/offline/ledgers/Rules.ts"
import type { LedgerLine } from "../../src/domains/offline/ledgers/Rules.ts"
import { fullHour, hourAfter, listText } from "../../src/domains/offline/revocations/Rules.ts"

const SECONDS = 1_700_000_000
const at = (seconds: number, millis = 0) => new Date((SECONDS + seconds) * 1000 + millis)
const locations = (errors: ReadonlyArray<{ readonly location: string }>) => errors.map(({ location }) => location)

describe("the times of a bundle", () => {
  const access = { startLicenseDate: at(-10), accessEnd: null }
  const times = (more: object, seconds = 0, millis = 0) =>
    timesOf({ ttlSeconds: 100, graceSeconds: 20 }, { ...access, ...more }, at(seconds, millis))

  it("are a lifetime, a grace period, and 90 days to bring usage", () => {
    assert.deepStrictEqual(times({}, 0, 999), {
      iat: SECONDS,
      nbf: SECONDS,
      renew: SECONDS + 100,
      exp: SECONDS + 120,
      usageUntil: SECONDS + 120 + 7_776_000,
    })
  })

  it.each([
    [121, 100, 120],
    [120, 100, 120],
    [119, 100, 119],
    [100, 100, 100],
    [99, 99, 99],
  ])("end with access, which ends after %d s", (accessEnd, renew, exp) => {
    const found = times({ accessEnd: at(accessEnd, 999) })
    assert.deepStrictEqual([found.renew, found.exp], [SECONDS + renew, SECONDS + exp])
  })

  it.each([
    [-1, 0, 0],
    [0, 0, 0],
    [0, 1, 1],
    [5, 0, 5],
  ])("begin with access, which starts after %d s and %d ms", (start, millis, nbf) => {
    assert.strictEqual(times({ startLicenseDate: at(start, millis) }).nbf, SECONDS + nbf)
  })

  it.each([
    [119, []],
    [120, ["body.ttlSeconds"]],
  ])("contain an instant, if the license starts after %d s", (start, expected) => {
    assert.deepStrictEqual(locations(timesErrors(times({ startLicenseDate: at(start) }))), expected)
  })
})

describe("the claims of a bundle", () => {
  const number = {
    slug: "a",
    type: "NUMBER",
    limit: "5",
    overagePercent: "0",
    aggregation: "SUM",
    used: "0",
    usedFrom: "",
    period: "LIFETIME",
  } as const

  it("have the allowance of a number", () => {
    const flag = { slug: "b", type: "BOOLEAN", value: true } as const
    const allowances = [
      { entitlement: "b", quantity: 1 },
      { entitlement: "a", quantity: 2.5 },
    ]
    assert.deepStrictEqual(withAllowances([number, flag], allowances), [{ ...number, allowance: "2.5" }, flag])
    assert.deepStrictEqual(withAllowances([{ ...number, slug: "c" }], allowances), [{ ...number, slug: "c" }])
  })

  it("name the next key and the end of access only if there are any", () => {
    const content = (more: object) =>
      ({
        organizationId: "o",
        id: "b",
        sequence: 1,
        times: { iat: 1, nbf: 2, renew: 3, exp: 4, usageUntil: 5 },
        subject: { id: "i", license: {} },
        access: { startLicenseDate: at(0), endLicenseDate: null, accessEnd: null },
        grants: { entitlements: [], periods: {} },
        flags: {},
        binding: null,
        next: null,
        ...more,
      }) as unknown as BundleContent
    const claims = (more: object) => claimsOf(content(more)) as { v: number; license: object; next?: object }
    assert.notProperty(claims({}), "next")
    assert.deepInclude(claims({}).license, { termEnd: null, end: null })
    assert.strictEqual(claims({}).v, 1)
    const access = { startLicenseDate: at(0), endLicenseDate: at(1), accessEnd: at(2) }
    const full = claims({ next: { x: "x", kid: "k" }, access })
    assert.deepStrictEqual(full.next, { kty: "OKP", crv: "Ed25519", x: "x", kid: "k" })
    assert.deepInclude(full.license, { termEnd: at(1).toISOString(), end: at(2).toISOString() })
  })

  it.each([
    [undefined, []],
    [{ match: 2, of: ["a", "b"] }, []],
    [{ match: 3, of: ["a", "b"] }, ["body.binding.match"]],
    [{ match: 1, of: ["a", "a"] }, ["body.binding.of"]],
  ])("are bound to different fingerprints, and no more than there are: %j", (binding, expected) => {
    assert.deepStrictEqual(locations(bindingErrors(binding)), expected)
  })
})

describe("the hours of revocations", () => {
  it.each([
    [-1, -3600, 0],
    [0, 0, 0],
    [1, 0, 3600],
  ])("of an instant %d ms from a full hour", (millis, full, next) => {
    const hour = Date.UTC(2026, 0, 31, 9)
    assert.strictEqual(fullHour(new Date(hour + millis)).getTime(), hour + full * 1000)
    assert.strictEqual(hourAfter(new Date(hour + millis)).getTime(), hour + next * 1000)
  })

  it("make a list that is fresh for 7 days", () => {
    assert.deepStrictEqual(
      JSON.parse(listText("iss", 7, at(0), [{ instanceId: "i", sequence: 3, revokedAt: at(1) }])),
      {
        v: 1,
        iss: "iss",
        number: 7,
        iat: SECONDS,
        exp: SECONDS + 604_800,
        revoked: [{ sub: "i", seq: 3, at: at(1).toISOString() }],
      },
    )
  })
})

const SOURCE = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"
const text = (id: unknown, more: object = {}) => JSON.stringify({ id, source: SOURCE, ...more })

describe("the lines of a ledger", () => {
  it.each(["1", "10", "9007199254740991"])("have a number: %s", (id) => {
    const { errors, lines } = parseLines(SOURCE, [text(id)])
    assert.deepStrictEqual(errors, [])
    assert.deepInclude(lines[0], { index: 0, number: Number(id), hash: hashOf(text(id)) })
  })

  it.each([
    text("0"),
    text("01"),
    text("-1"),
    text("1.5"),
    text("9007199254740992"),
    text("10000000000000000"),
    text(1),
    text(undefined),
    JSON.stringify({ id: "1", source: "x" }),
    JSON.stringify({ id: "1" }),
    "[]",
    "null",
    "{",
  ])("are not %s", (line) => {
    const { errors, lines } = parseLines(SOURCE, [text("1"), line])
    assert.deepStrictEqual(locations(errors), ["body.lines[1]"])
    assert.lengthOf(lines, 1)
  })

  const line = (number: number, prevhash: string, hash = `h${number}`): LedgerLine => ({
    index: number - 1,
    number,
    hash,
    event: { prevhash },
  })
  const stored = { lines: 2, head: "h2" }

  it("go on from the last one that is stored; older ones are not compared", () => {
    const lines = [line(1, "?", "?"), line(2, "?"), line(3, "h2"), line(4, "h3")]
    const followed = follow(stored, lines)
    assert.deepStrictEqual(followed, { status: "FOLLOWS", position: { lines: 4, head: "h4" }, added: lines.slice(2) })
  })

  it.each([
    ["a gap", [line(4, "h2")], { status: "GAP", next: 3, index: 3 }],
    ["another line than the stored one", [line(2, "h1", "x")], { status: "FORKED", line: line(2, "h1", "x") }],
    ["a line that does not follow", [line(3, "x")], { status: "FORKED", line: line(3, "x") }],
  ] as ReadonlyArray<readonly [string, ReadonlyArray<LedgerLine>, object]>)("end at %s", (_, lines, expected) => {
    assert.deepStrictEqual<object>(follow(stored, lines), expected)
  })
})

describe("the bundle of a line", () => {
  const id = "0198c2b5-0000-7000-8000-000000000001"
  const line = (bundleid: unknown): LedgerLine => ({ index: 0, number: 1, hash: "", event: { bundleid } })
  const bundle = { id, sequence: 1, issuedAt: at(0), expiresAt: at(50), usageUntil: at(100) }

  it("is named by an id", () => {
    assert.strictEqual(bundleIdOf(line(id)), id)
    for (const other of [7, undefined, "", `${id}0`, id.toUpperCase()]) assert.isUndefined(bundleIdOf(line(other)))
  })

  it.each([
    [-1, true],
    [0, false],
    [1, false],
  ])("is accepted before its usage ends: %d ms from then %s", (millis, accepted) => {
    const window = windowOf(line(id), bundle, at(100, millis))
    assert.strictEqual("from" in window, accepted)
    if (accepted) assert.deepStrictEqual(window, { from: at(-300), until: at(50) })
  })

  it("must be named and exist", () => {
    assert.deepInclude(windowOf(line(7), bundle, at(0)), { message: "`bundleid` is missing or invalid." })
    assert.deepInclude(windowOf(line(id), undefined, at(0)), { code: "OfflineBundle.NotFound" })
  })

  it("is the newest of several", () => {
    assert.strictEqual(newestOf([null, 3, 7, 5, null]), 7)
    assert.strictEqual(newestOf([0]), 0)
    assert.isNull(newestOf([null]))
    assert.isNull(newestOf([]))
  })
})
