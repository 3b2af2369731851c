/**
 * Opens accounts under locks and closes them, for what the optimistic ledger cannot decide.
 *
 * The lock order of all transactions that count usage. Each step is optional; ids and totals are locked in the order of
 * their keys:
 *
 * 1. the instance and the entitlement, for key share, so that neither is deleted (`LedgerRepo.lockShared`);
 * 2. the ids that count a request once: a transaction id, or event ids by source and id (`CountedIdsRepo`); of usage from
 *    offline, the row of its ledger;
 * 3. the totals, by instance, entitlement and start of the period (`LedgerRepo.lockTotals`, `CloudEventsRepo.post`);
 * 4. the credits, by id (`BurnRepo.lock`);
 * 5. the reservation that a commit ends, the tranches of a ledger, the unique keys of the totals, what ledgers brought, and allowances
 *    that end.
 *
 * The optimistic ledger skips locked totals, so that it never waits (`OptimisticRepo.store`).
 */
import { BigDecimal, Context, Effect, Layer, Option } from "effect"
import type { EventSource } from "../../events/Service.ts"
import { Events } from "../../events/Service.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { RecordEventName } from "../../../kernel/contract/Event.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import {
  accountName,
  accountOf,
  entryOf,
  isChanged,
  isConcurrent,
  periodFor,
  totalKeyOf,
  totalNameOf,
  withCapExceeded,
} from "./Account.ts"
import type { Account, MeterUse } from "./Account.ts"
import { creditReturning, creditsOpening } from "./burning/Opening.ts"
import { burnStoring } from "./burning/Storing.ts"
import { emptyTotal } from "../rules/Aggregation.ts"
import type { Total } from "../rules/Aggregation.ts"
import { newlyCrossed } from "../rules/Limits.ts"
import type { Crossings } from "../rules/Limits.ts"
import type { LockedOperations } from "./LockedAccounts.ts"
import { LedgerRepo } from "./LedgerRepo.ts"
import type { TotalRow } from "./LedgerRepo.ts"
import type { Meter, UsageEntry } from "./Model.ts"
import { OptimisticRepo } from "./optimistic/OptimisticRepo.ts"

const thresholdEvents: Record<keyof Crossings, RecordEventName> = {
  warned: "ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED",
  limitReached: "ENTITLEMENT_USAGE_LIMIT_REACHED",
  capExceeded: "ENTITLEMENT_USAGE_CAP_EXCEEDED",
}

/** The unique keys that accounts count for the first time. */
const newKeysOf = (accounts: ReadonlyArray<Account>) =>
  accounts.flatMap((account) =>
    Array.from(account.newKeys, (uniqueKey) => ({
      ...totalKeyOf({ meter: account.meter, at: account.period.start }),
      uniqueKey,
    })),
  )

/** The unique keys of uses that their totals may have counted already. */
const keysToLookUp = (uses: ReadonlyArray<MeterUse>) =>
  uses.flatMap((use) =>
    use.meter.aggregationMethod === "UNIQUE_COUNT" && use.uniqueKey !== null
      ? [{ ...totalKeyOf(use), uniqueKey: use.uniqueKey }]
      : [],
  )

const idsOf = ({ entitlementId, instanceId }: Meter) => ({ instanceId, entitlementId })

/** How many hold a lease of the meter, as a total. No reports are in it. */
const leasedTotal = (
  meter: Meter,
  live: ReadonlyArray<{ readonly instanceId: string; readonly entitlementId: string; readonly count: number }>,
): Total => {
  const own = live.find(
    ({ entitlementId, instanceId }) => entitlementId === meter.entitlementId && instanceId === meter.instanceId,
  )
  return { ...emptyTotal, value: BigDecimal.fromNumberUnsafe(own?.count ?? 0) }
}

/** Accounts of usage under locks. */
export class LockedLedger extends Context.Service<LockedLedger, LockedOperations>()(
  "keyshelf/usage/ledger/LockedLedger",
) {
  static readonly layer = Layer.suspend(() => Layer.effect(LockedLedger, make))
}

const opening = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const openCredits = yield* creditsOpening

  const open = Effect.fnUntraced(function* (organizationId: OrganizationId, uses: ReadonlyArray<MeterUse>) {
    const byName = new Map(uses.map((use) => [accountName(use), use] as const))
    const keys = Array.from(byName.values(), (use) => ({
      ...totalKeyOf(use),
      periodEnd: periodFor(use.meter, use.at).end,
    }))
    const at = yield* now
    const rows = yield* repo.lockTotals(organizationId, keys, at)
    const lookedUp = keysToLookUp(uses)
    const counted = lookedUp.length === 0 ? [] : yield* repo.countedKeys(organizationId, lookedUp)
    const countedByTotal = Map.groupBy(counted, totalNameOf)
    const burning = yield* openCredits(organizationId, uses, rows, at)
    const accounts = new Map<string, Account>()
    for (const row of rows) {
      const name = totalNameOf(row)
      const use = byName.get(name)
      if (use === undefined) continue
      const knownKeys = countedByTotal.get(name)?.map(({ uniqueKey }) => uniqueKey)
      const credits = burning?.creditsOf(use.meter)
      const opened = { credits, paid: burning?.paidOf(name), knownKeys }
      accounts.set(name, accountOf(use.meter, periodFor(use.meter, use.at), row, opened))
    }
    return accounts
  })

  const openPeriod = Effect.fnUntraced(function* (meter: Meter, periodStart: Date) {
    const key = { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart, periodEnd: null }
    const [row] = yield* repo.lockTotals(meter.organizationId, [key], yield* now)
    if (row === undefined) return undefined
    const period = periodFor(meter, periodStart)
    // The reset period or the start of the license was another one when the period began.
    const isSame = period.start.getTime() === periodStart.getTime()
    return accountOf(meter, isSame ? period : { start: periodStart, end: null }, row)
  })

  return { open, openPeriod }
})

const closing = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const optimisticRepo = yield* OptimisticRepo
  const events = yield* Events
  const storeBurns = yield* burnStoring

  const emitCrossings = Effect.fnUntraced(function* (
    caller: EventSource,
    { crossings, meter, period, stored, total }: Account,
  ) {
    for (const threshold of newlyCrossed(stored.crossings, crossings)) {
      yield* events.emit(caller, thresholdEvents[threshold], {
        instanceId: meter.instanceId,
        instanceSlug: meter.instance,
        licenseSlug: meter.license,
        ...entryOf(meter, period, total),
      })
    }
  })

  return Effect.fnUntraced(function* (caller: EventSource, accounts: ReadonlyArray<Account>) {
    const changed = accounts.filter(isChanged)
    if (changed.length === 0) return
    if (!(yield* optimisticRepo.store(changed, yield* now)).has(caller.organizationId)) {
      return yield* Effect.die(new Error("A locked total has changed"))
    }
    yield* storeBurns(caller, changed)
    const newKeys = newKeysOf(changed)
    if (newKeys.length > 0) yield* repo.storeKeys(caller.organizationId, newKeys)
    for (const account of changed) yield* emitCrossings(caller, account)
  })
})

const reading = Effect.map(LedgerRepo, (repo) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId, meters: ReadonlyArray<Meter>, at: Date) {
    const rows: ReadonlyArray<TotalRow> =
      meters.length === 0
        ? []
        : yield* repo.totals(
            organizationId,
            meters.map((meter) => totalKeyOf({ meter, at })),
          )
    const leased = meters.filter(isConcurrent)
    const live = leased.length === 0 ? [] : yield* repo.liveLeases(organizationId, leased.map(idsOf), at)
    const totals = new Map<string, Total>([
      ...rows.map((row) => [totalNameOf(row), row.total] as const),
      ...leased.map((meter) => [accountName({ meter, at }), leasedTotal(meter, live)] as const),
    ])
    return meters.map((meter): UsageEntry =>
      entryOf(meter, periodFor(meter, at), totals.get(accountName({ meter, at })) ?? emptyTotal),
    )
  }),
)

const make = Effect.gen(function* () {
  const transactions = yield* Transactions
  const { open, openPeriod } = yield* opening
  const close = yield* closing

  /** Stores that the cap of a period was exceeded, after the transaction that noticed it was rolled back. */
  const storeCapExceeded = Effect.fnUntraced(function* (meter: Meter, at: Date) {
    const caller = yield* Caller
    const accounts = yield* open(caller.organizationId, [{ meter, at, uniqueKey: null }])
    yield* close(caller, Array.from(accounts.values(), withCapExceeded))
  })

  const runWithCapEvent = Effect.fnUntraced(function* <A, E, R>(
    work: Effect.Effect<A, E, R>,
    accountWithCapExceeded: (answer: A) => Account | undefined,
  ) {
    const answer = yield* transactions.run(work)
    const exceeded = accountWithCapExceeded(answer)
    const outer = yield* Effect.serviceOption(Transaction)
    if (exceeded !== undefined && Option.isSome(outer)) {
      const caller = yield* Caller
      const { meter, period } = exceeded
      const store = transactions.run(storeCapExceeded(meter, period.start))
      outer.value.afterRollback(Effect.provideService(store, Caller, caller))
    }
    return answer
  })

  const returnCredits = yield* creditReturning
  return LockedLedger.of({ open, openPeriod, returnCredits, close, runWithCapEvent, entries: yield* reading })
})
