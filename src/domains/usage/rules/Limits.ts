/** What a limit does to usage: when a report is refused, and which thresholds it crosses (docs/usage.md). Pure. */
import { BigDecimal } from "effect"
import { hundred, hundredth } from "../../../kernel/values/Decimal.ts"
import { capOf, isUnlimited, isWithinSoftLimit } from "./Decision.ts"
import type { Grant } from "./Decision.ts"

/** What a license grants of a `NUMBER`: up to `value` per period, and how far that may be passed. */
export interface Limit {
  readonly value: BigDecimal.BigDecimal
  readonly overagePercent: number
}

/** The limit that a grant sets; none if nothing, or no number, is granted. */
export const limitOf = (grant: Grant | null): Limit | null =>
  grant !== null && BigDecimal.isBigDecimal(grant.value)
    ? { value: grant.value, overagePercent: grant.overagePercent }
    : null

/** Which thresholds usage has passed in this period, so that each is told once. */
export interface Crossings {
  readonly warned: boolean
  readonly limitReached: boolean
  readonly capExceeded: boolean
}

const exceeds = (usage: BigDecimal.BigDecimal, limit: Limit): boolean =>
  !isUnlimited(limit.value) && !isWithinSoftLimit(usage, limit.value, limit.overagePercent)

/**
 * Why usage may not go from one figure to the other, if it may not. What lowers usage is always allowed; what raises it
 * leaves room for what is held.
 */
export const rejectionReason = (
  limit: Limit | null,
  before: BigDecimal.BigDecimal,
  after: BigDecimal.BigDecimal,
  held: BigDecimal.BigDecimal,
): "not-granted" | "cap" | undefined => {
  if (BigDecimal.isLessThan(after, before)) return undefined
  if (limit === null) return "not-granted"
  return BigDecimal.isGreaterThan(after, before) && exceeds(BigDecimal.sum(after, held), limit) ? "cap" : undefined
}

/** Compared in hundredths, so that no division rounds. */
const reaches = (usage: BigDecimal.BigDecimal, limit: BigDecimal.BigDecimal, percent: number): boolean =>
  BigDecimal.isGreaterThanOrEqualTo(
    BigDecimal.multiply(usage, hundred),
    BigDecimal.multiply(limit, BigDecimal.fromNumberUnsafe(percent)),
  )

/** The crossings after usage went from one figure to another. What it fell below can be crossed again. */
export const crossingsAt = (
  limit: Limit | null,
  warningThresholdPercent: number | null,
  crossed: Crossings,
  before: BigDecimal.BigDecimal,
  after: BigDecimal.BigDecimal,
): Crossings => {
  if (limit === null || isUnlimited(limit.value)) return { warned: false, limitReached: false, capExceeded: false }
  const fell = BigDecimal.isLessThan(after, before)
  return {
    warned: warningThresholdPercent !== null && reaches(after, limit.value, warningThresholdPercent),
    limitReached: reaches(after, limit.value, 100),
    capExceeded: crossed.capExceeded && !(fell && !exceeds(after, limit)),
  }
}

/** The least usages that are at a warning and at a limit, and the most that its overage tolerates. */
export interface Thresholds {
  readonly warning: BigDecimal.BigDecimal | null
  readonly limit: BigDecimal.BigDecimal
  readonly cap: BigDecimal.BigDecimal
}

/**
 * Where a limit's thresholds lie; none if it is unlimited. Usage that rises and stays on its side of each of them crosses
 * nothing and is refused by nothing, which is what {@link crossingsAt} and {@link rejectionReason} come to.
 */
export const thresholdsOf = (limit: Limit, warningThresholdPercent: number | null): Thresholds | null =>
  isUnlimited(limit.value)
    ? null
    : {
        warning:
          warningThresholdPercent === null
            ? null
            : BigDecimal.multiply(
                BigDecimal.multiply(limit.value, BigDecimal.fromNumberUnsafe(warningThresholdPercent)),
                hundredth,
              ),
        limit: limit.value,
        cap: capOf(limit.value, limit.overagePercent),
      }

/** The thresholds that were passed between two states. */
export const newlyCrossed = (before: Crossings, after: Crossings): ReadonlyArray<keyof Crossings> =>
  (["warned", "limitReached", "capExceeded"] as const).filter((threshold) => after[threshold] && !before[threshold])
