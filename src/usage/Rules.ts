/** From what the database knows to the answer of a check. Pure. */
import { BigDecimal, Option } from "effect"
import { decimalIn, decimalInText, storedDecimal } from "../kernel/ExactNumber.ts"
import { instantText } from "../kernel/Timestamp.ts"
import type { Grant } from "./Decision.ts"
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

const decimalOrZero = (text: string | null | undefined): BigDecimal.BigDecimal =>
  text === null || text === undefined ? zero : storedDecimal(text)

/** The total of this very period; a total of another period is no usage of this one. */
const usageIn = (period: Period | null, rows: ReadonlyArray<CheckedEntitlement>): BigDecimal.BigDecimal => {
  const total = rows.find(({ periodStart }) => periodStart?.getTime() === period?.start.getTime())
  return decimalOrZero(total?.used)
}

/** Answers every check, in the order asked, by {@link decide}. Where the license's facts were read, it explains. */
export const answerChecks = (
  instance: CheckedInstance,
  rows: ReadonlyArray<CheckRow>,
  checks: CheckRequest["checks"],
  at: Date,
): CheckResult => {
  const known = Map.groupBy(
    rows.filter((row): row is CheckedInstance & CheckedEntitlement => row.entitlement !== null),
    ({ entitlement }) => entitlement,
  )
  return {
    instance: instance.instance,
    license: instance.license,
    at,
    checks: checks.map(({ entitlement: slug, requested }) => {
      const totals = known.get(slug) ?? []
      const [row] = totals
      const period = row === undefined ? null : periodOf(row, instance, at)
      const subject = {
        entitlement: row === undefined ? null : { slug, type: row.type },
        grant: row === undefined ? null : grantOf(row),
        usage: usageIn(period, totals),
        held: decimalOrZero(row?.held),
        requested: requested === undefined ? undefined : decimalIn(requested),
        instance,
        at,
        period,
      }
      const decision = decide(subject)
      const { facts } = instance
      if (facts === undefined) return { ...decision, entitlement: slug }
      const explanation = explain({ subject, decision, instance, facts, entitlement: row, slug })
      return { ...decision, entitlement: slug, explanation }
    }),
  }
}

const textOrNull = (instant: Date | null): string | null => (instant === null ? null : instantText(instant))

/** The answer as JSON has it, in the order of its schema. Its members are named: looking for instants takes three times as long. */
export const checkAsJson = ({ at, checks, instance, license }: CheckResult) => ({
  instance,
  license,
  at: instantText(at),
  checks: checks.map((answer) => ({
    entitlement: answer.entitlement,
    allowed: answer.allowed,
    reason: answer.reason,
    limit: answer.limit,
    usage: answer.usage,
    remaining: answer.remaining,
    overage: answer.overage,
    currentPeriodStart: textOrNull(answer.currentPeriodStart),
    currentPeriodEnd: textOrNull(answer.currentPeriodEnd),
    explanation: answer.explanation,
  })),
})

/** How the instance stands with every entitlement of the rows. */
export const standings = (
  instance: CheckedInstance,
  rows: ReadonlyArray<CheckRow>,
  at: Date,
): ReadonlyArray<Standing> => {
  const known = new Map(rows.flatMap((row) => (row.entitlement === null ? [] : [[row.entitlement, row] as const])))
  const { checks } = answerChecks(
    instance,
    rows,
    Array.from(known.keys(), (entitlement) => ({ entitlement })),
    at,
  )
  return checks.flatMap((answer) => {
    const row = known.get(answer.entitlement)
    if (row === undefined) return []
    return [{ type: row.type, configuration: row.type === "CONFIG" ? (row.configuration ?? null) : null, answer }]
  })
}
