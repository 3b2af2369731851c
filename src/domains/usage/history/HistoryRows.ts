/** The rows of a history, which one statement returns as JSON, as values. */
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { Total } from "../rules/Aggregation.ts"
import type { DaySums, HourSums, PeriodHours, Sums } from "./Rules.ts"

interface HourRow {
  readonly periodStart: Date
  readonly hour: Date
  readonly count: number
  readonly sum: string
  readonly minimum: string | null
  readonly maximum: string | null
  readonly latest: string | null
  readonly latestAt: Date | null
  readonly latestOrdinal: number | null
}

interface DayRow extends Omit<HistoryRow["hours"][number], "hour" | "latestOrdinal"> {
  readonly day: string
  readonly eventCount: number
  readonly lastAt: string | null
  readonly setAt: string | null
  readonly setValue: string | null
}

/** What one statement reads of a history. */
export interface HistoryRow {
  readonly days: ReadonlyArray<DayRow>
  readonly totals: ReadonlyArray<{
    readonly periodStart: string
    readonly value: string
    readonly sum: string
    readonly valueCount: number
    readonly setAt: string | null
  }>
  readonly hours: ReadonlyArray<
    Omit<HourRow, "periodStart" | "hour" | "latestAt"> & {
      readonly periodStart: string
      readonly hour: string
      readonly latestAt: string | null
    }
  >
}

const sumsOf = (row: Omit<HistoryRow["hours"][number], "hour">): Sums => ({
  count: row.count,
  sum: storedDecimal(row.sum),
  minimum: row.minimum === null ? null : storedDecimal(row.minimum),
  maximum: row.maximum === null ? null : storedDecimal(row.maximum),
  latest:
    row.latest === null || row.latestAt === null
      ? null
      : { value: storedDecimal(row.latest), at: new Date(row.latestAt), ordinal: row.latestOrdinal ?? 0 },
})

const hourOf = (row: HistoryRow["hours"][number]): HourSums => ({ ...sumsOf(row), hour: new Date(row.hour) })

const dayOf = (row: DayRow): DaySums => ({
  ...sumsOf({ ...row, latestOrdinal: 0 }),
  day: new Date(row.day),
  eventCount: row.eventCount,
  lastAt: new Date(row.lastAt ?? row.day),
  set: row.setAt === null ? null : { at: new Date(row.setAt), value: storedDecimal(row.setValue ?? "0") },
})

/** The totals of a history, each with its hours and its days of dropped events. */
export const periodsOf = ({ days, hours, totals }: HistoryRow): ReadonlyArray<PeriodHours> => {
  const byPeriod = Map.groupBy(hours, ({ periodStart }) => periodStart)
  const daysByPeriod = Map.groupBy(days, ({ periodStart }) => periodStart)
  return totals.map(({ periodStart, setAt, sum, value, valueCount }) => {
    const total: Pick<Total, "value" | "sum" | "valueCount" | "setAt"> = {
      value: storedDecimal(value),
      sum: storedDecimal(sum),
      valueCount,
      setAt: setAt === null ? null : new Date(setAt),
    }
    return {
      periodStart: new Date(periodStart),
      total,
      hours: (byPeriod.get(periodStart) ?? []).map(hourOf),
      days: (daysByPeriod.get(periodStart) ?? []).map(dayOf),
    }
  })
}
