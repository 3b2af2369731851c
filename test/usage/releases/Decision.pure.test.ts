import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { ReleaseFacts, RequiredTerms } from "../../../src/domains/usage/releases/Model.ts"
import { decideByFacts, decideRelease, explanationOf } from "../../../src/domains/usage/releases/Rules.ts"
import type { ReleaseSubject } from "../../../src/domains/usage/releases/Rules.ts"
import { releaseReasons } from "../../../src/domains/releases/Model.ts"

const utc = (text: string): Date => new Date(text)

const instance = {
  startLicenseDate: utc("2025-01-01T00:00:00Z"),
  endLicenseDate: utc("2026-01-01T00:00:00Z"),
  graceDays: 7,
  endMaintenanceDate: utc("2025-06-30T00:00:00Z"),
}
const release = { offered: true, releasedAt: utc("2025-06-01T00:00:00Z"), withdrawnAt: null }
const subject: ReleaseSubject = { release, instance, missing: [], at: utc("2025-09-01T00:00:00Z") }

/** Whether a rule applies to a subject, in the order of the product. Written again, so that the order is not what the code says. */
const rules: ReadonlyArray<readonly [reason: string, applies: (subject: ReleaseSubject) => boolean]> = [
  ["RELEASE_NOT_FOUND", (asked) => asked.release === null],
  ["NOT_OFFERED", (asked) => asked.release?.offered === false],
  ["WITHDRAWN", (asked) => asked.release?.withdrawnAt != null],
  ["LICENSE_NOT_STARTED", ({ at, instance: { startLicenseDate } }) => at < startLicenseDate],
  [
    "LICENSE_EXPIRED",
    ({ at, instance: { endLicenseDate, graceDays } }) =>
      endLicenseDate !== null && at.getTime() >= endLicenseDate.getTime() + graceDays * 86_400_000,
  ],
  ["NOT_GRANTED", ({ missing }) => missing.length > 0],
  [
    "AFTER_MAINTENANCE",
    (asked) =>
      asked.release !== null &&
      asked.instance.endMaintenanceDate !== null &&
      asked.release.releasedAt > asked.instance.endMaintenanceDate,
  ],
  ["IN_GRACE", ({ at, instance: { endLicenseDate } }) => endLicenseDate !== null && at >= endLicenseDate],
  ["GRANTED", () => true],
]

const day = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
const dateOf = (value: number) => new Date(value * 86_400_000)
const optionalDateOf = (value: number) => (value > 30 ? null : dateOf(value))
const anySubject = {
  hasRelease: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
  offered: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  withdrawn: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  missing: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  releasedAt: day,
  start: day,
  end: day,
  maintenance: day,
  graceDays: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 })),
  at: day,
}

describe("a decision on a release", () => {
  it.prop(
    "has the first reason that applies, and allows if and only if none before IN_GRACE does",
    anySubject,
    (drawn) => {
      const asked: ReleaseSubject = {
        release:
          drawn.hasRelease === 0
            ? null
            : {
                offered: drawn.offered > 0,
                releasedAt: dateOf(drawn.releasedAt),
                withdrawnAt: drawn.withdrawn === 0 ? dateOf(1) : null,
              },
        instance: {
          startLicenseDate: dateOf(drawn.start),
          endLicenseDate: optionalDateOf(drawn.end),
          graceDays: drawn.graceDays,
          endMaintenanceDate: optionalDateOf(drawn.maintenance),
        },
        missing: drawn.missing === 0 ? ["sso"] : [],
        at: dateOf(drawn.at),
      }
      const first = rules.findIndex(([, applies]) => applies(asked))
      const { allowed, reason } = decideRelease(asked)
      assert.strictEqual(reason, rules[first]?.[0])
      assert.strictEqual(allowed, first >= rules.findIndex(([name]) => name === "IN_GRACE"))
    },
    { arbitrary: { runs: 2000 } },
  )

  it("has the reasons of the product in this order", () => {
    assert.deepStrictEqual(
      [...releaseReasons],
      rules.map(([reason]) => reason),
    )
  })

  it("allows a release of the last instant of the maintenance, and none of the next millisecond", () => {
    const at = (releasedAt: Date) => decideRelease({ ...subject, release: { ...release, releasedAt } }).reason
    const end = instance.endMaintenanceDate
    assert.deepStrictEqual([at(end), at(new Date(end.getTime() + 1))], ["GRANTED", "AFTER_MAINTENANCE"])
  })

  it("allows releases without an end of maintenance however late, also of a license that never ends", () => {
    const perpetual = { ...instance, endLicenseDate: null }
    const late = { ...release, releasedAt: utc("2030-01-01T00:00:00Z") }
    const asked = { ...subject, at: utc("2031-01-01T00:00:00Z"), release: late }
    assert.strictEqual(
      decideRelease({ ...asked, instance: { ...perpetual, endMaintenanceDate: null } }).reason,
      "GRANTED",
    )
    assert.strictEqual(decideRelease({ ...asked, instance: perpetual }).reason, "AFTER_MAINTENANCE")
  })
})

const terms: RequiredTerms = {
  entitlement: "updates",
  type: "BOOLEAN",
  granted: "true",
  overagePercent: 0,
  addOns: null,
  override: null,
}
const facts: ReleaseFacts = {
  ...instance,
  instanceId: "1",
  instance: "globex-prod",
  releaseId: "2",
  release: "4-2-1",
  version: "4.2.1",
  description: null,
  ...release,
  withdrawnReason: null,
  required: [],
}
const { at } = subject
const required = (more: Partial<RequiredTerms>) => decideByFacts({ ...facts, required: [{ ...terms, ...more }] }, at)

describe("a required entitlement", () => {
  it("is granted by true, by a configuration, and by a limit other than 0", () => {
    const grants = (type: RequiredTerms["type"], granted: string | null) => required({ type, granted }).allowed
    assert.deepStrictEqual(
      [grants("BOOLEAN", "true"), grants("BOOLEAN", "false"), grants("BOOLEAN", null)],
      [true, false, false],
    )
    assert.deepStrictEqual([grants("CONFIG", "{}"), grants("CONFIG", null)], [true, false])
    assert.deepStrictEqual(
      ["0", "0.00", "1", "0.001", "-1"].map((limit) => grants("NUMBER", limit)),
      [false, false, true, true, true],
    )
  })

  it("names everything that is missing", () => {
    const decided = decideByFacts(
      {
        ...facts,
        required: [
          { ...terms, entitlement: "a", granted: null },
          terms,
          { ...terms, entitlement: "z", granted: "false" },
        ],
      },
      at,
    )
    assert.deepStrictEqual([decided.reason, decided.missing], ["NOT_GRANTED", ["a", "z"]])
    assert.strictEqual(explanationOf(decided), "4.2.1 requires a, z, which the license of globex-prod does not grant.")
  })
})

describe("the explanation of a decision", () => {
  const explained = (more: Partial<ReleaseFacts>, when = at) =>
    explanationOf(decideByFacts({ ...facts, ...more }, when))

  it("is one sentence with the names and dates that decided", () => {
    assert.strictEqual(explained({}), "globex-prod may have 4.2.1.")
    assert.strictEqual(explained({ offered: false }), "4.2.1 is not offered to customers.")
    assert.strictEqual(
      explained({ withdrawnAt: utc("2025-07-01T10:00:00Z"), withdrawnReason: "Data loss on update." }),
      "4.2.1 was withdrawn on 2025-07-01: Data loss on update.",
    )
    assert.strictEqual(explained({ withdrawnAt: utc("2025-07-01T10:00:00Z") }), "4.2.1 was withdrawn on 2025-07-01.")
    assert.strictEqual(explained({}, utc("2024-12-31T00:00:00Z")), "The license of globex-prod starts on 2025-01-01.")
    assert.strictEqual(explained({}, utc("2026-02-01T00:00:00Z")), "The license of globex-prod ended on 2026-01-01.")
    assert.strictEqual(
      explained({ releasedAt: utc("2025-07-15T00:00:00Z") }),
      "4.2.1 was released on 2025-07-15. The maintenance of globex-prod ended on 2025-06-30.",
    )
    assert.strictEqual(
      explained({}, utc("2026-01-03T00:00:00Z")),
      "The license of globex-prod ended on 2026-01-01. 4.2.1 is allowed until its grace period ends.",
    )
  })
})
