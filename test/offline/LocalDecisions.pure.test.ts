import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Offline from "../../src/offline/index.ts"
import { runLocal } from "./local.ts"
import type { LocalDecisions } from "./local.ts"
import { makeRandom } from "./random.ts"

const file: LocalDecisions = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../clients/vectors/local-decisions.json"), "utf8"),
)
const compared = async (decisions: LocalDecisions) =>
  (await runLocal(decisions)).flatMap((result) => ("actual" in result ? [result] : []))

/** Values that differ from one in a single place. */
const variations = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) {
    return [
      value.slice(1),
      ...value.flatMap((one, index) => variations(one).map((other) => value.with(index, other))),
    ].filter((other) => other.length < value.length || value.length > 0)
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, one]) => variations(one).map((other) => ({ ...value, [name]: other })))
  }
  if (typeof value === "string") return [`${value}1`]
  return [typeof value === "boolean" ? !value : typeof value === "number" ? value + 1 : "0"]
}

describe("the vectors of local decisions", () => {
  it("are all answered as they say, and leave the arguments as they were", async () => {
    const before = structuredClone(file)
    const results = await compared(file)
    assert.strictEqual(results.length, file.cases.length)
    for (const { actual, expected, id } of results) assert.deepStrictEqual(actual, expected, id)
    assert.deepStrictEqual(file, before)
  })

  it("fail with one figure that is wrong", async () => {
    for (const one of file.cases) {
      for (const expected of variations(one.expected)) {
        for (const { id, matches } of await compared({ ...file, cases: [{ ...one, expected }] })) {
          assert.isFalse(matches, `${id} ${JSON.stringify(expected)}`)
        }
      }
    }
  })

  it("fail with a kind that nobody knows", async () => {
    const cases = [{ id: "x", kind: "guess", given: {}, expected: null }]
    const failure = await runLocal({ ...file, cases }).catch((error: unknown) => String(error))
    assert.include(failure, "guess")
  })
})

const claims = file.base as unknown as Offline.Claims
const AT = "2026-01-10T12:00:00.000Z"
const SOURCE = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"
const START = "2026-01-10T00:00:00.000Z"
const tranche = { source: SOURCE, lines: 4, head: "h4", until: 1768053600, of: { exports: { [START]: "20" } } }
const local: Offline.LocalUsage = { source: SOURCE, positions: [[4, "h4"]], spent: { exports: { [START]: "8" } } }
const holding = { ...claims, tranche }
const one = (changed: Offline.Claims, requested: string, at = AT, spent: Offline.LocalUsage | null = local) => {
  const [check] = Offline.answer(changed, [{ entitlement: "exports", requested }], at, spent).checks
  if (check === undefined) throw new Error("no answer")
  return check
}

describe("an answer", () => {
  it("takes nothing from a tranche of another ledger, another position, or whose time is over", () => {
    const limited = { ...holding, entitlements: claims.entitlements.map((each) => ({ ...each, limit: "30" })) as never }
    assert.isTrue(one(limited, "12").allowed)
    assert.isFalse(one(limited, "13").allowed)
    assert.isFalse(one(limited, "1", "2026-01-10T14:00:00Z").allowed)
    for (const elsewhere of [{ source: "x" }, { positions: [] }, { positions: [[4, "h5"]] as const }]) {
      assert.isFalse(one(limited, "1", AT, { ...local, ...elsewhere }).allowed)
    }
  })

  it("counts what was spent once, also after the time of its tranche", () => {
    assert.deepInclude(one(holding, "0"), { usage: "48", remaining: "52" })
    assert.deepInclude(one(holding, "0", "2026-01-10T14:00:00Z"), { usage: "48", remaining: "40" })
    assert.deepInclude(one(claims, "0"), { usage: "48", remaining: "32" })
  })

  it("leaves what is reserved for work that is under way", () => {
    const reserved = { exports: { [START]: "5" } }
    assert.deepInclude(one(holding, "0", AT, { ...local, reserved }), { usage: "48", remaining: "47" })
  })

  it("asks a tranche that is spent for nothing: usage above the limit is not within it", () => {
    const above = { ...claims, entitlements: claims.entitlements.map((each) => ({ ...each, limit: "30" })) as never }
    assert.deepInclude(one(above, "0", AT, null), { allowed: false, reason: "LIMIT_REACHED" })
  })

  it("denies amounts and instants that the service rejects", () => {
    for (const requested of ["-1", "x", "", "1e3", "1234567890123456789", "0.1234567890123456789"]) {
      assert.deepInclude(one(claims, requested), { allowed: false, reason: "INVALID_REQUEST" })
      const checks = [{ entitlement: "exports" }, { entitlement: "exports", requested }]
      assert.deepStrictEqual(Offline.cover(holding, checks, AT, local), {
        denied: "INVALID_REQUEST",
        entitlement: "exports",
      })
    }
    for (const at of ["soon", Number.NaN, "2026-01-10"]) {
      const answers = Offline.answer(claims, [{ entitlement: "sso" }], at)
      assert.deepInclude(answers, { at: null, graceEndsAt: null })
      assert.deepInclude(answers.checks[0], { allowed: false, reason: "INVALID_REQUEST" })
    }
  })

  it("allows nothing, and never throws, where anything is of another form", () => {
    const broken = [undefined, null, 7, "x", [], {}, Symbol("x"), () => 1]
    for (const value of broken) {
      const changes = Object.keys(claims).map((name) => ({ ...claims, [name]: value }))
      const ofLicense = ["start", "end"].map((name) => ({ ...claims, license: { ...claims.license, [name]: value } }))
      for (const each of [value, ...changes, ...ofLicense] as ReadonlyArray<Offline.Claims>) {
        for (const check of Offline.answer(each, [{ entitlement: "nowhere" }], AT, value as never).checks) {
          assert.isFalse(check.allowed)
        }
        Offline.answer(each, [{ entitlement: "sso" }, { entitlement: "exports" }], AT, value as never)
        Offline.cover(each, [{ entitlement: "exports" }], AT, value as never)
      }
      assert.isArray(Offline.answer(claims, value as never, AT).checks)
      assert.isNotNull(Offline.cover(claims, value as never, AT))
      for (const check of Offline.answer(claims, [value] as never, AT).checks) assert.isFalse(check.allowed)
      const entry = { slug: "exports", type: "NUMBER", limit: value, used: value, held: value, period: value }
      const odd = { ...claims, tranche: value, entitlements: [value, { ...entry, grants: value }] as never }
      assert.isFalse(one(odd as never, "1").allowed)
    }
    for (const license of [
      { ...claims.license, start: "x" },
      { ...claims.license, end: "x" },
    ]) {
      assert.isFalse(one({ ...claims, license }, "1").allowed)
    }
  })
})

describe("claims that answered before", () => {
  const grants = [
    { from: "2026-01-10T06:00:00.000Z", limit: "200", value: true },
    { from: "2026-01-11T06:00:00.000Z", limit: null, value: false },
  ]
  const dated: Offline.Claims = {
    ...holding,
    license: { ...claims.license, start: "2026-01-10T03:00:00.000Z", end: "2026-01-12T00:00:00.000Z" },
    entitlements: claims.entitlements.map((each, index) => (index % 2 === 1 ? { ...each, grants } : each)),
  }
  const changes = [
    dated.license.start,
    dated.license.end,
    ...grants.map(({ from }) => from),
    START,
    "2026-01-11T00:00:00.000Z",
    "2026-02-01T00:00:00.000Z",
    new Date(tranche.until * 1000).toISOString(),
  ].map((text) => Date.parse(String(text)))
  const locals: ReadonlyArray<Offline.LocalUsage | null> = [
    null,
    local,
    { ...local, positions: [] },
    { ...local, spent: { exports: { [START]: "9.5" } } },
    { ...local, reserved: { exports: { [START]: "1" } } },
  ]

  it("answer as if they were just read, at any instant and for any usage, in any order", () => {
    const { below, oneOf } = makeRandom(7)
    const checks = dated.entitlements.map(({ slug }) => ({ entitlement: slug, requested: "3" }))
    for (let run = 0; run < 500; run++) {
      const at = new Date(oneOf(changes) + below(3) - 1)
      const used = oneOf(locals)
      const fresh = structuredClone(dated)
      assert.deepStrictEqual(Offline.answer(dated, checks, at, used), Offline.answer(fresh, checks, at, used))
      assert.deepStrictEqual(
        Offline.cover(dated, checks.slice(1, 3), at, used),
        Offline.cover(structuredClone(dated), checks.slice(1, 3), at, used),
      )
    }
  })
})

describe("a consumption", () => {
  const cover = (checks: ReadonlyArray<Offline.Check>, changed: Offline.Claims = holding) =>
    Offline.cover(changed, checks, AT, local)

  it("spends nothing for switches, configurations and amounts of 0", () => {
    const checks = [{ entitlement: "sso" }, { entitlement: "support" }, { entitlement: "exports", requested: "0" }]
    assert.deepStrictEqual(cover(checks), { spends: [] })
  })

  it("asks only for what its tranche does not pay", () => {
    const checks = [
      { entitlement: "exports", requested: "12" },
      { entitlement: "jobs", requested: "7" },
      { entitlement: "jobs" },
    ]
    assert.deepStrictEqual(cover(checks), { refill: [{ entitlement: "jobs", period: START, need: "2" }] })
  })

  it("is denied where no refill can help, first of all where the request is wrong", () => {
    assert.deepStrictEqual(cover([{ entitlement: "exports" }, { entitlement: "audit" }]), {
      denied: "NOT_GRANTED",
      entitlement: "audit",
    })
    for (const entitlement of ["projects", "peak"]) {
      assert.deepStrictEqual(cover([{ entitlement: "audit" }, { entitlement }]), {
        denied: "INVALID_REQUEST",
        entitlement,
      })
    }
    assert.deepStrictEqual(Offline.cover(holding, [{ entitlement: "exports" }], claims.license.end ?? ""), {
      denied: "LICENSE_EXPIRED",
      entitlement: "exports",
    })
  })
})
