/** The history of an entitlement: its usage in each hour, day or month of a time. */
import { Effect } from "effect"
import { failWithErrors, invalid } from "../../../kernel/contract/Problem.ts"
import type { ReportAggregation } from "../../entitlements/Model.ts"
import { methodOf } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import { meterReader } from "./Meters.ts"
import type { HistoryQuery, UsageBucket } from "./Model.ts"
import { isReported } from "./Records.ts"
import { RollupsRepo } from "./RollupsRepo.ts"
import { bucketBounds, bucketsOf, contributions, rangeErrors } from "./Rules.ts"
import type { PeriodHours } from "./Rules.ts"

const hoursAreGone = ({ bucket }: HistoryQuery) =>
  invalid("query.bucket", "must be DAY or MONTH: events of that time are no longer stored, only sums of days", bucket)

export const historyReader = Effect.gen(function* () {
  const rollups = yield* RollupsRepo
  const meterOf = yield* meterReader

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

  return Effect.fn("UsageEvents.history")(function* (instance: string, entitlement: string, query: HistoryQuery) {
    const meter = yield* meterOf(instance, entitlement)
    if (!isReported(meter)) {
      return yield* invalid("path.entitlementSlug", "must be an entitlement whose usage is reported", entitlement)
    }
    yield* failWithErrors(rangeErrors(query))
    const bounds = bucketBounds(query) ?? []
    const method = methodOf(meter) as ReportAggregation
    if (method === "UNIQUE_COUNT") return { items: yield* uniqueHistory(meter, query, bounds) }
    const periods = yield* rollups.periods(meter, bounds[0] as Date, bounds.at(-1) as Date)
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
})
