/** Opens accounts under their locks and closes them: what reports, consumed checks and usage events have in common. */
import { Context, Effect, Layer } from "effect"
import type { EventSource } from "../events/Service.ts"
import { Events } from "../events/Service.ts"
import type { EventName } from "../kernel/Event.ts"
import { now } from "../kernel/Timestamp.ts"
import { entryOf, periodFor } from "./Account.ts"
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

/** The name of the account that usage is posted to. */
export const accountName = (usage: Pick<Usage, "meter" | "at">): string => nameOf(keyOf(usage))

const make = Effect.gen(function* () {
  const repo = yield* MeterRepo
  const events = yield* Events

  /** Accounts by name, locked until the transaction ends. The statement behind the lock sees what others committed. */
  const open = Effect.fnUntraced(function* (organizationId: string, usages: ReadonlyArray<Usage>) {
    const byName = new Map(usages.map((usage) => [accountName(usage), usage] as const))
    const rows = yield* repo.lockTotals(
      organizationId,
      Array.from(byName.values(), (usage) => keyOf(usage)),
    )
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

  return { open, close, entries }
})

/** Accounts of usage. */
export class Metering extends Context.Service<Metering, Effect.Success<typeof make>>()("keyshelf/usage/Metering") {
  static readonly layer = Layer.effect(Metering, make)
}
