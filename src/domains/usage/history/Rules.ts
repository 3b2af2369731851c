/** Rules of events and buckets. Pure. */
import { BigDecimal, Option } from "effect"
import { createHash } from "node:crypto"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { amountOf, zero } from "../../../kernel/values/Decimal.ts"
import {
  DAY_MS,
  HOUR_MS,
  isBefore,
  isWritable,
  LAST_INSTANT_MS,
  monthStartMs,
} from "../../../kernel/values/Timestamp.ts"
import type { ReportAggregation } from "../../entitlements/Model.ts"
import { valueOf } from "../rules/Aggregation.ts"
import type { Total, UsageEvent } from "../rules/Aggregation.ts"
import type { TotalKey } from "../ledger/Account.ts"
import { MAX_BUCKETS } from "./Model.ts"
import type { BucketSize, HistoryQuery, UsageBucket } from "./Model.ts"

/** Where an event is stored. */
interface EventPlace {
  readonly periodStart: Date
  readonly ordinal: number
}

/** What an event was counted for. */
type EventMeter = Pick<TotalKey, "instanceId" | "entitlementId">

// 64 bits: no two meters of an organization share them.
const MAX_METER_LENGTH = 16

const meterText = ({ entitlementId, instanceId }: EventMeter): string =>
  createHash("sha256").update(`${instanceId} ${entitlementId}`).digest("hex").slice(0, MAX_METER_LENGTH)

/** The start of an event's period and its number in it: the whole id in the release before. */
export const placeText = ({ ordinal, periodStart }: EventPlace): string =>
  `${periodStart.getTime().toString(36)}-${ordinal.toString(36)}`

/** The id of an event, which no other one of the organization has. It is computed, because a column would cost each report. */
export const eventId = (place: EventPlace, meter: EventMeter): string => `${placeText(place)}-${meterText(meter)}`

/** The place of a meter's event that an id names. The id of another meter's event names none. */
export const placeOf = (id: string, meter: EventMeter): Option.Option<EventPlace> => {
  const [, start, ordinal] = /^(-?[0-9a-z]{1,11})-([0-9a-z]{1,10})(?:-[0-9a-f]{16})?$/.exec(id) ?? []
  if (start === undefined || ordinal === undefined) return Option.none()
  const place = { periodStart: new Date(Number.parseInt(start, 36)), ordinal: Number.parseInt(ordinal, 36) }
  if (!isWritable(place.periodStart.getTime())) return Option.none()
  return id === eventId(place, meter) || id === placeText(place) ? Option.some(place) : Option.none()
}

/**
 * The total without one of its events, if that follows from the total and the event alone. `undefined` if the other events have to be
 * read: for a `set`, for one at the instant of the newest set, and for aggregations that a single event can determine.
 */
export const totalWithout = (method: ReportAggregation, total: Total, event: UsageEvent): Total | undefined => {
  if (event.behavior === "set" || total.setAt?.getTime() === event.timestamp.getTime()) return undefined
  // It was replaced by the newest set.
  if (total.setAt !== null && event.timestamp < total.setAt) return total
  if (method !== "SUM" && method !== "COUNT" && method !== "AVERAGE") return undefined
  const sum = BigDecimal.subtract(total.sum, event.value)
  const valueCount = total.valueCount - 1
  const left = { ...total, sum, valueCount }
  if (method === "SUM") return { ...left, value: BigDecimal.subtract(total.value, event.value) }
  if (method === "COUNT") return { ...left, value: BigDecimal.subtract(total.value, BigDecimal.fromBigInt(1n)) }
  const none = { replacedBy: null, keys: 0, minimum: null, maximum: null, latest: null }
  return { ...left, value: valueOf("AVERAGE", { ...none, count: valueCount, sum: valueCount === 0 ? null : sum }) }
}

const startOfMonth = (at: Date, months = 0): Date =>
  new Date(monthStartMs(at.getUTCFullYear(), at.getUTCMonth() + 1 + months))

/** The start of the bucket that contains an instant, in UTC. */
export const bucketStart = (size: BucketSize, at: Date): Date => {
  if (size === "MONTH") return startOfMonth(at)
  const length = size === "DAY" ? DAY_MS : HOUR_MS
  return new Date(Math.floor(at.getTime() / length) * length)
}

const nextStart = (size: BucketSize, start: Date): Date =>
  size === "MONTH" ? startOfMonth(start, 1) : new Date(start.getTime() + (size === "DAY" ? DAY_MS : HOUR_MS))

/** The starts of the buckets of a range, and the end of the last; `undefined` if there are too many. */
export const bucketBounds = ({ bucket, from, to }: HistoryQuery): ReadonlyArray<Date> | undefined => {
  const bounds = [bucketStart(bucket, from)]
  for (let last = bounds[0] as Date; last < to; bounds.push(last)) {
    if (bounds.length > MAX_BUCKETS) return undefined
    last = nextStart(bucket, last)
  }
  return bounds
}

/** Validation errors of a range. */
export const rangeErrors = (query: HistoryQuery): ReadonlyArray<ValidationError> => {
  if (query.to <= query.from) return [{ location: "query.to", message: "must be after from", value: query.to }]
  const bounds = bucketBounds(query)
  if (bounds === undefined) {
    return [{ location: "query.to", message: `must leave at most ${MAX_BUCKETS} buckets`, value: query.to }]
  }
  return isWritable(bounds.at(-1)?.getTime() ?? 0)
    ? []
    : [
        {
          location: "query.to",
          message: `must be at most ${bucketStart(query.bucket, new Date(LAST_INSTANT_MS)).toISOString()}, where the last bucket of the year 9999 begins`,
          value: query.to,
        },
      ]
}

/** The sums of some events: those of an hour of a total, or those that no hour contains yet. */
export interface Sums {
  readonly count: number
  readonly sum: BigDecimal.BigDecimal
  readonly minimum: BigDecimal.BigDecimal | null
  readonly maximum: BigDecimal.BigDecimal | null
  readonly latest: { readonly value: BigDecimal.BigDecimal; readonly at: Date; readonly ordinal: number } | null
}

/** {@link Sums} of the events of an hour. */
export interface HourSums extends Sums {
  readonly hour: Date
}

const extreme = (
  pick: (one: BigDecimal.BigDecimal, other: BigDecimal.BigDecimal) => BigDecimal.BigDecimal,
  one: BigDecimal.BigDecimal | null,
  other: BigDecimal.BigDecimal | null,
) => (one === null || other === null ? (one ?? other) : pick(one, other))

const isLater = (one: NonNullable<Sums["latest"]>, other: NonNullable<Sums["latest"]>): boolean =>
  one.at.getTime() === other.at.getTime() ? one.ordinal > other.ordinal : one.at > other.at

export const noEvents: Sums = { count: 0, sum: zero, minimum: null, maximum: null, latest: null }

/** The sums of the events of both. */
export const merged = (one: Sums, other: Sums): Sums => ({
  count: one.count + other.count,
  sum: BigDecimal.sum(one.sum, other.sum),
  minimum: extreme(BigDecimal.min, one.minimum, other.minimum),
  maximum: extreme(BigDecimal.max, one.maximum, other.maximum),
  latest:
    one.latest === null || (other.latest !== null && isLater(other.latest, one.latest)) ? other.latest : one.latest,
})

/** {@link Sums} of what counted of a day's dropped events: from the newest `set` of these events on, or of all. */
export interface DaySums extends Sums {
  readonly day: Date
  /** All events, also those before the `set`. */
  readonly eventCount: number
  readonly lastAt: Date
  readonly set: { readonly at: Date; readonly value: BigDecimal.BigDecimal } | null
}

/** The hours of one total, with what it says of its newest `set`. An hour may have several sums. */
export interface PeriodHours {
  readonly periodStart: Date
  readonly total: Pick<Total, "value" | "sum" | "valueCount" | "setAt">
  readonly hours: ReadonlyArray<HourSums>
  /** Of dropped events. A day may have several sums. */
  readonly days?: ReadonlyArray<DaySums>
  /** For `MIN` and `MAX`: those of the events from the newest `set` on, in its hour. */
  readonly sinceSet?: Pick<Sums, "minimum" | "maximum">
}

/** What an hour contributes to its bucket. `events` counts all, `counting` has those that count. */
interface Contribution {
  readonly hour: Date
  readonly events: number
  readonly counting: Sums
}

const byHour = (hours: ReadonlyArray<HourSums>): ReadonlyArray<HourSums> =>
  Array.from(Map.groupBy(hours, ({ hour }) => hour.getTime()).values(), (same) => {
    const [first] = same as [HourSums]
    return { ...same.reduce<Sums>(merged, noEvents), hour: first.hour }
  })

/** What a day of dropped events contributes: nothing, if the newest `set` of the total came after it. */
const contributionOfDay =
  (method: ReportAggregation, setAt: Date | null) =>
  (own: DaySums): Contribution => {
    const { day: hour, eventCount: events, lastAt, set } = own
    if (setAt !== null && isBefore(lastAt, setAt)) return { hour, events, counting: noEvents }
    if (method !== "COUNT") return { hour, events, counting: own }
    const sum = set === null ? own.count : own.count - 1
    return {
      hour,
      events,
      counting: { ...own, sum: BigDecimal.sum(set?.value ?? zero, BigDecimal.fromNumberUnsafe(sum)) },
    }
  }

/**
 * What the hours of a total contribute. Events before its newest `set` no longer count. The hour of the set itself has the rest: the part of
 * the total that the later hours do not have. So the hours add up to the total.
 */
export const contributions = (
  method: ReportAggregation,
  { days = [], hours, sinceSet, total }: PeriodHours,
): ReadonlyArray<Contribution> => [
  ...days.map(contributionOfDay(method, total.setAt)),
  ...contributionsOfHours(method, hours, total, sinceSet),
]

const contributionsOfHours = (
  method: ReportAggregation,
  hours: ReadonlyArray<HourSums>,
  total: PeriodHours["total"],
  sinceSet: PeriodHours["sinceSet"],
): ReadonlyArray<Contribution> => {
  // A COUNT adds 1 for each event, whatever value it has.
  const all = byHour(hours).map((own) =>
    method === "COUNT" ? { ...own, sum: BigDecimal.fromNumberUnsafe(own.count) } : own,
  )
  const { setAt } = total
  if (setAt === null) return all.map((own) => ({ hour: own.hour, events: own.count, counting: own }))
  const setHour = bucketStart("HOUR", setAt).getTime()
  const later = all.filter(({ hour }) => hour.getTime() > setHour).reduce<Sums>(merged, noEvents)
  return all.map((own) => {
    const { hour } = own
    if (hour.getTime() > setHour) return { hour, events: own.count, counting: own }
    if (hour.getTime() < setHour) return { hour, events: own.count, counting: noEvents }
    const ofSet: Sums = {
      ...own,
      ...sinceSet,
      count: total.valueCount - later.count,
      sum: BigDecimal.subtract(method === "COUNT" ? total.value : total.sum, later.sum),
    }
    return { hour, events: own.count, counting: ofSet }
  })
}

/** The usage of sums. */
const usageOf = (method: ReportAggregation, { count, latest, maximum, minimum, sum }: Sums): BigDecimal.BigDecimal => {
  if (method === "SUM" || method === "COUNT") return sum
  return count === 0
    ? zero
    : valueOf(method, { replacedBy: null, count, keys: 0, sum, minimum, maximum, latest: latest?.value ?? null })
}

/** Puts contributions into buckets. Empty buckets are there with 0. */
export const bucketsOf = (
  method: ReportAggregation,
  bounds: ReadonlyArray<Date>,
  all: ReadonlyArray<Contribution>,
): ReadonlyArray<UsageBucket> => {
  const sums = bounds.slice(0, -1).map(() => ({ events: 0, counting: noEvents }))
  let position = 0
  for (const { counting, events, hour } of all.toSorted((one, other) => one.hour.getTime() - other.hour.getTime())) {
    if (hour < (bounds[0] as Date)) continue
    while (position < sums.length && hour >= (bounds[position + 1] as Date)) position++
    const bucket = sums[position]
    if (bucket === undefined) break
    sums[position] = { events: bucket.events + events, counting: merged(bucket.counting, counting) }
  }
  return sums.map(({ counting, events }, index) => ({
    start: bounds[index] as Date,
    end: bounds[index + 1] as Date,
    value: amountOf(usageOf(method, counting)),
    event_count: events,
  }))
}
