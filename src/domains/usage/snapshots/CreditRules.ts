/**
 * Credits in the terms of a product that decides by itself: they are a part of the limit, from when on to when they pay. So a product needs
 * no rule of its own, and answers as a check does. Pure.
 */
import { BigDecimal } from "effect"
import { decimalText, hundred, zero } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { creditsAt, leftOf, limitWith } from "../rules/Burn.ts"
import type { Credit } from "../rules/Burn.ts"
import { capOf, isUnlimited } from "../rules/Cap.ts"
import type { Limit } from "../rules/Cap.ts"
import type { NumberTerms } from "./Model.ts"

type Amount = BigDecimal.BigDecimal

/** What is used and held of the limit in the present period, and when the period ends. */
export interface Taken {
  readonly amount: Amount
  readonly until: Date | null
}

const { isGreaterThan, isZero, max, multiply, subtract, sum } = BigDecimal

// More than the digits of an amount twice, so that no amount is between a cap and its rounded percentage.
const PERCENT_DIGITS = 40

/** The percentage of a limit by which a cap exceeds it, rounded up. */
const percentOf = (limit: Amount, cap: Amount): string => {
  const over = multiply(subtract(cap, limit), hundred)
  if (isZero(over)) return "0"
  return decimalText(BigDecimal.ceil(BigDecimal.divideUnsafe(over, limit), PERCENT_DIGITS))
}

/** Where more is taken than the limit has, credits still pay what they have, beside the rest of the overage. */
const termsWith = (limit: Limit, left: Amount, taken: Amount): NumberTerms => {
  const cap = capOf(limit.value, limit.overagePercent)
  if (isUnlimited(limit.value) || isZero(left)) {
    return {
      limit: decimalText(limit.value),
      overagePercent: decimalText(BigDecimal.fromNumberUnsafe(limit.overagePercent)),
    }
  }
  const value = sum(isGreaterThan(taken, limit.value) ? taken : limit.value, left)
  return { limit: decimalText(value), overagePercent: percentOf(value, max(value, sum(cap, left))) }
}

/** The terms of a limit beside credits, at an instant. */
export const termsBeside = (
  limit: Limit | null,
  credits: ReadonlyArray<Credit>,
  { amount, until }: Taken,
  at: Date,
): NumberTerms => {
  const active = creditsAt(credits, at)
  const granted = limitWith(limit, active)
  if (granted === null) return { limit: null }
  return termsWith(granted, leftOf(active), until === null || isBefore(at, until) ? amount : zero)
}

/** The instants at which the terms beside credits may change, in milliseconds. */
export const changesBeside = (credits: ReadonlyArray<Credit>, { until }: Taken): ReadonlyArray<number> =>
  [until, ...credits.flatMap(({ expiresAt, startsAt }) => [startsAt, expiresAt])].flatMap((instant) =>
    instant === null ? [] : [instant.getTime()],
  )
