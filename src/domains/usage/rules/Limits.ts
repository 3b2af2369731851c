/**
 * The effects of a limit on usage: which reports are rejected, and which thresholds are crossed (docs/usage.md). Pure.
 */
import { BigDecimal } from "effect"
import { hundred, hundredth } from "../../../kernel/values/Decimal.ts"
import { capOf, isUnlimited, isWithinSoftLimit } from "./Cap.ts"
import type { Limit } from "./Cap.ts"
import type { Grant } from "./Decision.ts"

/** The limit that a grant sets; `null` if nothing, or no number, is granted. */
export const limitOf = (grant: Grant | null): Limit | null =>
  grant !== null && BigDecimal.isBigDecimal(grant.value)
    ? { value: grant.value, overagePercent: grant.overagePercent }
    : null

/** Which thresholds usage has crossed in this period, so that the event of each is emitted once. */
export interface Crossings {
  readonly warned: boolean
  readonly limitReached: boolean
  readonly capExceeded: boolean
}

const exceeds = (usage: BigDecimal.BigDecimal, limit: Limit): boolean =>
  !isUnlimited(limit.value) && !isWithinSoftLimit(usage, limit.value, limit.overagePercent)

/**
 * Why usage must not change from one value to another; `undefined` if it may. Usage may always fall. If it rises, it
 * must leave room for what reservations hold.
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

/**
 * Whether usage is at a percentage of the limit or above. Both sides are multiplied by 100, so that no division rounds.
 */
const reaches = (usage: BigDecimal.BigDecimal, limit: BigDecimal.BigDecimal, percent: number): boolean =>
  BigDecimal.isGreaterThanOrEqualTo(
    BigDecimal.multiply(usage, hundred),
    BigDecimal.multiply(limit, BigDecimal.fromNumberUnsafe(percent)),
  )

/** The crossings after usage changed from one value to another. A threshold that it fell below can be crossed again. */
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

/** The lowest usage at the warning, the lowest at the limit, and the highest within the overage. */
export interface Thresholds {
  readonly warning: BigDecimal.BigDecimal | null
  readonly limit: BigDecimal.BigDecimal
  readonly cap: BigDecimal.BigDecimal
}

/**
 * The thresholds of a limit; `null` if it is unlimited. Usage that rises and stays on the same side of each crosses
 * nothing and is not rejected. {@link crossingsAt} and {@link rejectionReason} have the same result.
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

/** The thresholds that were crossed between two states. */
export const newlyCrossed = (before: Crossings, after: Crossings): ReadonlyArray<keyof Crossings> =>
  (["warned", "limitReached", "capExceeded"] as const).filter((threshold) => after[threshold] && !before[threshold])
