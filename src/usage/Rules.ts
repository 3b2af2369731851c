/** From what the database knows to what the answer of a check rests on. Pure. */
import { BigDecimal, Option } from "effect"
import { decimalInText, storedDecimal } from "../kernel/ExactNumber.ts"
import type { Basis, Grant } from "./Decision.ts"
import type { CheckedEntitlement, CheckedInstance, CheckResult, CheckRow } from "./Model.ts"
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

/** Answers that are given again as long as the same is found. */
export interface GivenAnswers {
  /** What was requested of each entitlement. */
  readonly requested: ReadonlyArray<number | undefined>
  readonly checks: CheckResult["checks"]
  /** Their JSON, once they were written. */
  text?: string
}

/** An instance, and how it stands with each entitlement that was asked for, in their order. */
export interface Found {
  readonly instance: CheckedInstance
  readonly bases: ReadonlyArray<CheckedBasis>
  /** What was answered from it last: it is found again by whoever is told the same. */
  given?: GivenAnswers
}

/** What stands for an entitlement that the organization does not have. */
export const unknownEntitlement: CheckedBasis = {
  entitlement: null,
  grant: null,
  usage: zero,
  held: zero,
  period: null,
}

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
