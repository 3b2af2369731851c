/** How a change of a total is paid: by the limit, by credits, by overage; or what a correction returns. Pure. */
import { BigDecimal } from "effect"
import { zero } from "../../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../../kernel/values/Timestamp.ts"
import { limitWith, pay, payCommitted, returned } from "../../rules/Burn.ts"
import type { Credit, Payment, Standing } from "../../rules/Burn.ts"
import { isUnlimited } from "../../rules/Cap.ts"
import { limitFor } from "../Account.ts"
import type { Account } from "../Account.ts"
import { activeCredits, isReadFor, withUses } from "./MeterCredits.ts"
import type { PaidUse } from "./MeterCredits.ts"

type Amount = BigDecimal.BigDecimal

/** What its poster has set aside for the usage: it is never denied then. */
export interface SetAside {
  /** What it holds of the limit, as the account counts it. */
  readonly held: Amount
  readonly credits: ReadonlyArray<Payment>
}

/** A change of a total, by the event of an instant that gets this number. */
interface Change {
  readonly quantity: Amount
  readonly at: Date
  readonly ordinal: number
  readonly setAside: SetAside | undefined
}

/** The account after it, or why it is denied. `isUnsure`: more has to be read to know that. */
type Settlement = { readonly account: Account } | { readonly denied: "not-granted" | "cap"; readonly account: Account }

const unsure = (account: Account): Account => ({ ...account, isUnsure: true })

const standingOf = (account: Account, held: Amount): Standing => ({
  limit: limitFor(account.meter),
  usage: account.total.value,
  burned: account.burned,
  held,
})

/** The account after credits have paid. */
const burning = (account: Account, payments: ReadonlyArray<Payment>, { at, ordinal }: Change): Account => {
  if (payments.length === 0) return account
  const periodStart = account.period.start
  const { added, credits } = withUses(
    account.credits,
    payments.map((payment) => ({ ...payment, at, ordinal, periodStart, ofUse: null })),
  )
  const burned = BigDecimal.sumAll([account.burned, ...payments.map(({ quantity }) => quantity)])
  return { ...account, burned, credits, ...(account.paid === undefined ? {} : { paid: [...account.paid, ...added] }) }
}

/** The credits without what is set aside of them. What is voided no longer pays, whatever was set aside. */
const without = (credits: ReadonlyArray<Credit>, setAside: ReadonlyArray<Payment>): ReadonlyArray<Credit> =>
  credits.map((credit) => {
    const own = setAside.find((payment) => payment.credit === credit.id)?.quantity ?? zero
    return { ...credit, reserved: BigDecimal.max(zero, BigDecimal.subtract(credit.reserved, own)) }
  })

/**
 * What can be taken of what is set aside. A node whose clock is ahead may have taken it as expired, and burned it: a credit is never used
 * above its amount.
 */
const available = (account: Account, setAside: ReadonlyArray<Payment>): ReadonlyArray<Payment> =>
  setAside.flatMap(({ credit: id, quantity }) => {
    const credit = account.credits.all.find((one) => one.id === id)
    if (credit === undefined || credit.voidedAt !== null) return []
    return [{ credit: id, quantity: BigDecimal.min(quantity, BigDecimal.subtract(credit.amount, credit.used)) }]
  })

/** Whether the limit has all of a quantity left, so that no credit has to pay. */
const isIncluded = ({ burned, held, limit, usage }: Standing, quantity: Amount): boolean => {
  if (limit === null) return false
  const taken = BigDecimal.sumAll([usage, held, quantity])
  return isUnlimited(limit.value) || BigDecimal.isLessThanOrEqualTo(BigDecimal.subtract(taken, burned), limit.value)
}

const commit = (account: Account, change: Change, { credits, held }: SetAside): Account => {
  const active = without(activeCredits(account.credits, change.at), credits)
  const standing = standingOf(account, BigDecimal.max(zero, BigDecimal.subtract(account.held, held)))
  const payments = payCommitted(standing, change.quantity, available(account, credits), active)
  const isKnown = isIncluded(standing, change.quantity) || isReadFor(account.credits, change.at)
  return burning(isKnown ? account : unsure(account), payments, change)
}

const charge = (account: Account, change: Change): Settlement => {
  const active = activeCredits(account.credits, change.at)
  const standing = standingOf(account, account.held)
  const { payments, reason } = pay(standing, change.quantity, active)
  const isKnown = isIncluded(standing, change.quantity) || isReadFor(account.credits, change.at)
  const known = isKnown ? account : unsure(account)
  if (reason === "NOT_GRANTED") return { denied: "not-granted", account: known }
  if (reason === "LIMIT_REACHED") return { denied: "cap", account: known }
  return { account: burning(known, payments, change) }
}

const compareUses = (one: PaidUse, other: PaidUse): number =>
  one.at.getTime() - other.at.getTime() || one.ordinal - other.ordinal

/** Returns to credits what they paid up to the instant of a correction. */
const giveBack = (account: Account, { at, ordinal, quantity }: Change): Account => {
  if (BigDecimal.isZero(account.burned)) return account
  if (account.paid === undefined) return unsure(account)
  const paid = account.paid.filter((use) => !isBefore(at, use.at)).toSorted(compareUses)
  const back = returned(standingOf(account, account.held), BigDecimal.negate(quantity), paid)
  if (back.length === 0) return account
  const parts = new Map(back.map((part) => [paid[part.position] as PaidUse, part.quantity]))
  const { credits } = withUses(
    account.credits,
    Array.from(parts, ([use, part]) => ({
      credit: use.credit,
      quantity: BigDecimal.negate(part),
      at,
      ordinal,
      periodStart: account.period.start,
      ofUse: use.id,
    })),
  )
  const left = account.paid.map((use) => {
    const part = parts.get(use)
    return part === undefined ? use : { ...use, quantity: BigDecimal.subtract(use.quantity, part) }
  })
  return {
    ...account,
    burned: BigDecimal.subtract(account.burned, BigDecimal.sumAll(parts.values())),
    credits,
    paid: left,
  }
}

/** What does not change the total is denied only if nothing grants it. */
const keep = (account: Account, { at }: Change): Settlement => {
  if (limitWith(limitFor(account.meter), activeCredits(account.credits, at)) !== null) return { account }
  return { denied: "not-granted", account: isReadFor(account.credits, at) ? account : unsure(account) }
}

/** Pays for a change of a total, or returns what it takes away. */
export const settle = (account: Account, change: Change): Settlement => {
  if (BigDecimal.isNegative(change.quantity)) return { account: giveBack(account, change) }
  if (change.setAside !== undefined) return { account: commit(account, change, change.setAside) }
  return BigDecimal.isZero(change.quantity) ? keep(account, change) : charge(account, change)
}

/** The account without what credits paid by some uses, which are voided. Each credit gets back what was not returned to it. */
export const withoutUses = (account: Account, paid: ReadonlyArray<PaidUse>): Account => {
  const returns = Map.groupBy(paid, ({ credit }) => credit)
  const all = account.credits.all.map((credit) => {
    const own = returns.get(credit.id)?.map(({ quantity }) => quantity) ?? []
    return { ...credit, used: BigDecimal.subtract(credit.used, BigDecimal.sumAll(own)) }
  })
  const returned = BigDecimal.sumAll(paid.map(({ quantity }) => quantity))
  return { ...account, burned: BigDecimal.subtract(account.burned, returned), credits: { ...account.credits, all } }
}
