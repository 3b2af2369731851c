/** A limit, and how far usage may exceed it. Pure. */
import { BigDecimal } from "effect"
import { hundred, hundredth, unlimited } from "../../../kernel/values/Decimal.ts"

/** What is granted of a `NUMBER`: up to `value` per period, and how far usage may exceed it. */
export interface Limit {
  readonly value: BigDecimal.BigDecimal
  readonly overagePercent: number
}

/** Whether the limit is `-1`, which means "no limit". */
export const isUnlimited = (limit: BigDecimal.BigDecimal): boolean => BigDecimal.equals(limit, unlimited)

/** Whether an amount is at most the limit. */
export const isWithinLimit = (amount: BigDecimal.BigDecimal, limit: BigDecimal.BigDecimal): boolean =>
  BigDecimal.isLessThanOrEqualTo(amount, limit)

/** The limit plus `overagePercent` of it, exactly. */
export const capOf = (limit: BigDecimal.BigDecimal, overagePercent: number): BigDecimal.BigDecimal =>
  BigDecimal.multiply(
    BigDecimal.multiply(limit, BigDecimal.sum(hundred, BigDecimal.fromNumberUnsafe(overagePercent))),
    hundredth,
  )

/** Whether an amount is at most {@link capOf} the limit. */
export const isWithinSoftLimit = (
  amount: BigDecimal.BigDecimal,
  limit: BigDecimal.BigDecimal,
  overagePercent: number,
): boolean => isWithinLimit(amount, capOf(limit, overagePercent))
