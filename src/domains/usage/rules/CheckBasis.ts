/** From what the database knows to what the answer of a check rests on. Pure. */
import type { BigDecimal } from "effect"
import type { GivenAnswers } from "../check/hotpath/AnswerCache.ts"
import type { Basis } from "./Decision.ts"
import type { Period } from "./Period.ts"
import { decimalOrZero, grantOf, periodOf, zero } from "./Terms.ts"
import type { CheckedEntitlement, CheckedInstance, CheckRow } from "./Terms.ts"

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
