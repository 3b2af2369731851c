/** Decides the tranches of a refill, each on the account of its period. Pure. */
import { BigDecimal } from "effect"
import { storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { isBefore, isSameInstant } from "../../../kernel/values/Timestamp.ts"
import { limitFor, meterPeriodAt, netOf } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import { noCredits } from "../ledger/burning/MeterCredits.ts"
import type { Meter } from "../ledger/Model.ts"
import { decideReservation } from "../reservations/Rules.ts"
import { capOf, isUnlimited } from "../rules/Cap.ts"
import type { CheckReason } from "../rules/Decision.ts"
import type { StoredTranche } from "./Model.ts"
import type { AskedTranche } from "./Requests.ts"
import { afterLines, refill } from "./Rules.ts"

type Units = BigDecimal.BigDecimal

/** What lines added to the usage of an account. */
const growthOf = ({ stored, total }: Account): Units => BigDecimal.subtract(total.value, stored.total.value)

/** What a holder may spend of a tranche, before and after the lines of a refill. */
export interface OwnUnits {
  /** What the account counts as held. */
  readonly held: Units
  readonly unspent: Units
}

export const nothingOwn: OwnUnits = { held: zero, unspent: zero }

/** What is left of a stored tranche. One whose hold had ended at the latest decision on its account holds nothing. */
export const ownUnits = (stored: StoredTranche, account: Account | undefined): OwnUnits => {
  const quantity = storedDecimal(stored.quantity)
  if (account === undefined) return { held: quantity, unspent: quantity }
  if (!isBefore(account.decidedAt, stored.expiresAt)) return nothingOwn
  return { held: quantity, unspent: afterLines(quantity, growthOf(account)) }
}

/**
 * Whether a stored tranche goes on with a refill that does not name it: its holder may spend it, and its period is not over. A period of
 * another length, from before a change of the entitlement, is.
 */
export const goesOn = (meter: Meter, { periodStart, spendUntil }: StoredTranche, at: Date): boolean => {
  const { end, start } = meterPeriodAt(meter, periodStart)
  return isSameInstant(start, periodStart) && isBefore(at, spendUntil) && (end === null || isBefore(at, end))
}

/** The cap of what can be granted; `null` if there is no limit. */
const capFor = (meter: Meter, reason: CheckReason): Units | null => {
  const limit = limitFor(meter)
  const isDenied = reason === "NOT_GRANTED" || reason === "LICENSE_EXPIRED" || reason === "LICENSE_NOT_STARTED"
  if (isDenied || limit === null) return zero
  return isUnlimited(limit.value) ? null : capOf(limit.value, limit.overagePercent)
}

/** The decision on a tranche. */
export interface DecidedTranche {
  readonly unspent: Units
  readonly satisfied: boolean
  readonly reason: CheckReason
  /** The need is above the cap, as a rejected reservation is. */
  readonly exceedsCap: boolean
}

/** What is set aside is a guarantee, even if the limit is lower now. */
const guaranteed = (meter: Meter): CheckReason =>
  (limitFor(meter)?.overagePercent ?? 0) > 0 ? "SOFT_LIMIT" : "GRANTED"

/** Decides a tranche on its account, which contains the lines of the refill. */
export const decideTranche = (
  { at, keep, meter, need, want }: AskedTranche,
  account: Account,
  own: OwnUnits,
  holders: number,
): DecidedTranche => {
  const heldByOthers = BigDecimal.subtract(account.held, own.held)
  const kept = BigDecimal.min(keep, own.unspent)
  const missing = BigDecimal.max(zero, BigDecimal.subtract(need, kept))
  const held = BigDecimal.sum(heldByOthers, kept)
  const { reason } = decideReservation(meter, missing, at, { ...account, held, credits: noCredits })
  const room = { cap: capFor(meter, reason), usage: netOf(account), heldByOthers, holders }
  const { satisfied, unspent } = refill(room, { unspent: own.unspent, keep, need, want })
  const isReached = reason === "LIMIT_REACHED"
  return {
    unspent,
    satisfied,
    reason: isReached && satisfied ? guaranteed(meter) : reason,
    exceedsCap: isReached && !satisfied,
  }
}
