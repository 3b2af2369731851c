/** Amounts by entitlement and the start of a period, as the texts that an answer reads. */
import { decimalOf, textOf } from "../../offline/values/Decimal.ts"
import type { Amounts } from "../../offline/Model.ts"
import type { LocalUsage } from "../../offline/Terms.ts"

export type Tally = Record<string, Record<string, string>>

/** Slugs are texts of others: `constructor` names nothing here. */
const bare = <A>(): Record<string, A> => Object.create(null) as Record<string, A>

export const newTally = (): Tally => bare()

export const amountAt = (tally: Amounts | undefined, entitlement: string, period: string): bigint =>
  decimalOf(tally?.[entitlement]?.[period]) ?? 0n

/** What is neither spent nor can be: reserved, or given back. */
export const withheldAt = ({ reserved, returned }: LocalUsage, entitlement: string, period: string): bigint =>
  amountAt(reserved, entitlement, period) + amountAt(returned, entitlement, period)

/** Adds an amount, which may be negative, to each of the tallies. */
export const addTo = (entitlement: string, period: string, amount: bigint, ...tallies: ReadonlyArray<Tally>): void => {
  for (const tally of tallies) {
    const periods = (tally[entitlement] ??= bare())
    const sum = amountAt(tally, entitlement, period) + amount
    if (sum === 0n) delete periods[period]
    else periods[period] = textOf(sum)
  }
}

/** Entitlement, start of the period, amount. */
export type Portion = readonly [entitlement: string, period: string, amount: string]

export const portionsOf = (tally: Tally): ReadonlyArray<Portion> =>
  Object.entries(tally).flatMap(([entitlement, periods]) =>
    Object.entries(periods).map(([period, amount]): Portion => [entitlement, period, amount]),
  )
