/** What reservations, tranches and the allowances of offline bundles hold of a period. Pure. */
import { BigDecimal, Schema } from "effect"
import { decimalOrZero, storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { DAY_MS, isBefore } from "../../../kernel/values/Timestamp.ts"
import type { Period } from "./Period.ts"

/** The maximum lifetime of a reservation: a day. What reads reservations relies on it. */
export const MAX_LIFETIME_SECONDS = DAY_MS / 1000

/** An allowance that is open, as PostgreSQL writes it in JSON. */
const OpenAllowance = Schema.Struct({
  /** When its bundle expires: it reserves something of each period that begins before. */
  validUntil: Schema.String,
  /** A decimal: units in each period. */
  quantity: Schema.String,
})
type OpenAllowance = typeof OpenAllowance.Type

/** What holds quantities of an entitlement, as `terms/HeldSql.ts` reads it. */
export const HeldParts = Schema.Struct({
  /** A decimal: what reservations hold; `null` without any. */
  held: Schema.NullOr(Schema.String),
  /** A decimal: what tranches hold of the period, where `held` is without them; `null` without any. */
  tranches: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** `null` without any. */
  allowances: Schema.NullOr(Schema.Array(OpenAllowance)),
  /** A decimal: what ledgers have brought of the period; `null` if nothing. Read only if there may be allowances. */
  broughtIn: Schema.NullOr(Schema.String),
})
export type HeldParts = typeof HeldParts.Type

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

/** What allowances hold of a period. */
export const allowedOf = (
  { allowances, broughtIn }: Pick<HeldParts, "allowances" | "broughtIn">,
  period: Pick<Period, "start"> | null,
): BigDecimal.BigDecimal =>
  allowances === null || period === null ? zero : heldByAllowances(allowances, decimalOrZero(broughtIn), period.start)

/** What is held of a period; without a period, what reservations hold. */
export const heldOf = (parts: HeldParts, period: Pick<Period, "start"> | null): BigDecimal.BigDecimal => {
  const reserved = BigDecimal.sum(decimalOrZero(parts.held), decimalOrZero(parts.tranches))
  return parts.allowances === null ? reserved : BigDecimal.sum(reserved, allowedOf(parts, period))
}
