/**
 * Aggregates usage events to the usage of a period. Pure.
 *
 * {@link fold} is the definition: events in the order of their timestamps, and of arrival where timestamps are equal.
 * {@link add} computes the same total in constant time, event by event in the order of arrival. {@link valueOf}
 * computes the same value from sums of the database.
 */
import { BigDecimal } from "effect"
import { one, zero } from "../../../kernel/values/Decimal.ts"
import type { ReportAggregation } from "../../entitlements/Model.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"

/** A value that was reported for an instant. */
export interface UsageEvent {
  readonly timestamp: Date
  /** `set` replaces everything before it in the period. */
  readonly behavior: "append" | "set"
  readonly value: BigDecimal.BigDecimal
  /** What a `UNIQUE_COUNT` counts once. */
  readonly uniqueKey: string | null
}

/** The total of a period's events. */
export interface Total {
  readonly value: BigDecimal.BigDecimal
  /** All events, including those that no longer count for the value. */
  readonly eventCount: number
  /** Sum and number of the values since the newest `set`, including it. */
  readonly sum: BigDecimal.BigDecimal
  readonly valueCount: number
  /** The timestamps of the newest `set`, of the value of `LATEST`, and of the newest event. */
  readonly setAt: Date | null
  readonly latestAt: Date | null
  readonly lastAt: Date | null
  /** How many of the events were voided. `eventCount` counts them, because it numbers events. */
  readonly voidedCount?: number
}

const AVERAGE_DECIMALS = 18

/** The total of a period without events. */
export const emptyTotal: Total = {
  value: zero,
  eventCount: 0,
  sum: zero,
  valueCount: 0,
  setAt: null,
  latestAt: null,
  lastAt: null,
}

const later = (instant: Date | null, other: Date): Date => (instant === null || instant < other ? other : instant)

const average = (sum: BigDecimal.BigDecimal, count: number): BigDecimal.BigDecimal =>
  BigDecimal.round(BigDecimal.divideUnsafe(sum, BigDecimal.fromNumberUnsafe(count)), {
    scale: AVERAGE_DECIMALS,
    mode: "half-from-zero",
  })

const appended = (method: ReportAggregation, total: Total, event: UsageEvent, isNewKey: boolean): Total["value"] => {
  const { value } = event
  switch (method) {
    case "SUM":
      return BigDecimal.sum(total.value, value)
    case "COUNT":
      return BigDecimal.sum(total.value, one)
    case "AVERAGE":
      return average(BigDecimal.sum(total.sum, value), total.valueCount + 1)
    case "MIN":
      return total.valueCount === 0 ? value : BigDecimal.min(total.value, value)
    case "MAX":
      return total.valueCount === 0 ? value : BigDecimal.max(total.value, value)
    case "LATEST":
      return total.latestAt !== null && isBefore(event.timestamp, total.latestAt) ? total.value : value
    case "UNIQUE_COUNT":
      return isNewKey ? BigDecimal.sum(total.value, one) : total.value
  }
}

const append = (method: ReportAggregation, total: Total, event: UsageEvent, isNewKey: boolean): Total => ({
  ...total,
  value: appended(method, total, event, isNewKey),
  sum: BigDecimal.sum(total.sum, event.value),
  valueCount: total.valueCount + 1,
  latestAt: later(total.latestAt, event.timestamp),
})

const replace = (total: Total, event: UsageEvent): Total => ({
  ...total,
  value: event.value,
  sum: event.value,
  valueCount: 1,
  setAt: event.timestamp,
  latestAt: event.timestamp,
})

const counted = (total: Total, event: UsageEvent): Total => ({
  ...total,
  eventCount: total.eventCount + 1,
  lastAt: later(total.lastAt, event.timestamp),
})

/** Sorts events by timestamp. The sort is stable, so that events with equal timestamps stay in the order of arrival. */
const inOrder = <Event extends UsageEvent>(events: ReadonlyArray<Event>): ReadonlyArray<Event> =>
  events.toSorted((event, other) => event.timestamp.getTime() - other.timestamp.getTime())

/** The total of a period's events, which are passed in the order of arrival. */
export const fold = (method: ReportAggregation, events: ReadonlyArray<UsageEvent>): Total => {
  const keys = new Set<string | null>()
  return inOrder(events).reduce((total, event) => {
    const isNewKey = !keys.has(event.uniqueKey)
    keys.add(event.uniqueKey)
    return counted(event.behavior === "set" ? replace(total, event) : append(method, total, event, isNewKey), event)
  }, emptyTotal)
}

/**
 * Whether an event lowers what was counted. A `LATEST` is a measurement, whose next value may be lower; so may that of an
 * append to an `AVERAGE` or a `MIN`.
 */
export const lowers = (
  method: ReportAggregation,
  { behavior, value }: UsageEvent,
  before: BigDecimal.BigDecimal,
  after: BigDecimal.BigDecimal,
): boolean => {
  if (behavior === "append") return method === "SUM" && BigDecimal.isNegative(value)
  return method !== "LATEST" && BigDecimal.isLessThan(after, before)
}

/** Sums of a period's events from the newest `set` on, including it, or of all if there is none. */
export interface Summary {
  /** The value of that `set`. */
  readonly replacedBy: BigDecimal.BigDecimal | null
  readonly count: number
  /** The number of distinct unique keys. */
  readonly keys: number
  /** `null` if there are no events. */
  readonly sum: BigDecimal.BigDecimal | null
  readonly minimum: BigDecimal.BigDecimal | null
  readonly maximum: BigDecimal.BigDecimal | null
  readonly latest: BigDecimal.BigDecimal | null
}

/** The usage of a summary. */
export const valueOf = (method: ReportAggregation, summary: Summary): BigDecimal.BigDecimal => {
  const { count, replacedBy, sum } = summary
  switch (method) {
    case "SUM":
      return sum ?? zero
    case "COUNT":
      return replacedBy === null
        ? BigDecimal.fromNumberUnsafe(count)
        : BigDecimal.sum(replacedBy, BigDecimal.fromNumberUnsafe(count - 1))
    case "AVERAGE":
      return sum === null ? zero : average(sum, count)
    case "MIN":
      return summary.minimum ?? zero
    case "MAX":
      return summary.maximum ?? zero
    case "LATEST":
      return summary.latest ?? zero
    case "UNIQUE_COUNT":
      return BigDecimal.fromNumberUnsafe(summary.keys)
  }
}

/** Whether the event is a `set` that arrives after events of later instants. Those must be added again on top of it. */
export const isLateSet = (total: Total, { behavior, timestamp }: UsageEvent): boolean =>
  behavior === "set" &&
  total.lastAt !== null &&
  isBefore(timestamp, total.lastAt) &&
  (total.setAt === null || !isBefore(timestamp, total.setAt))

interface Addition {
  /** Whether the period's events so far lack its `uniqueKey`. */
  readonly isNewKey: boolean
  /** For a late `set` ({@link isLateSet}): the period's events with later timestamps, in the order of arrival. */
  readonly laterEvents: ReadonlyArray<UsageEvent>
}

/** The total after one more event. */
export const add = (
  method: ReportAggregation,
  total: Total,
  event: UsageEvent,
  { isNewKey, laterEvents }: Addition,
): Total => {
  // An event older than the newest set was replaced by it before it arrived.
  if (total.setAt !== null && isBefore(event.timestamp, total.setAt)) return counted(total, event)
  if (event.behavior === "append") return counted(append(method, total, event, isNewKey), event)
  const replaced = counted(replace(total, event), event)
  return inOrder(laterEvents).reduce((total, other) => append(method, total, other, false), replaced)
}
