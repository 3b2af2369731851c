/** Stores what decisions burned and returned, with the events of credits that they used up. */
import { BigDecimal, Effect } from "effect"
import { newId } from "../../../../kernel/values/Identifiers.ts"
import type { EventSource } from "../../../events/Service.ts"
import type { Account } from "../Account.ts"
import { changedCredits, usedUp } from "./MeterCredits.ts"
import type { CreditUse } from "./MeterCredits.ts"
import { BurnRepo } from "./Repo.ts"
import { UsedUpCredits } from "./UsedUpCredits.ts"

/** The uses of a meter with their final ids. Each was added after what it returns. */
const identified = Effect.fnUntraced(function* ({ credits, meter }: Account) {
  const { entitlementId, instanceId } = meter
  const ids = new Map<string, string>()
  return yield* Effect.forEach(credits.uses, (use: CreditUse) =>
    Effect.map(newId, (id) => {
      ids.set(use.id, id)
      const ofUse = use.ofUse === null ? null : (ids.get(use.ofUse) ?? use.ofUse)
      return { ...use, instanceId, entitlementId, id, ofUse }
    }),
  )
})

/** One account of each meter whose credits decisions changed. */
const ofMeters = (accounts: ReadonlyArray<Account>): ReadonlyArray<Account> => [
  ...new Map(accounts.map((account) => [account.credits, account] as const)).values(),
]

/** Stores what the credits of locked accounts have paid. */
export const burnStoring = Effect.gen(function* () {
  const repo = yield* BurnRepo
  const { emit } = yield* UsedUpCredits

  return Effect.fnUntraced(function* (caller: EventSource, accounts: ReadonlyArray<Account>) {
    const isBurned = ({ burned, stored }: Account) => !BigDecimal.equals(burned, stored.burned)
    const burning = accounts.filter((account) => isBurned(account) || account.credits.uses.length > 0)
    if (burning.length === 0) return
    const meters = ofMeters(burning)
    const totals = burning.filter(isBurned).map(({ burned, meter: { entitlementId, instanceId }, period }) => ({
      instanceId,
      entitlementId,
      periodStart: period.start,
      burned,
    }))
    const uses = (yield* Effect.forEach(meters, identified)).flat()
    const credits = meters.flatMap((account) => changedCredits(account.credits))
    yield* repo.store(caller.organizationId, { credits, uses, totals })
    const ids = meters.flatMap((account) => usedUp(account.credits)).map(({ id }) => id)
    if (ids.length > 0) yield* emit(caller, ids)
  })
})
