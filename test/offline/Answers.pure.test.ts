/** Answers by a snapshot of random terms are those of the service. */
import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Option } from "effect"
import type { GrantingAddOn } from "../../src/domains/instances/addons/Model.ts"
import type { AppliedOverride } from "../../src/domains/instances/overrides/Model.ts"
import type { Combine } from "../../src/domains/licenses/Model.ts"
import { grantAt } from "../../src/domains/usage/rules/Grant.ts"
import { accessEndOf, decide, graceEndAt } from "../../src/domains/usage/rules/Decision.ts"
import type { Decision, Grant, Term } from "../../src/domains/usage/rules/Decision.ts"
import { periodAt } from "../../src/domains/usage/rules/Period.ts"
import { periodStarts, standingOver } from "../../src/domains/usage/snapshots/Rules.ts"
import type { SnapshotRow } from "../../src/domains/usage/snapshots/Rules.ts"
import { decimalOfAmount, decimalText, zero } from "../../src/kernel/values/Decimal.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { answer } from "../../src/offline/index.ts"
import type { Claims } from "../../src/offline/index.ts"
import { makeRandom } from "./random.ts"
import type { Random } from "./random.ts"
import { claims } from "./signer.ts"

/** A nightly run has a million. */
const RUNS = Number(process.env["TEST_ANSWERS"] ?? 10_000)

const ISSUED = Date.parse("2026-01-10T12:34:56.789Z")
const LIFE_MS = 90 * DAY_MS

const big = (text: string) => Option.getOrThrow(BigDecimal.fromString(text))

const AMOUNTS = [
  "0",
  "1",
  "2",
  "3",
  "5",
  "10",
  "0.1",
  "0.2",
  "0.3",
  "123456789012345678",
  "0.000000000000000001",
  "10.5",
]

/** An instant near one at which something changes, or anywhere in the life. */
const instantNear = ({ below, isOnceIn, oneOf }: Random, changes: ReadonlyArray<number>): Date => {
  const anywhere = ISSUED + below(LIFE_MS)
  if (changes.length === 0 || isOnceIn(3)) return new Date(anywhere)
  return new Date(Math.min(Math.max(oneOf(changes) + below(3) - 1, ISSUED), ISSUED + LIFE_MS - 1))
}

const valueOf = (random: Random, type: "NUMBER" | "BOOLEAN" | "CONFIG") => {
  if (type === "NUMBER") return random.isOnceIn(6) ? "-1" : random.oneOf(AMOUNTS)
  return type === "BOOLEAN" ? !random.isOnceIn(3) : { level: random.oneOf(["gold", "silver"]) }
}

const grantValue = (value: ReturnType<typeof valueOf>): Grant["value"] =>
  typeof value === "string" ? big(value) : value

const textOfValue = (value: Grant["value"]): string =>
  BigDecimal.isBigDecimal(value) ? decimalText(value) : JSON.stringify(value)

const percentOf = ({ oneOf }: Random) => oneOf([0, 0, 10, 33.5, 1000])

const overrideOf = (random: Random, type: "NUMBER" | "BOOLEAN" | "CONFIG"): AppliedOverride | null => {
  if (random.isOnceIn(3)) return null
  const startsAt = ISSUED + random.below(LIFE_MS) - LIFE_MS / 3
  const value = valueOf(random, type)
  const mode = type === "NUMBER" && value !== "-1" && random.isOnceIn(2) ? "ADD" : "SET"
  return {
    mode,
    value,
    overagePercent: random.isOnceIn(2) ? percentOf(random) : null,
    startsAt: new Date(startsAt).toISOString(),
    endsAt: random.isOnceIn(3) ? null : new Date(startsAt + 1 + random.below(LIFE_MS / 2)).toISOString(),
    reason: null,
    by: { kind: "USER", id: "0198c2b0-0000-7000-8000-000000000001", name: "x" } as never,
    at: new Date(ISSUED).toISOString(),
  }
}

const addOnOf = (random: Random, type: "NUMBER" | "BOOLEAN" | "CONFIG", index: number): GrantingAddOn => {
  const startsAt = ISSUED + random.below(LIFE_MS) - LIFE_MS / 3
  const combines = { NUMBER: ["ADD", "MAX", "SET"], BOOLEAN: ["MAX", "SET"], CONFIG: ["SET"] } as const
  return {
    id: String(index),
    license: "extra",
    licenseId: "extra",
    quantity: 1 + random.below(3),
    combine: random.oneOf<Combine>(combines[type]),
    value: valueOf(random, type),
    overagePercent: type === "NUMBER" && random.isOnceIn(2) ? percentOf(random) : null,
    startsAt: new Date(startsAt).toISOString(),
    endsAt: random.isOnceIn(3) ? null : new Date(startsAt + 1 + random.below(LIFE_MS / 2)).toISOString(),
    reason: null,
    by: { id: "", name: "" },
    at: new Date(ISSUED).toISOString(),
  }
}

const addOnsOf = (random: Random, type: "NUMBER" | "BOOLEAN" | "CONFIG"): ReadonlyArray<GrantingAddOn> | null =>
  random.isOnceIn(2) ? null : Array.from({ length: random.below(4) }, (_, index) => addOnOf(random, type, index))

const textOf = (figure: number | null) => (figure === null ? null : decimalText(decimalOfAmount(figure)))

/** A decision of the service as `answer` writes it. */
const written = (entitlement: string, decision: Decision) => ({
  entitlement,
  allowed: decision.allowed,
  reason: decision.reason,
  limit: textOf(decision.limit),
  usage: textOf(decision.usage),
  remaining: textOf(decision.remaining),
  overage: textOf(decision.overage),
  currentPeriodStart: decision.currentPeriodStart?.toISOString() ?? null,
  currentPeriodEnd: decision.currentPeriodEnd?.toISOString() ?? null,
})

/** Random terms: what the service knows of an entitlement when a snapshot is issued. */
const termsOf = (random: Random) => {
  const type = random.oneOf(["NUMBER", "NUMBER", "NUMBER", "BOOLEAN", "CONFIG"] as const)
  const term: Term = {
    startLicenseDate: new Date(ISSUED - random.below(400 * DAY_MS) + (random.isOnceIn(4) ? LIFE_MS / 2 : 0)),
    endLicenseDate: random.isOnceIn(3) ? null : new Date(ISSUED - DAY_MS + random.below(LIFE_MS)),
    graceDays: random.oneOf([0, 0, 1, 14]),
  }
  const value = valueOf(random, type)
  const licensed: Grant | null = random.isOnceIn(4)
    ? null
    : { value: grantValue(value), overagePercent: type === "NUMBER" ? percentOf(random) : 0 }
  return {
    type,
    term,
    licensed,
    addOns: addOnsOf(random, type),
    override: overrideOf(random, type),
    resetPeriod: random.oneOf([null, "HOUR", "DAY", "WEEK", "MONTH", "YEAR"] as const),
    resetAnchor: random.oneOf(["CALENDAR", "LICENSE_START"] as const),
    usage: big(random.oneOf(AMOUNTS)),
    held: random.isOnceIn(2) ? zero : big(random.oneOf(AMOUNTS)),
  }
}
type RandomTerms = ReturnType<typeof termsOf>

const changesOf = ({ addOns, override, term }: RandomTerms): ReadonlyArray<number> =>
  [
    override?.startsAt,
    override?.endsAt,
    ...(addOns ?? []).flatMap(({ endsAt, startsAt }) => [startsAt, endsAt]),
    term.startLicenseDate,
    term.endLicenseDate,
    accessEndOf(term),
  ].flatMap((at) => (at === null || at === undefined ? [] : [new Date(at).getTime()]))

/** What the service reads of the entitlement. */
const rowOf = ({ addOns, licensed, override, resetAnchor, resetPeriod, type }: RandomTerms): SnapshotRow => ({
  entitlement: "e",
  type,
  resetPeriod,
  resetAnchor,
  granted: licensed === null ? null : type === "CONFIG" ? "{}" : textOfValue(licensed.value),
  overagePercent: licensed?.overagePercent ?? null,
  configuration: type === "CONFIG" && licensed !== null ? (licensed.value as Record<string, unknown>) : null,
  addOns,
  override,
  periodStart: null,
  used: null,
  held: null,
  allowances: null,
  broughtIn: null,
  aggregationMethod: type === "NUMBER" ? "SUM" : null,
})

/** The snapshot of the terms. */
const snapshotOf = (terms: RandomTerms): Claims => {
  const { held, resetAnchor, resetPeriod, term, usage } = terms
  const from = new Date(ISSUED)
  const life = { from, until: new Date(ISSUED + LIFE_MS) }
  const { start } = periodAt({ resetPeriod, resetAnchor, licenseStart: term.startLicenseDate, at: from })
  const entry = standingOver(rowOf(terms), { amount: BigDecimal.sum(usage, held), held, from: start }, life)
  const starts = periodStarts({ resetPeriod, resetAnchor }, term.startLicenseDate, life)
  return {
    ...claims,
    license: {
      ...claims.license,
      start: term.startLicenseDate.toISOString(),
      termEnd: term.endLicenseDate?.toISOString() ?? null,
      end: accessEndOf(term)?.toISOString() ?? null,
    },
    complete: true,
    entitlements: entry === null ? [] : [entry],
    periods: entry?.type === "NUMBER" ? { [entry.period]: starts } : {},
  }
}

/** What the service decides at an instant. Usage and holds are those of the period of the issue. */
const decidedBy = (terms: RandomTerms, at: Date, requested: string) => {
  const { addOns, licensed, override, resetAnchor, resetPeriod, term, type } = terms
  const licenseStart = term.startLicenseDate
  const periodOf = (instant: Date) => periodAt({ resetPeriod, resetAnchor, licenseStart, at: instant })
  const period = type === "NUMBER" ? periodOf(at) : null
  const isOther = period === null || period.start.getTime() !== periodOf(new Date(ISSUED)).start.getTime()
  return decide({
    entitlement: { slug: "e", type },
    grant: grantAt(licensed, { addOns, override }, at),
    usage: isOther ? zero : terms.usage,
    held: isOther ? zero : terms.held,
    period,
    requested: big(requested),
    instance: term,
    at,
  })
}

describe("an answer by a snapshot without a tranche", () => {
  it(`is the answer of the service, to the last digit, for ${RUNS} random terms and instants of their life`, () => {
    const random = makeRandom(20_261_127)
    const reasons = new Map<string, number>()
    for (let run = 0; run < RUNS; run++) {
      const terms = termsOf(random)
      const at = instantNear(random, changesOf(terms))
      const requested = random.oneOf(AMOUNTS)
      // A lifetime period begins with the license: before it there is none, and the license has not started.
      if (terms.resetPeriod === null && at < terms.term.startLicenseDate) continue
      const decision = decidedBy(terms, at, requested)
      const answers = answer(snapshotOf(terms), [{ entitlement: "e", requested }], at)
      const told = `run ${run} at ${at.toISOString()}: ${JSON.stringify(terms)}`
      assert.deepStrictEqual<unknown>(answers.checks, [written("e", decision)], told)
      assert.strictEqual(answers.graceEndsAt, graceEndAt(terms.term, at)?.toISOString() ?? null, told)
      reasons.set(decision.reason, (reasons.get(decision.reason) ?? 0) + 1)
    }
    const all = [
      "GRANTED",
      "IN_GRACE",
      "LICENSE_EXPIRED",
      "LICENSE_NOT_STARTED",
      "LIMIT_REACHED",
      "NOT_GRANTED",
      "SOFT_LIMIT",
      "UNLIMITED",
    ]
    assert.deepStrictEqual([...reasons.keys()].toSorted(), all)
    for (const [reason, count] of reasons) assert.isAbove(count, RUNS / 500, reason)
  })
})
