/** Rules of reservations: their state at an instant, their periods, what can be reserved and committed. Pure. */
import { BigDecimal } from "effect"
import {
  amountOf,
  decimalOfAmount,
  decimalText,
  isStorable,
  one,
  parseDecimal,
  storedDecimal,
  zero,
} from "../../../kernel/values/Decimal.ts"
import type { Account } from "../ledger/Account.ts"
import { isConsumable, methodOf, periodFor } from "../ledger/Account.ts"
import { decide } from "../rules/Decision.ts"
import type { Decision } from "../rules/Decision.ts"
import type { Meter } from "../ledger/Model.ts"
import { refusalText } from "../rules/Refusals.ts"
import type { Period } from "../rules/Period.ts"
import { limitText } from "../ledger/Acceptance.ts"
import type { UsageValidationError } from "../ledger/Acceptance.ts"
import type { Reservation, ReservationState, StoredReservation } from "./Model.ts"
import { periodOf } from "../rules/Terms.ts"

const numberOf = (decimal: string): number => amountOf(storedDecimal(decimal))

/** The state at an instant. A `HELD` reservation is `EXPIRED` from `expiresAt` on. */
export const stateAt = (
  { expiresAt, state }: Pick<StoredReservation, "expiresAt" | "state">,
  at: Date,
): ReservationState => (state === "HELD" && expiresAt <= at ? "EXPIRED" : state)

/** The reservation with its state at an instant. */
export const reservationAt = (stored: StoredReservation, at: Date): Reservation => ({
  id: stored.id,
  instance: stored.instance,
  entitlement: stored.entitlement,
  quantity: numberOf(stored.quantity),
  state: stateAt(stored, at),
  expiresAt: stored.expiresAt,
  committedQuantity: stored.committedQuantity === null ? null : numberOf(stored.committedQuantity),
  metadata: stored.metadata,
  createdAt: stored.createdAt,
  createdBy: stored.createdBy,
})

/**
 * The periods of a meter that overlap the lifetime of a reservation. A commit counts in the period of its own instant,
 * so a reservation must fit into all of them.
 */
export const periodsTouched = (meter: Meter, from: Date, until: Date): ReadonlyArray<Period> => {
  const periods = [periodFor(meter, from)]
  for (let { end } = periods[0] ?? { end: null }; end !== null && end < until;) {
    const next = periodFor(meter, end)
    periods.push(next)
    end = next.end
  }
  return periods
}

/** Validates a quantity of this meter. */
const quantityValidationError = (meter: Meter, quantity: number | undefined): UsageValidationError | undefined => {
  if (quantity === undefined) return undefined
  const at = { location: "body.quantity", value: quantity }
  const decimal = parseDecimal(quantity)
  if (decimal === undefined || !isStorable(decimal)) return { ...at, message: "must have at most 18 digits" }
  return methodOf(meter) === "COUNT" && !BigDecimal.equals(decimal, one) && !BigDecimal.isZero(decimal)
    ? { ...at, message: "must be 1, because a COUNT counts single events" }
    : undefined
}

/** Validates a request to reserve, without what the license allows. */
export const reserveValidationError = (
  meter: Meter,
  quantity: number | undefined,
): UsageValidationError | undefined => {
  const at = { location: "path.entitlementSlug", value: meter.entitlement }
  if (meter.type !== "NUMBER")
    return { ...at, message: `must have the type NUMBER to be metered; its type is ${meter.type}` }
  if (!isConsumable(meter)) {
    return { ...at, message: `cannot be reserved, because its aggregation is ${methodOf(meter)}` }
  }
  return quantityValidationError(meter, quantity)
}

/** Validates a quantity to commit. */
export const commitValidationError = (
  meter: Meter,
  held: Pick<StoredReservation, "quantity">,
  quantity: number | undefined,
): UsageValidationError | undefined => {
  if (quantity === undefined) return undefined
  if (BigDecimal.isGreaterThan(decimalOfAmount(quantity), storedDecimal(held.quantity))) {
    return {
      location: "body.quantity",
      message: `must be at most the reserved quantity, ${held.quantity}`,
      value: quantity,
    }
  }
  return quantityValidationError(meter, quantity)
}

/** Decides on a quantity of a meter at an instant. Without an account, nothing is used yet. */
export const decideReservation = (
  meter: Meter,
  quantity: BigDecimal.BigDecimal,
  at: Date,
  account?: Pick<Account, "total" | "held">,
): Decision =>
  decide({
    entitlement: { slug: meter.entitlement, type: meter.type },
    grant: meter.grant,
    usage: account?.total.value ?? zero,
    held: account?.held ?? zero,
    requested: quantity,
    instance: meter,
    at,
    period: periodOf(meter, meter, at),
  })

/** The first account into which the quantity does not fit, on top of what is used and held. */
export const findFullAccount = (
  meter: Meter,
  quantity: BigDecimal.BigDecimal,
  at: Date,
  accounts: ReadonlyArray<Account>,
): Account | undefined => accounts.find((account) => !decideReservation(meter, quantity, at, account).allowed)

/** The detail of a rejected reservation. */
export const reserveRejectionText = (meter: Meter, { reason }: Decision, account?: Account): string => {
  const [used, held] = [account?.total.value ?? zero, account?.held ?? zero].map(decimalText)
  return (
    refusalText(meter, reason) ??
    `The limit of "${meter.entitlement}" of "${meter.instance}" is ${limitText(meter)}; ${used} is used in the period and ${held} is held by reservations.`
  )
}
