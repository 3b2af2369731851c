/** What the allowances of offline bundles reserve (design of offline use and audit, A5). Pure. */
import { BigDecimal } from "effect"
import { storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import type { Period } from "./Period.ts"

/** An allowance that is open, as PostgreSQL writes it in JSON. */
export interface OpenAllowance {
  /** When its bundle expires: it reserves something of each period that begins before. */
  readonly validUntil: string
  /** A decimal: units in each period. */
  readonly quantity: string
}

/**
 * What allowances hold of a period at an instant in it: the greatest of them, because a bundle takes over from the one before,
 * without what ledgers have brought of the period.
 */
export const heldByAllowances = (
  allowances: ReadonlyArray<OpenAllowance>,
  broughtIn: BigDecimal.BigDecimal,
  { start }: Period,
): BigDecimal.BigDecimal => {
  let greatest = zero
  for (const { quantity, validUntil } of allowances) {
    if (isBefore(start, new Date(validUntil))) greatest = BigDecimal.max(greatest, storedDecimal(quantity))
  }
  return BigDecimal.max(zero, BigDecimal.subtract(greatest, broughtIn))
}
