/** What a refill stores of the tranches of a holder: those that it names, and those that go on. Pure. */
import { BigDecimal } from "effect"
import { decimalText, zero } from "../../../kernel/values/Decimal.ts"
import { totalKeyOf, totalNameOf } from "../ledger/Account.ts"
import type { TotalKey } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { goesOn } from "./Decisions.ts"
import type { DecidedTranche, OwnUnits } from "./Decisions.ts"
import { endsOf } from "./Repo.ts"
import type { StoredTranche, TrancheChange } from "./Model.ts"
import type { AskedTranche } from "./Requests.ts"

/** A tranche that a refill names, with the decision on it. */
export interface NamedTranche {
  readonly asked: AskedTranche
  readonly decided: DecidedTranche
}

/** A stored tranche, with what is left of it after the lines. */
export interface OwnTranche {
  readonly stored: StoredTranche
  readonly units: OwnUnits
  readonly meter: Meter | undefined
}

/** A tranche after a refill. */
export interface TrancheAfter extends Omit<TrancheChange, "id" | "quantity"> {
  readonly entitlement: string
  readonly unspent: BigDecimal.BigDecimal
  /** Whether its holder may spend it until the end of the refilled ones. */
  readonly isSpendable: boolean
}

/** The key of the total of a named tranche. */
export const keyOf = ({ at, meter }: AskedTranche): TotalKey => totalKeyOf({ meter, at })

/**
 * As of when a tranche is refilled: what holds units of a period was created before its end, so one of a period that has ended is refilled
 * as of its last instant.
 */
export const refillInstant = ({ at: decidedAt }: AskedTranche, at: Date): Date =>
  isBefore(decidedAt, at) ? decidedAt : at

const named = ({ asked, decided }: NamedTranche, at: Date, close: boolean): TrancheAfter => {
  const { entitlementId, periodStart } = keyOf(asked)
  const createdAt = refillInstant(asked, at)
  const endedAt = close ? at : null
  const { entitlement } = asked.meter
  return {
    entitlementId,
    entitlement,
    periodStart,
    unspent: decided.unspent,
    createdAt,
    ...endsOf(createdAt),
    endedAt,
    isSpendable: !close,
  }
}

const unnamed = ({ meter, stored, units }: OwnTranche, at: Date, close: boolean): TrancheAfter => {
  const { entitlement, entitlementId, expiresAt, periodStart, spendUntil } = stored
  const isSpendable = !close && meter !== undefined && goesOn(meter, stored, at)
  return {
    entitlementId,
    entitlement,
    periodStart,
    unspent: close ? zero : units.unspent,
    createdAt: at,
    ...(isSpendable ? endsOf(at) : { spendUntil, expiresAt }),
    endedAt: close ? at : null,
    isSpendable,
  }
}

/** The tranches of a holder after a refill. */
export const tranchesAfter = (
  instanceId: string,
  all: { readonly named: ReadonlyArray<NamedTranche>; readonly own: ReadonlyArray<OwnTranche> },
  at: Date,
  close: boolean,
): ReadonlyArray<TrancheAfter> => {
  const names = new Set(all.named.map(({ asked }) => totalNameOf(keyOf(asked))))
  const others = all.own.flatMap((one) => {
    if (names.has(totalNameOf({ instanceId, ...one.stored }))) return []
    const after = unnamed(one, at, close)
    const isSame = !after.isSpendable && !close && decimalText(after.unspent) === one.stored.quantity
    return isSame ? [] : [after]
  })
  return [...all.named.map((one) => named(one, at, close)), ...others]
}

/** What is stored of it. */
export const changeOf = (
  { createdAt, entitlementId, endedAt, expiresAt, periodStart, spendUntil, unspent }: TrancheAfter,
  id: string,
): TrancheChange => {
  const quantity = decimalText(unspent)
  return { id, entitlementId, periodStart, quantity, createdAt, spendUntil, expiresAt, endedAt }
}
