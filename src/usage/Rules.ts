/** From what the database knows to the answer of a check. Pure. */
import { BigDecimal, Option } from "effect"
import { decimalIn, decimalInText, storedDecimal } from "../kernel/ExactNumber.ts"
import { instantText } from "../kernel/Timestamp.ts"
import type { Basis, Grant } from "./Decision.ts"
import { decide } from "./Decision.ts"
import { explain } from "./Explanation.ts"
import type { CheckedEntitlement, CheckedInstance, CheckRequest, CheckResult, CheckRow, Standing } from "./Model.ts"
import type { Period } from "./Period.ts"
import { periodAt } from "./Period.ts"

const zero = BigDecimal.fromBigInt(0n)

const grantValue = (text: string): Option.Option<Grant["value"]> => {
  if (text === "true" || text === "false") return Option.some(text === "true")
  return text === "{}" ? Option.some({}) : decimalInText(text)
}

/** What is granted. A value that no license can hold grants nothing: what nothing allows is refused. */
export const grantOf = ({
  granted,
  overagePercent,
}: Pick<CheckedEntitlement, "granted" | "overagePercent">): Grant | null =>
  granted === null
    ? null
    : Option.match(grantValue(granted), {
        onNone: () => null,
        onSome: (value) => ({ value, overagePercent: overagePercent ?? 0 }),
      })

type Resetting = Pick<CheckedEntitlement, "type" | "resetPeriod" | "resetAnchor">

/** The usage period of an instant; none where usage is not measured. */
export const periodOf = (
  row: Resetting,
  { startLicenseDate }: Pick<CheckedInstance, "startLicenseDate">,
  at: Date,
): Period | null =>
  row.type === "NUMBER"
    ? periodAt({
        resetPeriod: row.resetPeriod,
        resetAnchor: row.resetAnchor ?? "CALENDAR",
        licenseStart: startLicenseDate,
        at,
      })
    : null

/** A decimal that was read, or zero where there is none. */
export const decimalOrZero = (text: string | null | undefined): BigDecimal.BigDecimal =>
  text === null || text === undefined ? zero : storedDecimal(text)

/** The total of this very period; a total of another period is no usage of this one. */
const usageIn = (period: Period | null, rows: ReadonlyArray<CheckedEntitlement>): BigDecimal.BigDecimal => {
  const total = rows.find(({ periodStart }) => periodStart?.getTime() === period?.start.getTime())
  return decimalOrZero(total?.used)
}

/** How an instance stands with an entitlement that was asked for. */
export interface CheckedBasis extends Basis {
  /** What an explanation tells besides; nothing for an unknown entitlement. */
  readonly told?: Pick<CheckedEntitlement, "resetPeriod" | "resetAnchor" | "configuration">
}

/** An instance, and how it stands with each entitlement that was asked for, in their order. */
export interface Found {
  readonly instance: CheckedInstance
  readonly bases: ReadonlyArray<CheckedBasis>
}

const unknownEntitlement: CheckedBasis = { entitlement: null, grant: null, usage: zero, held: zero, period: null }

/** What the database told of an instance and these entitlements; nothing if there is no such instance. */
export const foundIn = (rows: ReadonlyArray<CheckRow>, slugs: ReadonlyArray<string>, at: Date): Found | undefined => {
  const [instance] = rows
  if (instance === undefined) return undefined
  const known = Map.groupBy(
    rows.filter((row): row is CheckedInstance & CheckedEntitlement => row.entitlement !== null),
    ({ entitlement }) => entitlement,
  )
  const bases = slugs.map((slug): CheckedBasis => {
    const totals = known.get(slug) ?? []
    const [row] = totals
    if (row === undefined) return unknownEntitlement
    const period = periodOf(row, instance, at)
    return {
      entitlement: { slug, type: row.type },
      grant: grantOf(row),
      usage: usageIn(period, totals),
      held: decimalOrZero(row.held),
      period,
      told: row,
    }
  })
  return { instance, bases }
}

/** Answers every check, in the order asked, by {@link decide}. Where the license's facts were read, it explains. */
export const answerChecks = ({ bases, instance }: Found, checks: CheckRequest["checks"], at: Date): CheckResult => ({
  instance: instance.instance,
  license: instance.license,
  at,
  checks: checks.map(({ entitlement: slug, requested }, place) => {
    const { entitlement, grant, held, period, told, usage } = bases[place] ?? unknownEntitlement
    const amount = requested === undefined ? undefined : decimalIn(requested)
    const subject = { entitlement, grant, usage, held, period, requested: amount, instance, at }
    const decision = decide(subject)
    const { facts } = instance
    if (facts === undefined) return { ...decision, entitlement: slug }
    return {
      ...decision,
      entitlement: slug,
      explanation: explain({ subject, decision, instance, facts, entitlement: told, slug }),
    }
  }),
})

// Most entitlements of a check have one period.
const textsOrNull = () => {
  let last: Date | null = null
  let text: string | null = null
  return (instant: Date | null): string | null => {
    if (instant !== last) text = instant === null ? null : instantText(instant)
    last = instant
    return text
  }
}

/** The answer as JSON has it, in the order of its schema. Its members are named: looking for instants takes three times as long. */
export const checkAsJson = ({ at, checks, instance, license }: CheckResult) => {
  const startText = textsOrNull()
  const endText = textsOrNull()
  const written = checks.map((answer) => ({
    entitlement: answer.entitlement,
    allowed: answer.allowed,
    reason: answer.reason,
    limit: answer.limit,
    usage: answer.usage,
    remaining: answer.remaining,
    overage: answer.overage,
    currentPeriodStart: startText(answer.currentPeriodStart),
    currentPeriodEnd: endText(answer.currentPeriodEnd),
    explanation: answer.explanation,
  }))
  return { instance, license, at: instantText(at), checks: written }
}

/** How the instance stands with every entitlement of the rows. */
export const standings = (rows: ReadonlyArray<CheckRow>, at: Date): ReadonlyArray<Standing> => {
  const known = new Map(rows.flatMap((row) => (row.entitlement === null ? [] : [[row.entitlement, row] as const])))
  const slugs = Array.from(known.keys())
  const found = foundIn(rows, slugs, at)
  if (found === undefined) return []
  const { checks } = answerChecks(
    found,
    slugs.map((entitlement) => ({ entitlement })),
    at,
  )
  return checks.flatMap((answer) => {
    const row = known.get(answer.entitlement)
    if (row === undefined) return []
    return [{ type: row.type, configuration: row.type === "CONFIG" ? (row.configuration ?? null) : null, answer }]
  })
}
