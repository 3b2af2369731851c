/**
 * The credits of a meter, as decisions find and leave them: what each has paid, and what a decision adds to that. Accounts of one meter
 * share them, because a credit pays in every period. Pure.
 */
import { BigDecimal } from "effect"
import { decimalText, zero } from "../../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../../kernel/values/Timestamp.ts"
import { creditsAt, leftOf } from "../../rules/Burn.ts"
import type { Credit, Payment } from "../../rules/Burn.ts"
import type { PeriodCredits } from "../../rules/Decision.ts"

type Amount = BigDecimal.BigDecimal

/** What a credit paid at the instant of some usage; negative: what was returned to it. */
interface DatedQuantity {
  readonly at: Date
  readonly quantity: Amount
}

/** A credit, with what late usage has to know of it. */
export interface MeterCredit extends Credit {
  /** `used` before the decision. */
  readonly storedUsed: Amount
  /** Its uses after the earliest usage that is decided; `null` if none of them returned something, so that `used` only rose. */
  readonly later: ReadonlyArray<DatedQuantity> | null
}

/** What a credit paid of an event in a period. A correction returns it. */
export interface PaidUse extends Payment {
  readonly id: string
  readonly at: Date
  readonly ordinal: number
}

/** A use of a credit that a decision adds. A negative quantity returns a part of the use `ofUse`. */
export interface CreditUse extends PaidUse {
  readonly periodStart: Date
  readonly ofUse: string | null
}

/** The credits of a meter. */
export interface MeterCredits {
  readonly all: ReadonlyArray<MeterCredit>
  /** The only instant at which those that are active were read; `null` if they were read for all usage that is decided. */
  readonly readFor: Date | null
  /** What decisions added, in their order. Their ids are numbers until they are stored. */
  readonly uses: ReadonlyArray<CreditUse>
}

/** A meter without credits. */
export const noCredits: MeterCredits = { all: [], readFor: null, uses: [] }

/** The most that a credit had paid at an instant or at any later one. A correction may have returned some of it since. */
const usedFrom = ({ later, used }: MeterCredit, instant: Date): Amount => {
  let most = used
  let after = zero
  const uses = (later ?? []).filter(({ at }) => isBefore(instant, at))
  const latestFirst = uses.toSorted((one, other) => other.at.getTime() - one.at.getTime())
  for (const [position, { at, quantity }] of latestFirst.entries()) {
    after = BigDecimal.sum(after, quantity)
    if (latestFirst[position + 1]?.at.getTime() !== at.getTime()) {
      most = BigDecimal.max(most, BigDecimal.subtract(used, after))
    }
  }
  return most
}

/** The credits that are active at an instant, in the order in which they burn, each with the most that it had paid from then on. */
export const activeCredits = ({ all }: MeterCredits, at: Date): ReadonlyArray<Credit> => {
  if (all.length === 0) return []
  return creditsAt(all, at).map((credit) =>
    credit.later === null ? credit : { ...credit, used: usedFrom(credit, at) },
  )
}

/** What credits have to do with a period at an instant; `undefined` without an active one where none has paid anything. */
export const periodCredits = (credits: MeterCredits, burned: Amount, at: Date): PeriodCredits | undefined => {
  const active = activeCredits(credits, at)
  return active.length === 0 && BigDecimal.isZero(burned) ? undefined : { burned, active }
}

/** What is left of the credits at an instant, in words, for the text of a denial. */
export const creditsText = (credits: MeterCredits, at: Date): string => {
  const active = activeCredits(credits, at)
  return active.length === 0 ? "" : ` Its credits have ${decimalText(leftOf(active))} left.`
}

/** Whether it is known which credits are active at an instant. */
export const isReadFor = ({ readFor }: MeterCredits, at: Date): boolean =>
  readFor === null || readFor.getTime() === at.getTime()

/** A use that changes credits, before it has an id. */
type NewUse = Omit<CreditUse, "id">

const changed = (credit: MeterCredit, uses: ReadonlyArray<NewUse>): MeterCredit => {
  const own = uses.filter((use) => use.credit === credit.id)
  if (own.length === 0) return credit
  return {
    ...credit,
    used: BigDecimal.sumAll([credit.used, ...own.map(({ quantity }) => quantity)]),
    later: credit.later && [...credit.later, ...own],
  }
}

/** The credits after uses. Returns the uses with their ids. */
export const withUses = (
  credits: MeterCredits,
  uses: ReadonlyArray<NewUse>,
): { readonly credits: MeterCredits; readonly added: ReadonlyArray<CreditUse> } => {
  const added = uses.map((use, position) => ({ ...use, id: String(credits.uses.length + position) }))
  const all = credits.all.map((credit) => changed(credit, uses))
  return { credits: { ...credits, all, uses: [...credits.uses, ...added] }, added }
}

/** The credits that have paid another amount after decisions. */
export const changedCredits = ({ all }: MeterCredits): ReadonlyArray<MeterCredit> =>
  all.filter(({ storedUsed, used }) => !BigDecimal.equals(storedUsed, used))

/** The credits that decisions used up. */
export const usedUp = (credits: MeterCredits): ReadonlyArray<MeterCredit> =>
  changedCredits(credits).filter(
    ({ amount, storedUsed, used }) => BigDecimal.equals(used, amount) && BigDecimal.isLessThan(storedUsed, amount),
  )
