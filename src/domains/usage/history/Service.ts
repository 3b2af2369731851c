/** Use cases of the events of an entitlement, and of its history (docs/usage.md). */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { failWithErrors, invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { amountOf, storedDecimal } from "../../../kernel/values/Decimal.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { AggregationMethod, ReportAggregation } from "../../entitlements/Model.ts"
import { Events } from "../../events/Service.ts"
import { UsageEventNotFound } from "../Errors.ts"
import { isConcurrent, methodOf } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import type { Meter } from "../ledger/Model.ts"
import { UsageReports } from "../reports/Service.ts"
import { crossingsAt, limitOf } from "../rules/Limits.ts"
import type { HistoryQuery, UsageBucket, UsageEventFilters, UsageEventRecord } from "./Model.ts"
import { UsageEventsRepo } from "./Repo.ts"
import type { EventRow } from "./Repo.ts"
import { RollupsRepo } from "./RollupsRepo.ts"
import { bucketBounds, bucketsOf, contributions, eventId, placeOf, rangeErrors, totalWithout } from "./Rules.ts"
import type { PeriodHours } from "./Rules.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"

const eventOf = (meter: Meter, { behavior: _, ordinal, periodStart, value, ...event }: EventRow): UsageEventRecord => ({
  id: eventId({ periodStart, ordinal }, meter),
  value: amountOf(storedDecimal(value)),
  ...event,
})

/** Whether the count and the sum of an hour are enough. */
const isSummed = (method: AggregationMethod): boolean => method === "SUM" || method === "COUNT" || method === "AVERAGE"

const hoursAreGone = ({ bucket }: HistoryQuery) =>
  invalid("query.bucket", "must be DAY or MONTH: events of that time are no longer stored, only sums of days", bucket)

const isReported = (meter: Meter): boolean => meter.type === "NUMBER" && !isConcurrent(meter)

/** The events of usage in the caller's organization. */
export class UsageEvents extends Context.Service<
  UsageEvents,
  {
    /** ??? */
    readonly list: (
      instance: string,
      entitlement: string,
      input: PageRequest & UsageEventFilters,
    ) => Effect.Effect<
      {
        readonly items: UsageEventRecord[]
        readonly hasMore: boolean
        readonly nextCursor: string
      },
      InstanceNotFound | EntitlementNotFound | InvalidCursor,
      Caller
    >
    /** ??? */
    readonly void: (
      instance: string,
      entitlement: string,
      id: string,
    ) => Effect.Effect<void, InstanceNotFound | EntitlementNotFound | UsageEventNotFound, Caller>
    /** ??? */
    readonly history: (
      instance: string,
      entitlement: string,
      query: HistoryQuery,
    ) => Effect.Effect<
      {
        readonly items: ReadonlyArray<UsageBucket>
      },
      ValidationFailed | InstanceNotFound | EntitlementNotFound,
      Caller
    >
  }
>()("keyshelf/usage/history/UsageEvents") {
  static readonly layer = Layer.effect(
    UsageEvents,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* UsageEventsRepo
  const rollups = yield* RollupsRepo
  const meters = yield* LedgerRepo
  const ledger = yield* LockedLedger
  const reports = yield* UsageReports
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const meterOf = Effect.fnUntraced(function* (instance: string, entitlement: string) {
    const { organizationId } = yield* Caller
    const [meter] = yield* meters.find(organizationId, instance, entitlement, yield* now)
    return meter ?? (yield* reports.failMissing(organizationId, instance, entitlement))
  })

  const list = Effect.fn("UsageEvents.list")(function* (
    instance: string,
    entitlement: string,
    { since, until, ...request }: PageRequest & UsageEventFilters,
  ) {
    const meter = yield* meterOf(instance, entitlement)
    const { entitlementId, instanceId, organizationId } = meter
    const filters = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
    const page = yield* cursors.page(
      { name: "usage-events", organizationId, filters: { instanceId, entitlementId, ...filters } },
      request,
      (after, count) => repo.list(meter, filters, after, count),
      ({ ordinal, periodStart, timestamp }) => [periodStart.getTime(), timestamp.getTime(), ordinal],
    )
    return { ...page, items: page.items.map((row) => eventOf(meter, row)) }
  })

  /** The account without an event: computed from the total if that is enough, otherwise from the other events. */
  const accountWithout = Effect.fnUntraced(function* (account: Account, event: EventRow) {
    const { meter, total } = account
    const method = methodOf(meter) as ReportAggregation
    const key = { ...meter, periodStart: event.periodStart }
    const left =
      totalWithout(method, total, { ...event, value: storedDecimal(event.value) }) ??
      (yield* repo.totalWithout(key, event.ordinal, method, total))
    const crossings = crossingsAt(
      limitOf(meter.grant),
      meter.warningThresholdPercent,
      account.crossings,
      total.value,
      left.value,
    )
    return { ...account, total: left, crossings }
  })

  const remove = Effect.fn("UsageEvents.void")(function* (instance: string, entitlement: string, id: string) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    const notFound = new UsageEventNotFound({ detail: noSuch("usage event", id) })
    yield* transactions.run(
      Effect.gen(function* () {
        yield* rollups.planWithoutJit
        const [meter] = yield* meters.keep(organizationId, [{ instance, entitlement }], yield* now)
        if (meter === undefined) return yield* reports.failMissing(organizationId, instance, entitlement)
        const place = Option.filter(placeOf(id, meter), () => isReported(meter))
        if (Option.isNone(place)) return yield* notFound
        const { ordinal, periodStart } = place.value
        const key = { ...meter, periodStart }
        if (Option.isNone(yield* repo.find(key, ordinal))) return yield* notFound
        const accounts = yield* ledger.openPeriod(meter, periodStart)
        const found = yield* repo.find(key, ordinal)
        if (Option.isNone(found) || accounts === undefined) return yield* notFound
        const event = found.value
        yield* ledger.close(caller, [yield* accountWithout(accounts, event)])
        const at = yield* now
        yield* repo.markVoided(key, ordinal, actor, at)
        const rolledTo = yield* rollups.lock(key)
        if (ordinal <= rolledTo) {
          yield* isSummed(methodOf(meter))
            ? rollups.subtract(key, event.timestamp, event.value)
            : rollups.recompute(key, event.timestamp, rolledTo)
        }
        yield* events.emit(caller, "USAGE_EVENT_VOIDED", {
          ...eventOf(meter, event),
          voidedAt: at,
          voidedBy: actor,
          instanceId: meter.instanceId,
          instanceSlug: meter.instance,
          entitlementSlug: meter.entitlement,
        })
      }),
    )
  })

  /** Adds what the extremes of a total are from its newest `set` on. */
  const withSet = Effect.fnUntraced(function* (meter: Meter, period: PeriodHours) {
    const { periodStart, total } = period
    const method = methodOf(meter)
    if (total.setAt === null || (method !== "MIN" && method !== "MAX")) return period
    return { ...period, sinceSet: yield* rollups.sinceSet({ ...meter, periodStart }, total.setAt) }
  })

  const uniqueHistory = Effect.fnUntraced(function* (meter: Meter, query: HistoryQuery, bounds: ReadonlyArray<Date>) {
    const [from, to] = [bounds[0] as Date, bounds.at(-1) as Date]
    const found = yield* rollups.uniqueKeys(meter, query.bucket, from, to)
    if (query.bucket === "HOUR" && found.some(({ isDropped }) => isDropped)) return yield* hoursAreGone(query)
    const byStart = new Map(found.map((row) => [row.start.getTime(), row]))
    return bounds.slice(0, -1).map((start, index): UsageBucket => {
      const row = byStart.get(start.getTime())
      return { start, end: bounds[index + 1] as Date, value: row?.keys ?? 0, event_count: row?.events ?? 0 }
    })
  })

  const history = Effect.fn("UsageEvents.history")(function* (
    instance: string,
    entitlement: string,
    query: HistoryQuery,
  ) {
    const meter = yield* meterOf(instance, entitlement)
    if (!isReported(meter)) {
      return yield* invalid("path.entitlementSlug", "must be an entitlement whose usage is reported", entitlement)
    }
    yield* failWithErrors(rangeErrors(query))
    const bounds = bucketBounds(query) ?? []
    const method = methodOf(meter) as ReportAggregation
    if (method === "UNIQUE_COUNT") return { items: yield* uniqueHistory(meter, query, bounds) }
    const periods = yield* transactions.run(
      Effect.andThen(rollups.planWithoutJit, rollups.periods(meter, bounds[0] as Date, bounds.at(-1) as Date)),
    )
    if (query.bucket === "HOUR" && periods.some(({ days = [] }) => days.length > 0)) return yield* hoursAreGone(query)
    const exact = yield* Effect.forEach(periods, (period) => withSet(meter, period))
    return {
      items: bucketsOf(
        method,
        bounds,
        exact.flatMap((period) => contributions(method, period)),
      ),
    }
  })

  return { list, void: remove, history }
})
