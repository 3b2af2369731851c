/** Rules of leases. Pure. */
import { BigDecimal } from "effect"
import { one, zero } from "../../../kernel/values/Decimal.ts"
import { DAY_MS } from "../../../kernel/values/Timestamp.ts"
import { limitText } from "../ledger/Acceptance.ts"
import type { UsageValidationError } from "../ledger/Acceptance.ts"
import { isConcurrent, limitFor } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import { capOf, isUnlimited } from "../rules/Cap.ts"
import { decide } from "../rules/Decision.ts"
import type { Decision } from "../rules/Decision.ts"
import { refusalText } from "../rules/Refusals.ts"
import { periodOf } from "../rules/Terms.ts"

/** Validates that the meter has seats. */
export const leaseValidationError = (meter: Omit<Meter, "grant">): UsageValidationError | undefined =>
  isConcurrent(meter)
    ? undefined
    : {
        location: "path.entitlementSlug",
        message: `must have the aggregation CONCURRENT; ${meter.aggregationMethod === null ? `its type is ${meter.type}` : `its aggregation is ${meter.aggregationMethod}`}`,
        value: meter.entitlement,
      }

/**
 * Decides on a seat. `others` is how many leases have precedence: for a new lease all live ones, for a renewal those that were
 * acquired before it. So if the limit falls, the latest leases lose their seats.
 */
export const decideSeat = (meter: Meter, others: number, at: Date): Decision =>
  decide({
    entitlement: { slug: meter.entitlement, type: meter.type },
    grant: meter.grant,
    usage: BigDecimal.fromNumberUnsafe(others),
    held: zero,
    requested: one,
    instance: meter,
    at,
    period: periodOf(meter, meter, at),
  })

/** How many may hold a seat at one time. `Infinity` if unlimited; 0 if nothing is granted. */
export const seatsOf = (meter: Meter): number => {
  const limit = limitFor(meter)
  if (limit === null) return 0
  if (isUnlimited(limit.value)) return Number.POSITIVE_INFINITY
  return Math.floor(BigDecimal.toNumberUnsafe(capOf(limit.value, limit.overagePercent)))
}

/** The end of the UTC day of an instant. A lease that ended is deleted after it. */
export const endOfDay = (instant: Date): Date => new Date(Math.ceil(instant.getTime() / DAY_MS) * DAY_MS)

/** The detail of a rejected lease. */
export const leaseRefusalText = (meter: Meter, { reason }: Decision, held: number): string =>
  refusalText(meter, reason) ??
  `The limit of "${meter.entitlement}" of "${meter.instance}" is ${limitText(meter)}; ${held} hold one.`
