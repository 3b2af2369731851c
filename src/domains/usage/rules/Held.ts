/** What reservations and the allowances of offline bundles hold of a period. Pure. */
import { BigDecimal } from "effect"
import { decimalOrZero, storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { DAY_MS, isBefore } from "../../../kernel/values/Timestamp.ts"
import type { Period } from "./Period.ts"

/** The maximum lifetime of a reservation: a day. What reads reservations relies on it. */
export const MAX_LIFETIME_SECONDS = DAY_MS / 1000

/** An allowance that is open, as PostgreSQL writes it in JSON. */
interface OpenAllowance {
  /** When its bundle expires: it reserves something of each period that begins before. */
  readonly validUntil: string
  /** A decimal: units in each period. */
  readonly quantity: string
}

/** What holds quantities of an entitlement, as `terms/HeldSql.ts` reads it. */
export interface HeldParts {
  /** A decimal: what reservations hold; `null` without any. */
  readonly held: string | null
  /** `null` without any. */
  readonly allowances: ReadonlyArray<OpenAllowance> | null
  /** A decimal: what ledgers have brought of the period; `null` if nothing. Read only if there may be allowances. */
  readonly broughtIn: string | null
}

/**
 * What allowances hold of the period that starts then: the greatest of them, because a bundle takes over from the one before,
 * without what ledgers have brought of the period.
 */
const heldByAllowances = (
  allowances: ReadonlyArray<OpenAllowance>,
  broughtIn: BigDecimal.BigDecimal,
  start: Date,
): BigDecimal.BigDecimal => {
  let greatest = zero
  for (const { quantity, validUntil } of allowances) {
    if (isBefore(start, new Date(validUntil))) greatest = BigDecimal.max(greatest, storedDecimal(quantity))
  }
  return BigDecimal.max(zero, BigDecimal.subtract(greatest, broughtIn))
}

/** What is held of a period; without a period, what reservations hold. */
export const heldOf = ({ allowances, broughtIn, held }: HeldParts, period: Pick<Period, "start"> | null) =>
  allowances === null || period === null
    ? decimalOrZero(held)
    : BigDecimal.sum(decimalOrZero(held), heldByAllowances(allowances, decimalOrZero(broughtIn), period.start))
