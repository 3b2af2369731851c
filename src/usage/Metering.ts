/** Opens accounts under their locks and closes them: what reports, consumed checks and usage events have in common. */
import { Context, Effect, Layer, Option } from "effect"
import type { EventSource } from "../events/Service.ts"
import { Events } from "../events/Service.ts"
import { Caller } from "../kernel/Caller.ts"
import type { EventName } from "../kernel/Event.ts"
import { now } from "../kernel/Timestamp.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
import { entryOf, exceeded, periodFor } from "./Account.ts"
import type { Account } from "./Account.ts"
import { nothing } from "./Aggregation.ts"
import { newlyCrossed } from "./Limits.ts"
import type { Crossings } from "./Limits.ts"
import { MeterRepo } from "./MeterRepo.ts"
import type { TotalKey, TotalRow } from "./MeterRepo.ts"
import type { Meter, UsageEntry } from "./Model.ts"

/** Usage of a meter at an instant, about to be posted. */
export interface Usage {
  readonly meter: Meter
  readonly at: Date
  readonly uniqueKey: string | null
}

const eventOf: Record<keyof Crossings, EventName> = {
  warned: "ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED",
  limitReached: "ENTITLEMENT_USAGE_LIMIT_REACHED",
  capExceeded: "ENTITLEMENT_USAGE_CAP_EXCEEDED",
}

const keyOf = ({ meter, at }: Pick<Usage, "meter" | "at">): TotalKey => ({
  instanceId: meter.instanceId,
  entitlementId: meter.entitlementId,
  periodStart: periodFor(meter, at).start,
})

const nameOf = ({ instanceId, entitlementId, periodStart }: TotalKey): string =>
  `${instanceId} ${entitlementId} ${periodStart.getTime()}`

/** The name of an instance's meter, by their slugs. */
export const meterName = ({ entitlement, instance }: Pick<Meter, "entitlement" | "instance">): string =>
  JSON.stringify([instance, entitlement])

/** The name of the account that usage is posted to. */
export const accountName = (usage: Pick<Usage, "meter" | "at">): string => nameOf(keyOf(usage))

const make = Effect.gen(function* () {
  const repo = yield* MeterRepo
  const events = yield* Events
  const transactions = yield* Transactions

  /** Accounts by name, locked until the transaction ends. The statement behind the lock sees what others committed. */
  const open = Effect.fnUntraced(function* (organizationId: string, usages: ReadonlyArray<Usage>) {
    const byName = new Map(usages.map((usage) => [accountName(usage), usage] as const))
    const keys = Array.from(byName.values(), (usage) => ({
      ...keyOf(usage),
      periodEnd: periodFor(usage.meter, usage.at).end,
    }))
    const rows = yield* repo.lockTotals(organizationId, keys, yield* now)
    const keyed = usages.flatMap((usage) =>
      usage.meter.aggregationMethod === "UNIQUE_COUNT" && usage.uniqueKey !== null
        ? [{ ...keyOf(usage), uniqueKey: usage.uniqueKey }]
        : [],
    )
    const counted = keyed.length === 0 ? [] : yield* repo.countedKeys(organizationId, keyed)
    const known = Map.groupBy(counted, nameOf)
    const accounts = new Map<string, Account>()
    for (const row of rows) {
      const name = nameOf(row)
      const usage = byName.get(name)
      if (usage === undefined) continue
      accounts.set(name, {
        meter: usage.meter,
        period: periodFor(usage.meter, usage.at),
        held: row.held,
        decidedAt: row.decidedAt,
        stored: row,
        total: row.total,
        crossings: row.crossings,
        events: [],
        knownKeys: new Set(known.get(name)?.map(({ uniqueKey }) => uniqueKey)),
        newKeys: new Set(),
      })
    }
    return accounts
  })

  /** Stores accounts, and tells the thresholds that they crossed, in the transaction that opened them. */
  const close = Effect.fnUntraced(function* (caller: EventSource, accounts: ReadonlyArray<Account>) {
    const changed = accounts.filter(
      ({ crossings, events, stored }) => events.length > 0 || newlyCrossed(stored.crossings, crossings).length > 0,
    )
    if (changed.length === 0) return
    yield* repo.store(caller.organizationId, changed, { at: yield* now, actor: caller.actor })
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
    yield* close(caller, Array.from(accounts.values(), exceeded))
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
            meters.map((meter) => keyOf({ meter, at })),
          )
    const totals = new Map(rows.map((row) => [nameOf(row), row.total] as const))
    return meters.map((meter): UsageEntry =>
      entryOf(meter, periodFor(meter, at), totals.get(accountName({ meter, at })) ?? nothing),
    )
  })

  return { open, close, decided, entries }
})

/** Accounts of usage. */
export class Metering extends Context.Service<Metering, Effect.Success<typeof make>>()("keyshelf/usage/Metering") {
  static readonly layer = Layer.effect(Metering, make)
}
