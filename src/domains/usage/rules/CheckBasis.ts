/** What the answers of a check are decided on, from the rows that the database returned. Pure. */
import { BigDecimal } from "effect"
import type { Basis, PeriodCredits } from "./Decision.ts"
import type { Period } from "./Period.ts"
import { decimalOrZero, zero } from "../../../kernel/values/Decimal.ts"
import { creditsAt } from "./Burn.ts"
import { grantOf } from "./Grant.ts"
import type { ShownTerms } from "./Grant.ts"
import { heldOf } from "./Held.ts"
import { creditOf } from "./StoredCredit.ts"
import { periodOf } from "./Terms.ts"
import type { CheckedEntitlement, CheckedInstance, CheckRow } from "./Terms.ts"

/** The row with the total of this very period. A total of another period is not usage of this one. */
const totalOf = (period: Period | null, rows: ReadonlyArray<CheckedEntitlement>): CheckedEntitlement | undefined =>
  rows.find(({ periodStart }) => periodStart?.getTime() === period?.start.getTime())

/** What only an explanation shows of an entitlement. */
export type ExplainedEntitlement = ShownTerms &
  Pick<CheckedEntitlement, "resetPeriod" | "resetAnchor" | "configuration">

/** What credits have to do with a period; `undefined` without an active one where none has paid anything. */
const creditsOf = (
  row: Pick<CheckedEntitlement, "credits">,
  total: Pick<CheckedEntitlement, "burned"> | undefined,
  at: Date,
): PeriodCredits | undefined => {
  const active = row.credits === null || row.credits === undefined ? [] : creditsAt(row.credits.map(creditOf), at)
  const burned = decimalOrZero(total?.burned)
  return active.length === 0 && BigDecimal.isZero(burned) ? undefined : { burned, active }
}

/** The basis of one entitlement of a check. */
interface EntitlementBasis extends Basis {
  /** What only an explanation shows; absent for an unknown entitlement. */
  readonly explained?: ExplainedEntitlement
}

/** An instance, and the basis of each requested entitlement, in the order of the request. */
export interface CheckBasis {
  readonly instance: CheckedInstance
  readonly bases: ReadonlyArray<EntitlementBasis>
}

/** The basis of an entitlement that the organization does not have. */
export const unknownEntitlement: EntitlementBasis = {
  entitlement: null,
  grant: null,
  usage: zero,
  held: zero,
  period: null,
}

/** The basis of a check of these entitlements; `undefined` if there is no such instance. */
export const checkBasisOf = (
  rows: ReadonlyArray<CheckRow>,
  slugs: ReadonlyArray<string>,
  at: Date,
): CheckBasis | undefined => {
  const [instance] = rows
  if (instance === undefined) return undefined
  const known = Map.groupBy(
    rows.filter((row): row is CheckedInstance & CheckedEntitlement => row.entitlement !== null),
    ({ entitlement }) => entitlement,
  )
  const bases = slugs.map((slug): EntitlementBasis => {
    const totals = known.get(slug) ?? []
    const [row] = totals
    if (row === undefined) return unknownEntitlement
    const period = periodOf(row, instance, at)
    const total = totalOf(period, totals)
    return {
      entitlement: { slug, type: row.type },
      grant: grantOf(row, at),
      usage: decimalOrZero(total?.used),
      held: heldOf(
        {
          held: row.held,
          tranches: total?.tranches ?? null,
          allowances: row.allowances,
          broughtIn: total?.broughtIn ?? null,
        },
        period,
      ),
      period,
      credits: creditsOf(row, total, at),
      explained: row,
    }
  })
  return { instance, bases }
}
