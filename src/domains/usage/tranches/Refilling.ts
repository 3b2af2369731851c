/** Decides a refill on what was read, with locks or without. Pure. */
import { decimalText, zero } from "../../../kernel/values/Decimal.ts"
import { accountIn, totalNameOf, withCapExceeded } from "../ledger/Account.ts"
import type { Account, Accounts } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import { keyOf, refillInstant, tranchesAfter } from "./Changes.ts"
import type { NamedTranche, OwnTranche, TrancheAfter } from "./Changes.ts"
import { decideTranche, nothingOwn, ownUnits } from "./Decisions.ts"
import type { OwnUnits } from "./Decisions.ts"
import type { RefilledTranche, StoredTranche, TrancheRequest } from "./Model.ts"
import { endsOf } from "./Repo.ts"
import type { AskedTranche } from "./Requests.ts"

/** What a holder brings, and what it asks for. */
export interface RefillInput<Use> {
  /** The source of its ledger. */
  readonly ledger: string
  /** The new lines. */
  readonly uses: ReadonlyArray<Use>
  readonly tranches: ReadonlyArray<TrancheRequest>
  /** Whether the holder gives back all that it has. */
  readonly close: boolean
}

/** What a refill is decided on. */
interface RefillBasis {
  readonly instanceId: string
  readonly asked: ReadonlyArray<AskedTranche>
  /** With the new lines. */
  readonly accounts: Accounts
  /** The meters of all tranches, by slug. */
  readonly meters: ReadonlyMap<string, Meter>
  /** What the holder has. */
  readonly stored: ReadonlyArray<StoredTranche>
  /** How many other ledgers may spend of a total. */
  readonly othersOf: (name: string) => number
  readonly at: Date
  readonly close: boolean
}

/** What becomes of a refill. */
interface DecidedRefill {
  /** To store. One whose cap a need exceeds emits an event. */
  readonly accounts: ReadonlyArray<Account>
  /** To store. */
  readonly after: ReadonlyArray<TrancheAfter>
  /** In the order of the request. */
  readonly tranches: ReadonlyArray<RefilledTranche>
  /** All that the holder may spend until `spendUntil`. */
  readonly spendable: ReadonlyArray<TrancheAfter>
  readonly spendUntil: Date
}

/** The name of the total of a stored tranche. */
export const nameOf = (
  instanceId: string,
  { entitlementId, periodStart }: Pick<StoredTranche, "entitlementId" | "periodStart">,
): string => totalNameOf({ instanceId, entitlementId, periodStart })

/** What the stored tranches of a holder hold of an account. One whose hold had ended holds nothing. */
export const heldByTranches = (instanceId: string, stored: ReadonlyArray<StoredTranche>) => {
  const tranches = new Map(stored.map((row) => [nameOf(instanceId, row), row] as const))
  return (account: Account) => {
    const { entitlementId } = account.meter
    const tranche = tranches.get(totalNameOf({ instanceId, entitlementId, periodStart: account.period.start }))
    return tranche === undefined ? zero : ownUnits(tranche, account).held
  }
}

const refilledOf = ({ asked, decided }: NamedTranche, at: Date): RefilledTranche => {
  const { expiresAt, spendUntil } = endsOf(refillInstant(asked, at))
  return {
    entitlement: asked.meter.entitlement,
    periodStart: asked.period.start,
    unspent: decimalText(decided.unspent),
    satisfied: decided.satisfied,
    reason: decided.reason,
    spendUntil,
    heldUntil: expiresAt,
  }
}

/** Decides the tranches of requests. Returns the accounts after them. */
const decideAll = (
  asked: ReadonlyArray<AskedTranche>,
  accounts: Accounts,
  of: (name: string) => { readonly own: OwnUnits; readonly holders: number },
): { readonly named: ReadonlyArray<NamedTranche>; readonly accounts: ReadonlyArray<Account> } => {
  const after = new Map(accounts)
  const named = asked.map((one): NamedTranche => {
    const name = totalNameOf(keyOf(one))
    const account = accountIn(accounts, name)
    const { holders, own } = of(name)
    const decided = decideTranche(one, account, own, holders)
    if (decided.exceedsCap) after.set(name, withCapExceeded(account))
    return { asked: one, decided }
  })
  return { named, accounts: Array.from(after.values()) }
}

/** The requests of a holder that gives back everything. */
const asksForNothing = (one: AskedTranche): AskedTranche => ({ ...one, keep: zero, need: zero, want: zero })

/** Decides a refill. */
export const decideRefill = (basis: RefillBasis): DecidedRefill => {
  const { accounts, at, close, instanceId, meters, othersOf, stored } = basis
  const asked = close ? basis.asked.map(asksForNothing) : basis.asked
  const own = new Map(
    stored.map((row): readonly [string, OwnTranche] => {
      const name = nameOf(instanceId, row)
      return [name, { stored: row, units: ownUnits(row, accounts.get(name)), meter: meters.get(row.entitlement) }]
    }),
  )
  const decisions = decideAll(asked, accounts, (name) => ({
    own: own.get(name)?.units ?? nothingOwn,
    holders: 1 + othersOf(name),
  }))
  const after = tranchesAfter(instanceId, { named: decisions.named, own: [...own.values()] }, at, close)
  return {
    accounts: decisions.accounts,
    after,
    tranches: decisions.named.map((one) => refilledOf(one, at)),
    spendable: after.filter(({ isSpendable }) => isSpendable),
    spendUntil: endsOf(at).spendUntil,
  }
}
