/** Opens the credits of locked accounts, where a decision may need them. */
import { BigDecimal, Effect } from "effect"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import { isBefore } from "../../../../kernel/values/Timestamp.ts"
import { accountName, totalKeyOf, totalNameOf } from "../Account.ts"
import type { Account, MeterUse } from "../Account.ts"
import type { TotalRow } from "../LedgerRepo.ts"
import type { Meter } from "../Model.ts"
import { noCredits } from "./MeterCredits.ts"
import type { MeterCredits } from "./MeterCredits.ts"
import { BurnRepo } from "./Repo.ts"
import type { CreditsAsked, PaidAsked } from "./Repo.ts"
import { withoutUses } from "./Settlement.ts"

type MeterKey = Pick<Meter, "instanceId" | "entitlementId">

const meterKey = ({ entitlementId, instanceId }: MeterKey): string => `${instanceId} ${entitlementId}`

const earliest = (one: Date, other: Date): Date => (isBefore(other, one) ? other : one)
const latest = (one: Date, other: Date): Date => (isBefore(one, other) ? other : one)

/** The credits that uses of one meter may need: those that can pay, and those that got something back or are set aside. */
const creditsAsked = (uses: ReadonlyArray<MeterUse>, returning: ReadonlyArray<string>): CreditsAsked => {
  const [first, ...others] = uses as readonly [MeterUse, ...Array<MeterUse>]
  return {
    instanceId: first.meter.instanceId,
    entitlementId: first.meter.entitlementId,
    since: others.reduce((instant, { at }) => earliest(instant, at), first.at),
    until: others.reduce((instant, { at }) => latest(instant, at), first.at),
    mayReturn: uses.some(({ mayReturn = false }) => mayReturn),
    credits: [...new Set([...returning, ...uses.flatMap(({ setAside = [] }) => setAside)])],
  }
}

/** The totals from which something may be returned, each with the latest instant. */
const totalsReturning = (uses: ReadonlyArray<MeterUse>): ReadonlyMap<string, PaidAsked> => {
  const totals = new Map<string, PaidAsked>()
  for (const use of uses) {
    if (use.mayReturn !== true) continue
    const name = accountName(use)
    const until = latest(totals.get(name)?.until ?? use.at, use.at)
    totals.set(name, { ...totalKeyOf(use), until })
  }
  return totals
}

/** Opens the credits of meters whose totals are locked. Nothing, if no use can need any. */
export const creditsOpening = Effect.map(BurnRepo, (repo) =>
  Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    uses: ReadonlyArray<MeterUse>,
    rows: ReadonlyArray<TotalRow>,
    at: Date,
  ) {
    const needed = uses.filter(({ meter, setAside = [] }) => meter.hasCredits === true || setAside.length > 0)
    if (needed.length === 0) return undefined
    const returning = totalsReturning(needed)
    const burned = new Set(rows.filter((row) => !BigDecimal.isZero(row.burned)).map(totalNameOf))
    const asked = Array.from(returning).flatMap(([name, total]) => (burned.has(name) ? [total] : []))
    const paid = asked.length === 0 ? [] : yield* repo.paid(organizationId, asked)
    const paidByTotal = Map.groupBy(paid, totalNameOf)
    const paidByMeter = Map.groupBy(paid, meterKey)
    const byMeter = Map.groupBy(needed, ({ meter }) => meterKey(meter))
    const locked = yield* repo.lock(
      organizationId,
      Array.from(byMeter, ([key, own]) =>
        creditsAsked(
          own,
          (paidByMeter.get(key) ?? []).map(({ credit }) => credit),
        ),
      ),
      at,
    )
    const credits = new Map(
      Array.from(Map.groupBy(locked, meterKey), ([key, own]): [string, MeterCredits] => [
        key,
        { all: own.map(({ credit }) => credit), readFor: null, uses: [] },
      ]),
    )
    return {
      creditsOf: (meter: Meter) => credits.get(meterKey(meter)),
      paidOf: (total: string) => (returning.has(total) ? (paidByTotal.get(total) ?? []) : undefined),
    }
  }),
)

/** Returns to credits what an event of a locked account burned. */
export const creditReturning = Effect.map(BurnRepo, (repo) =>
  Effect.fnUntraced(function* (account: Account, ordinal: number, at: Date): Effect.fn.Return<Account> {
    if (BigDecimal.isZero(account.burned)) return account
    const { entitlementId, instanceId, organizationId } = account.meter
    const key = { instanceId, entitlementId, periodStart: account.period.start }
    const paid = yield* repo.paidOf(organizationId, key, ordinal)
    if (paid.length === 0) return account
    const asked = { instanceId, entitlementId, since: at, until: at, mayReturn: false }
    const credits = [...new Set(paid.map(({ credit }) => credit))]
    const locked = yield* repo.lock(organizationId, [{ ...asked, credits }], at)
    yield* repo.voidUses(organizationId, paid, at)
    return withoutUses({ ...account, credits: { ...noCredits, all: locked.map(({ credit }) => credit) } }, paid)
  }),
)
