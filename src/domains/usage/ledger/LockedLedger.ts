/** Opens accounts under their locks and closes them: what reports, consumed checks and usage events have in common. */
import { Context, Effect, Layer, Option } from "effect"
import type { EventSource } from "../../events/Service.ts"
import { Events } from "../../events/Service.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { EventName } from "../../../kernel/contract/Event.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"
import {
  accountName,
  accountOf,
  entryOf,
  withCapExceeded,
  isChanged,
  periodFor,
  totalKeyOf,
  totalNameOf,
} from "./Account.ts"
import type { Account, MeterUse } from "./Account.ts"
import { emptyTotal } from "../rules/Aggregation.ts"
import { newlyCrossed } from "../rules/Limits.ts"
import type { Crossings } from "../rules/Limits.ts"
import { LedgerRepo } from "./LedgerRepo.ts"
import type { TotalRow } from "./LedgerRepo.ts"
import type { Meter, UsageEntry } from "./Model.ts"
import { OptimisticRepo } from "./OptimisticRepo.ts"

const eventOf: Record<keyof Crossings, EventName> = {
  warned: "ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED",
  limitReached: "ENTITLEMENT_USAGE_LIMIT_REACHED",
  capExceeded: "ENTITLEMENT_USAGE_CAP_EXCEEDED",
}

const make = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const optimisticRepo = yield* OptimisticRepo
  const events = yield* Events
  const transactions = yield* Transactions

  /** Accounts by name, locked until the transaction ends. The statement behind the lock sees what others committed. */
  const open = Effect.fnUntraced(function* (organizationId: string, usages: ReadonlyArray<MeterUse>) {
    const byName = new Map(usages.map((usage) => [accountName(usage), usage] as const))
    const keys = Array.from(byName.values(), (usage) => ({
      ...totalKeyOf(usage),
      periodEnd: periodFor(usage.meter, usage.at).end,
    }))
    const rows = yield* repo.lockTotals(organizationId, keys, yield* now)
    const keyed = usages.flatMap((usage) =>
      usage.meter.aggregationMethod === "UNIQUE_COUNT" && usage.uniqueKey !== null
        ? [{ ...totalKeyOf(usage), uniqueKey: usage.uniqueKey }]
        : [],
    )
    const counted = keyed.length === 0 ? [] : yield* repo.countedKeys(organizationId, keyed)
    const known = Map.groupBy(counted, totalNameOf)
    const accounts = new Map<string, Account>()
    for (const row of rows) {
      const name = totalNameOf(row)
      const usage = byName.get(name)
      if (usage === undefined) continue
      const counted = known.get(name)?.map(({ uniqueKey }) => uniqueKey)
      accounts.set(name, accountOf(usage.meter, periodFor(usage.meter, usage.at), row, counted))
    }
    return accounts
  })

  /** Stores accounts that {@link open} has locked, and tells the thresholds that they crossed. */
  const close = Effect.fnUntraced(function* (caller: EventSource, accounts: ReadonlyArray<Account>) {
    const changed = accounts.filter(isChanged)
    if (changed.length === 0) return
    if (!(yield* optimisticRepo.store(changed, yield* now)).has(caller.organizationId)) {
      return yield* Effect.die(new Error("A locked total has changed"))
    }
    const newKeys = changed.flatMap((account) =>
      Array.from(account.newKeys, (uniqueKey) => ({
        ...totalKeyOf({ meter: account.meter, at: account.period.start }),
        uniqueKey,
      })),
    )
    if (newKeys.length > 0) yield* repo.storeKeys(caller.organizationId, newKeys)
    for (const { crossings, meter, period, stored, total } of changed) {
      for (const threshold of newlyCrossed(stored.crossings, crossings)) {
        yield* events.emit(caller, eventOf[threshold], {
          instanceId: meter.instanceId,
          instanceSlug: meter.instance,
          licenseSlug: meter.license,
          ...entryOf(meter, period, total),
        })
      }
    }
  })

  /** Tells that the cap of a period was exceeded, where the transaction that refused it is rolled back. */
  const tellExceeded = Effect.fnUntraced(function* (meter: Meter, at: Date) {
    const caller = yield* Caller
    const accounts = yield* open(caller.organizationId, [{ meter, at, uniqueKey: null }])
    yield* close(caller, Array.from(accounts.values(), withCapExceeded))
  })

  /**
   * Work in a transaction, whose refusal for a cap is a value, so that its threshold event commits. Under an idempotency key
   * the transaction is the key's, and with the refusal it takes all back: the event is then written behind it, before the
   * caller is answered.
   */
  const decided = Effect.fnUntraced(function* <A extends object, E, R>(
    work: Effect.Effect<A, E, R>,
    refusedIn: (answer: A) => Account | undefined,
  ) {
    const answer = yield* transactions.run(work)
    const refused = refusedIn(answer)
    const outer = yield* Effect.serviceOption(Transaction)
    if (refused !== undefined && Option.isSome(outer)) {
      const caller = yield* Caller
      const { meter, period } = refused
      const tell = transactions.run(tellExceeded(meter, period.start))
      outer.value.afterRollback(Effect.provideService(tell, Caller, caller))
    }
    return answer
  })

  /** The entries of these meters for the periods of an instant. */
  const entries = Effect.fnUntraced(function* (organizationId: string, meters: ReadonlyArray<Meter>, at: Date) {
    const rows: ReadonlyArray<TotalRow> =
      meters.length === 0
        ? []
        : yield* repo.totals(
            organizationId,
            meters.map((meter) => totalKeyOf({ meter, at })),
          )
    const totals = new Map(rows.map((row) => [totalNameOf(row), row.total] as const))
    return meters.map((meter): UsageEntry =>
      entryOf(meter, periodFor(meter, at), totals.get(accountName({ meter, at })) ?? emptyTotal),
    )
  })

  return { open, close, decided, entries }
})

/** Accounts of usage. */
export class LockedLedger extends Context.Service<LockedLedger, Effect.Success<typeof make>>()(
  "keyshelf/usage/ledger/LockedLedger",
) {
  static readonly layer = Layer.effect(LockedLedger, make)
}
