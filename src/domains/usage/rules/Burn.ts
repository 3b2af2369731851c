/**
 * What pays for usage: first the limit, then credits, then overage. A credit is an amount that can be used once. It changes by usage, by
 * the return of usage, and by time, never by a change of the limit. Pure.
 */
import { BigDecimal } from "effect"
import { zero } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { capOf, isUnlimited } from "./Cap.ts"
import type { Limit } from "./Cap.ts"
import { contains } from "./Period.ts"

type Amount = BigDecimal.BigDecimal

const { isGreaterThan, isLessThanOrEqualTo, isZero, max, min, subtract, sum } = BigDecimal

/** A credit as a decision reads it. */
export interface Credit {
  readonly id: string
  readonly amount: Amount
  /** A lower one burns first. */
  readonly priority: number
  /** It pays for usage whose timestamp is in `[startsAt, expiresAt)`. */
  readonly startsAt: Date
  readonly expiresAt: Date | null
  readonly createdAt: Date
  /** From then on it pays for nothing, whatever the timestamp. */
  readonly voidedAt: Date | null
  /**
   * What it has paid. For late usage, the most that it had paid at any instant from the timestamp on: a later correction may have
   * returned some of it.
   */
  readonly used: Amount
  /** What reservations have set aside. */
  readonly reserved: Amount
  /** Why it was added. Only explanations show it. */
  readonly reason?: string | null
}

/** The states of a credit at an instant. The first one that fits counts. */
export const creditStates = ["VOIDED", "EXPIRED", "SCHEDULED", "USED_UP", "OPEN"] as const
type CreditState = (typeof creditStates)[number]

const isExpired = ({ expiresAt }: Credit, at: Date): boolean => expiresAt !== null && !isBefore(at, expiresAt)

/** The state of a credit. */
export const creditState = (credit: Credit, at: Date): CreditState => {
  if (credit.voidedAt !== null) return "VOIDED"
  if (isExpired(credit, at)) return "EXPIRED"
  if (isBefore(at, credit.startsAt)) return "SCHEDULED"
  return isLessThanOrEqualTo(credit.amount, credit.used) ? "USED_UP" : "OPEN"
}

/** What no usage and no reservation has taken. */
const untaken = ({ amount, reserved, used }: Credit): Amount => max(zero, subtract(amount, sum(used, reserved)))

/** What can still be used of a credit, now or from its start on. */
export const remainingOf = (credit: Credit, at: Date): Amount =>
  credit.voidedAt !== null || isExpired(credit, at) ? zero : untaken(credit)

/** Whether a credit pays for usage with this timestamp, if something is left of it. */
const isActive = ({ expiresAt, startsAt, voidedAt }: Credit, timestamp: Date): boolean =>
  voidedAt === null && contains({ start: startsAt, end: expiresAt }, timestamp)

const endOf = ({ expiresAt }: Credit): number => expiresAt?.getTime() ?? Infinity

const compare = <A extends string | number>(one: A, other: A): number => (one < other ? -1 : one > other ? 1 : 0)

/** Credits in the order in which they burn. */
const inBurnOrder = <C extends Credit>(credits: ReadonlyArray<C>): ReadonlyArray<C> =>
  credits.toSorted(
    (one, other) =>
      compare(one.priority, other.priority) ||
      compare(endOf(one), endOf(other)) ||
      compare(one.createdAt.getTime(), other.createdAt.getTime()) ||
      compare(one.id, other.id),
  )

/** What is used of a period, and what is held of its limit. */
export interface Standing {
  /** `null`: nothing is granted. */
  readonly limit: Limit | null
  readonly usage: Amount
  /** What credits paid of the usage. */
  readonly burned: Amount
  readonly held: Amount
}

/** What a credit pays. */
export interface Payment {
  readonly credit: string
  readonly quantity: Amount
}

/** How usage is paid, or why it is denied: then nothing pays. */
interface Split {
  readonly reason: "GRANTED" | "UNLIMITED" | "SOFT_LIMIT" | "LIMIT_REACHED" | "NOT_GRANTED"
  readonly payments: ReadonlyArray<Payment>
}

const NOTHING: Limit = { value: zero, overagePercent: 0 }

/** The usage that credits have not paid. */
const netOf = ({ burned, usage }: Standing): Amount => subtract(usage, burned)

/** The credits that are active at an instant, in the order in which they burn. */
export const creditsAt = <C extends Credit>(credits: ReadonlyArray<C>, at: Date): ReadonlyArray<C> =>
  inBurnOrder(credits.filter((credit) => isActive(credit, at)))

/** What is left of credits. */
export const leftOf = (credits: ReadonlyArray<Credit>): Amount => BigDecimal.sumAll(credits.map(untaken))

/** The limit by which usage is decided: an active credit grants, with a limit of 0, what nothing else does. */
export const limitWith = (limit: Limit | null, credits: ReadonlyArray<Credit>): Limit | null =>
  limit ?? (credits.length > 0 ? NOTHING : null)

/** What the limit has left for a quantity. */
const includedOf = (limit: Limit, standing: Standing, quantity: Amount): Amount =>
  min(quantity, max(zero, subtract(limit.value, sum(netOf(standing), standing.held))))

/** Takes a quantity from credits in their order, at most what `available` says of each. */
const take = <C extends { readonly id: string }>(
  quantity: Amount,
  credits: ReadonlyArray<C>,
  available: (credit: C) => Amount,
): { readonly payments: ReadonlyArray<Payment>; readonly rest: Amount } => {
  const payments: Array<Payment> = []
  let rest = quantity
  for (const credit of credits) {
    const taken = min(rest, available(credit))
    if (!isGreaterThan(taken, zero)) continue
    payments.push({ credit: credit.id, quantity: taken })
    rest = subtract(rest, taken)
  }
  return { payments, rest }
}

/**
 * Decides on a quantity by the limit, then by the credits that are active at its timestamp, in burn order, then by the overage. A
 * reservation is decided alike: what credits pay of it is set aside, and the rest is held of the limit.
 */
export const pay = (standing: Standing, quantity: Amount, active: ReadonlyArray<Credit>): Split => {
  const limit = limitWith(standing.limit, active)
  if (limit === null) return { reason: "NOT_GRANTED", payments: [] }
  if (isUnlimited(limit.value)) return { reason: "UNLIMITED", payments: [] }
  const taken = sum(netOf(standing), standing.held)
  const included = includedOf(limit, standing, quantity)
  const { payments, rest: over } = take(subtract(quantity, included), active, untaken)
  const isCovered = isZero(quantity)
    ? isLessThanOrEqualTo(taken, limit.value) || isGreaterThan(leftOf(active), zero)
    : isZero(over)
  if (isCovered) return { reason: "GRANTED", payments }
  return isLessThanOrEqualTo(sum(taken, sum(included, over)), capOf(limit.value, limit.overagePercent))
    ? { reason: "SOFT_LIMIT", payments }
    : { reason: "LIMIT_REACHED", payments: [] }
}

/**
 * What credits pay of the commit of a reservation: after the limit those that it has set aside, also expired ones, then others. The
 * standing and the credits are without what it holds. A commit is never denied: what is left is overage.
 */
export const payCommitted = (
  standing: Standing,
  quantity: Amount,
  setAside: ReadonlyArray<Payment>,
  active: ReadonlyArray<Credit>,
): ReadonlyArray<Payment> => {
  const limit = limitWith(standing.limit, active) ?? NOTHING
  if (isUnlimited(limit.value)) return []
  const unpaid = subtract(quantity, includedOf(limit, standing, quantity))
  const own = setAside.map(({ credit, quantity: available }) => ({ id: credit, available }))
  const first = take(unpaid, own, ({ available }) => available)
  const second = take(first.rest, active, (credit) => {
    const used = first.payments.find((payment) => payment.credit === credit.id)?.quantity ?? zero
    return subtract(untaken(credit), min(untaken(credit), used))
  })
  return merged([...first.payments, ...second.payments])
}

/** One payment of each credit, in their order. */
const merged = (payments: ReadonlyArray<Payment>): ReadonlyArray<Payment> =>
  Array.from(
    Map.groupBy(payments, ({ credit }) => credit),
    ([credit, own]) => ({ credit, quantity: BigDecimal.sumAll(own.map(({ quantity }) => quantity)) }),
  )

/**
 * What a correction returns to credits: it takes from the overage of the period first, then returns what credits paid, the newest payment
 * first. The rest is included amount. `paid` is what they paid in the period up to the timestamp of the correction, without what was
 * returned, the oldest first. The result is by the positions in `paid`.
 */
export const returned = (
  standing: Standing,
  quantity: Amount,
  paid: ReadonlyArray<Payment>,
): ReadonlyArray<{ readonly position: number; readonly quantity: Amount }> => {
  const limit = standing.limit ?? NOTHING
  const overage = isUnlimited(limit.value) ? zero : max(zero, subtract(netOf(standing), limit.value))
  const newest = paid.map((payment, position) => ({ id: String(position), payment })).toReversed()
  const { payments } = take(max(zero, subtract(quantity, overage)), newest, ({ payment }) => payment.quantity)
  return payments.map((payment) => ({ position: Number(payment.credit), quantity: payment.quantity }))
}

/** What a check shows of a limit and credits: what is left of both, and by how much unpaid usage exceeds the limit. */
export const figuresWith = (limit: Limit, standing: Standing, active: ReadonlyArray<Credit>) => {
  const net = netOf(standing)
  return {
    remaining: sum(max(zero, subtract(limit.value, sum(net, standing.held))), leftOf(active)),
    overage: max(zero, subtract(net, limit.value)),
  }
}
