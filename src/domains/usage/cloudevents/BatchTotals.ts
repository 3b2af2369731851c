/** Adds up the events of a batch: one tally for each total, which is added to the total in one step. Pure. */
import { BigDecimal } from "effect"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { isConsumable, meterPeriodAt, methodOf } from "../ledger/Account.ts"
import type { TotalKey } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import type { Limit } from "../rules/Cap.ts"
import { limitOf, thresholdsOf } from "../rules/Limits.ts"
import type { Thresholds } from "../rules/Limits.ts"
import { contains } from "../rules/Period.ts"
import type { Period } from "../rules/Period.ts"
import type { CountableEvent } from "./Rules.ts"

/** The function with a cache of its results by key. The cache lives as long as the returned function. */
const memoized = <A, B>(keyOf: (input: A) => string, compute: (input: A) => B): ((input: A) => B) => {
  const cache = new Map<string, B>()
  return (input) => {
    const key = keyOf(input)
    const result = cache.get(key) ?? compute(input)
    cache.set(key, result)
    return result
  }
}

/** What the events of a batch add to one total. */
export interface Tally extends TotalKey {
  /** By how much the value of the total rises. */
  readonly added: BigDecimal.BigDecimal
  /** Number and sum of the events' own values. */
  readonly count: number
  readonly sum: BigDecimal.BigDecimal
  readonly firstAt: Date
  readonly lastAt: Date
  /** The thresholds that it must not cross; `null` if there is no limit. */
  readonly thresholds: Thresholds | null
}

/** An event, with the number of its tally and its own number within the tally; both start at 1. */
export interface TalliedEvent {
  readonly tally: number
  readonly rank: number
  readonly event: Pick<CountableEvent, "id" | "source" | "timestamp" | "value" | "uniqueKey">
}

/** Whether the event can only raise its total. */
const raises = ({ meter, value }: CountableEvent): boolean => isConsumable(meter) && !BigDecimal.isNegative(value)

/** The events of a meter in one period, in the order of arrival. */
interface PeriodEvents {
  readonly meter: Meter
  readonly period: Period
  readonly events: [CountableEvent, ...Array<CountableEvent>]
}

const limitKey = ({ grant, hasCredits = false, warningThresholdPercent }: Meter): string =>
  grant !== null && BigDecimal.isBigDecimal(grant.value)
    ? `${grant.value.value} ${grant.value.scale} ${grant.overagePercent} ${warningThresholdPercent} ${hasCredits}`
    : ""

/** The limit that a total must not exceed. Credits pay before overage, which is decided under locks. */
const limitWithin = ({ grant, hasCredits = false }: Meter): Limit | null => {
  const limit = limitOf(grant)
  return limit !== null && hasCredits ? { ...limit, overagePercent: 0 } : limit
}

/** The limits of meters, with their thresholds. Hundreds of meters share the few grants of their licenses. */
const makeLimitCache = () =>
  memoized(limitKey, (meter: Meter) => {
    const limit = limitWithin(meter)
    return { isGranted: limit !== null, thresholds: limit && thresholdsOf(limit, meter.warningThresholdPercent) }
  })

const groupByPeriod = (events: ReadonlyArray<CountableEvent>): ReadonlyArray<PeriodEvents> => {
  const byMeter = new Map<Meter, Array<PeriodEvents>>()
  for (const event of events) {
    const { meter, timestamp } = event
    const groups = byMeter.get(meter)
    const group = groups?.find(({ period }) => contains(period, timestamp))
    if (group !== undefined) {
      group.events.push(event)
      continue
    }
    const added: PeriodEvents = { meter, period: meterPeriodAt(meter, timestamp), events: [event] }
    if (groups === undefined) byMeter.set(meter, [added])
    else groups.push(added)
  }
  return [...byMeter.values()].flat()
}

const tallyOf = ({ events, meter, period }: PeriodEvents, thresholds: Thresholds | null): Tally => {
  const [first] = events
  let { value: sum, timestamp: firstAt, timestamp: lastAt } = first
  for (const event of events) {
    if (event === first) continue
    const { timestamp, value } = event
    sum = BigDecimal.sum(sum, value)
    if (isBefore(timestamp, firstAt)) firstAt = timestamp
    if (isBefore(lastAt, timestamp)) lastAt = timestamp
  }
  const count = events.length
  return {
    instanceId: meter.instanceId,
    entitlementId: meter.entitlementId,
    periodStart: period.start,
    added: methodOf(meter) === "COUNT" ? BigDecimal.fromBigInt(BigInt(count)) : sum,
    count,
    sum,
    firstAt,
    lastAt,
    thresholds,
  }
}

const compare = <Value extends string | number>(left: Value, right: Value) => (left < right ? -1 : left > right ? 1 : 0)

/** Compares keys as PostgreSQL does. */
const compareKeys = (left: TotalKey, right: TotalKey): number =>
  compare(left.instanceId, right.instanceId) ||
  compare(left.entitlementId, right.entitlementId) ||
  compare(left.periodStart.getTime(), right.periodStart.getTime())

/** The tallies of a batch in key order, which is the lock order of totals, and their events. */
export interface BatchTotals {
  readonly tallies: ReadonlyArray<Tally>
  readonly events: ReadonlyArray<TalliedEvent>
}

/**
 * Adds up events, which are passed in the order of arrival; `undefined` if one of them could do more than raise its
 * total.
 */
export const addUp = (events: ReadonlyArray<CountableEvent>): BatchTotals | undefined => {
  if (!events.every(raises)) return undefined
  const limitFor = makeLimitCache()
  const groups: Array<{ readonly group: PeriodEvents; readonly tally: Tally }> = []
  for (const group of groupByPeriod(events)) {
    const { isGranted, thresholds } = limitFor(group.meter)
    if (!isGranted) return undefined
    groups.push({ group, tally: tallyOf(group, thresholds) })
  }
  groups.sort(({ tally: left }, { tally: right }) => compareKeys(left, right))
  return {
    tallies: groups.map(({ tally }) => tally),
    events: groups.flatMap(({ group }, index) =>
      group.events.map((event, position) => ({ tally: index + 1, rank: position + 1, event })),
    ),
  }
}
