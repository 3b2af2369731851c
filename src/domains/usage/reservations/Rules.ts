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
import { isConsumable, limitFor, methodOf, periodFor } from "../ledger/Account.ts"
import { activeCredits, noCredits, periodCredits } from "../ledger/burning/MeterCredits.ts"
import type { SetAside } from "../ledger/burning/Settlement.ts"
import { pay } from "../rules/Burn.ts"
import type { Payment } from "../rules/Burn.ts"
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
  account?: Pick<Account, "total" | "held" | "burned" | "credits">,
): Decision =>
  decide({
    entitlement: { slug: meter.entitlement, type: meter.type },
    grant: meter.grant,
    usage: account?.total.value ?? zero,
    held: account?.held ?? zero,
    credits: account && periodCredits(account.credits, account.burned, at),
    requested: quantity,
    instance: meter,
    at,
    period: periodOf(meter, meter, at),
  })

/** The first account into which the quantity does not fit, on top of what is used and held, without credits. */
export const findFullAccount = (
  meter: Meter,
  quantity: BigDecimal.BigDecimal,
  at: Date,
  accounts: ReadonlyArray<Account>,
): Account | undefined =>
  accounts.find((account) => !decideReservation(meter, quantity, at, { ...account, credits: noCredits }).allowed)

/** What a reservation sets aside of credits, or the first account into which it does not fit. */
type Placement = { readonly setAside: ReadonlyArray<Payment> } | { readonly full: Account }

/**
 * Places a reservation in the accounts of the periods that it touches, the present one first. Credits pay only in that one: later periods
 * must have room for the rest.
 */
export const placeReservation = (
  meter: Meter,
  quantity: BigDecimal.BigDecimal,
  at: Date,
  [current, ...later]: readonly [Account, ...Array<Account>],
): Placement => {
  if (!decideReservation(meter, quantity, at, current).allowed) return { full: current }
  const standing = { limit: limitFor(meter), usage: current.total.value, burned: current.burned, held: current.held }
  const setAside = pay(standing, quantity, activeCredits(current.credits, at)).payments
  const rest = BigDecimal.subtract(quantity, sumOf(setAside))
  const full = findFullAccount(meter, rest, at, later)
  return BigDecimal.isZero(rest) || full === undefined ? { setAside } : { full }
}

const sumOf = (setAside: ReadonlyArray<Payment>): BigDecimal.BigDecimal =>
  BigDecimal.sumAll(setAside.map((payment) => payment.quantity))

const paymentsOf = (credits: StoredReservation["credits"]): ReadonlyArray<Payment> =>
  (credits ?? []).map(({ credit, quantity }) => ({ credit, quantity: storedDecimal(quantity) }))

/** What a reservation has set aside of all credits. */
export const fromCredits = (credits: StoredReservation["credits"]): BigDecimal.BigDecimal => sumOf(paymentsOf(credits))

/** What is set aside of credits, as it is stored. */
export const storedSetAside = (setAside: ReadonlyArray<Payment>): StoredReservation["credits"] =>
  setAside.length === 0
    ? null
    : setAside.map(({ credit, quantity }) => ({ credit, quantity: BigDecimal.format(quantity) }))

/** What a stored reservation has set aside: of the limit, and of credits. */
export const setAsideBy = ({ credits, quantity }: Pick<StoredReservation, "credits" | "quantity">): SetAside => {
  const payments = paymentsOf(credits)
  return { held: BigDecimal.subtract(storedDecimal(quantity), sumOf(payments)), credits: payments }
}

/** The detail of a rejected reservation. */
export const reserveRejectionText = (meter: Meter, { reason }: Decision, account?: Account, credits = ""): string => {
  const [used, held] = [account?.total.value ?? zero, account?.held ?? zero].map(decimalText)
  return (
    refusalText(meter, reason) ??
    `The limit of "${meter.entitlement}" of "${meter.instance}" is ${limitText(meter)}; ${used} is used in the period and ${held} is held by reservations.${credits}`
  )
}
