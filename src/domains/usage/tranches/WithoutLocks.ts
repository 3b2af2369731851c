/** Decides refills on what was read without locks, as far as that is enough. Pure. */
import type { Caller } from "../../../kernel/contract/Caller.ts"
import { isSameInstant } from "../../../kernel/values/Timestamp.ts"
import { accountName, methodOf, needsLocks, totalNameOf } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import { accountsOfSnapshot } from "../ledger/optimistic/OptimisticLedger.ts"
import type { MeterSnapshot } from "../ledger/optimistic/SnapshotSql.ts"
import { bySlug, checkUses, isForbidden, parseUses, postUses } from "../siteusage/Counting.ts"
import type { MeteredInstance, OfflineUse } from "../siteusage/Model.ts"
import { keyOf } from "./Changes.ts"
import { decideRefill, heldByTranches, nameOf } from "./Refilling.ts"
import type { RefillInput } from "./Refilling.ts"
import type { SharedTranche } from "./Model.ts"
import { askedTranches } from "./Requests.ts"

/** What was read of an instance and a ledger. */
interface ReadRefill {
  readonly instance: MeteredInstance
  readonly snapshot: ReadonlyArray<MeterSnapshot>
  readonly stored: ReadonlyArray<SharedTranche>
}

/** The accounts of these names; `undefined` if one of them was not read. */
const accountsIn = (accounts: ReadonlyMap<string, Account>, names: ReadonlyArray<string>) => {
  const found = new Map<string, Account>()
  for (const name of names) {
    const account = accounts.get(name)
    if (account === undefined) return undefined
    found.set(name, account)
  }
  return found
}

/**
 * Decides a refill of the present period, by a holder that has a tranche of all that it asks for. `undefined`: it needs locks, because it is
 * rejected, begins something, emits an event, or uses what was not read.
 */
export const decideWithoutLocks = <Use extends OfflineUse>(
  caller: Caller["Service"],
  { instance, snapshot, stored }: ReadRefill,
  { close, tranches, uses }: RefillInput<Use>,
  at: Date,
) => {
  const { accounts, meters: found } = accountsOfSnapshot(snapshot, at)
  const meters = bySlug([...found.values()])
  const { checked, places } = checkUses(parseUses(instance, uses, at), meters)
  const { asked, errors } = askedTranches(tranches, (entitlement) => meters.get(entitlement), at)
  const others = new Map(stored.map((row) => [nameOf(instance.id, row), row.others]))
  const isKnown =
    errors.length === 0 &&
    asked.every((one) => isSameInstant(one.at, at) && others.has(totalNameOf(keyOf(one)))) &&
    stored.every(({ entitlement }) => meters.has(entitlement)) &&
    places.every(({ meter }) => methodOf(meter) !== "UNIQUE_COUNT")
  if (!isKnown || isForbidden(caller, checked)) return undefined
  const opened = accountsIn(accounts, [...places.map(accountName), ...asked.map((one) => totalNameOf(keyOf(one)))])
  if (opened === undefined) return undefined
  const posted = postUses(opened, checked, caller, heldByTranches(instance.id, stored))
  const basis = { instanceId: instance.id, asked, accounts: posted.accounts, meters, stored, at, close }
  const decided = decideRefill({ ...basis, othersOf: (name) => others.get(name) ?? 0 })
  if (decided.accounts.some(needsLocks)) return undefined
  return { ...decided, outcomes: posted.outcomes }
}
