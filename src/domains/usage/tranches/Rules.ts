/** How much a tranche gets at a refill, and what is left of it. Pure. */
import { BigDecimal } from "effect"
import { zero } from "../../../kernel/values/Decimal.ts"

/** An amount of units, as a decimal. */
type Units = BigDecimal.BigDecimal

/** What may be used of an entitlement in a period, and what is. */
export interface Room {
  /** The limit with its overage; `null` if there is no limit. What is not granted has a cap of 0. */
  readonly cap: Units | null
  readonly usage: Units
  /** What everything but this tranche holds of the period. */
  readonly heldByOthers: Units
  /** The ledgers that may spend of the period, this one included. */
  readonly holders: number
}

/** What a holder asks for. `need` and `want` include `keep`. */
export interface RefillRequest {
  /** What the holder may still spend by what the service stored. */
  readonly unspent: Units
  /** How much of it the holder still has. It gave back the rest before it asked. */
  readonly keep: Units
  /** What it needs now: all of it or nothing of it is granted. */
  readonly need: Units
  /** What it would like to have. */
  readonly want: Units
}

/** The outcome of a refill. */
interface Refilled {
  /** What the holder may spend now. */
  readonly unspent: Units
  readonly granted: Units
  readonly returned: Units
  /** Whether the holder may spend what it needs. */
  readonly satisfied: boolean
}

/**
 * A wish gets at most this part of what is free, so that sizes shrink as the limit nears. Below 20 free units only needs are
 * granted, and the last unit can be used.
 */
const MIN_SHARES = 20

/** Each holder gets at most half of its part: then all of them have room for a second refill. */
const SHARES_PER_HOLDER = 2

const beyond = (amount: Units, part: Units): Units => BigDecimal.max(zero, BigDecimal.subtract(amount, part))

/** Whole units, so that a `COUNT` has no part of one. */
const shareOf = (free: Units, holders: number): Units => {
  const shares = Math.max(MIN_SHARES, SHARES_PER_HOLDER * holders)
  return BigDecimal.fromBigInt(BigDecimal.scale(free, 0).value / BigInt(shares))
}

/** Gives back what is not kept, then refills. The amounts of a `COUNT` must be whole. */
export const refill = (
  { cap, heldByOthers, holders, usage }: Room,
  { keep, need, unspent, want }: RefillRequest,
): Refilled => {
  const kept = BigDecimal.min(keep, unspent)
  const returned = BigDecimal.subtract(unspent, kept)
  if (cap === null) return { unspent: kept, granted: zero, returned, satisfied: true }
  const free = beyond(cap, BigDecimal.sumAll([usage, heldByOthers, kept]))
  const missing = beyond(need, kept)
  const extra = BigDecimal.min(beyond(want, kept), shareOf(free, holders))
  const satisfied = BigDecimal.isLessThanOrEqualTo(missing, free)
  const granted = satisfied ? BigDecimal.max(missing, extra) : extra
  return { unspent: BigDecimal.sum(kept, granted), granted, returned, satisfied }
}

/** What is left of a tranche after lines of its ledger, which may have spent more than it. Corrections raise no tranche. */
export const afterLines = (unspent: Units, spent: Units): Units => BigDecimal.min(unspent, beyond(unspent, spent))
