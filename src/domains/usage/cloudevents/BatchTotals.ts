/** Answers that are computed once for many questions. */
import { BigDecimal } from "effect"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { isConsumable, meterPeriodAt, methodOf } from "../ledger/Account.ts"
import type { TotalKey } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import { limitOf, thresholdsOf } from "../rules/Limits.ts"
import type { Thresholds } from "../rules/Limits.ts"
import { contains } from "../rules/Period.ts"
import type { Period } from "../rules/Period.ts"
import { grantOf } from "../rules/Terms.ts"
import type { CountableEvent } from "./Rules.ts"

/** The same function, which remembers its answers by the names of the questions for as long as it is kept itself. */
export const memoized = <A, B>(nameOf: (asked: A) => string, answer: (asked: A) => B): ((asked: A) => B) => {
  const known = new Map<string, B>()
  return (asked) => {
    const name = nameOf(asked)
    const found = known.get(name) ?? answer(asked)
    known.set(name, found)
    return found
  }
}

/** What the events of one total add to it. */
export interface Tally extends TotalKey {
  /** How much the total's value rises. */
  readonly added: BigDecimal.BigDecimal
  /** Number and sum of the events' own values. */
  readonly count: number
  readonly sum: BigDecimal.BigDecimal
  readonly firstAt: Date
  readonly lastAt: Date
  /** What may not be passed by it; `null`: there is no limit. */
  readonly thresholds: Thresholds | null
}

/** An event by the place of its tally among all, and by its own in the order of those that the tally holds; both from 1. */
export interface TalliedEvent {
  readonly tally: number
  readonly rank: number
  readonly event: Pick<CountableEvent, "timestamp" | "value" | "uniqueKey">
}

/** Whether the event does no more to its total than to let it rise. */
const raises = ({ meter, value }: CountableEvent): boolean => isConsumable(meter) && !BigDecimal.isNegative(value)

/** The events of a meter in one period, in the order of their arrival. */
interface Column {
  readonly meter: Meter
  readonly period: Period
  readonly events: [CountableEvent, ...Array<CountableEvent>]
}

/** The limits that meters have, with their thresholds. Hundreds of meters share the few grants of their licenses. */
const limits = () =>
  memoized(
    ({ granted, overagePercent, warningThresholdPercent }: Meter) =>
      `${granted} ${overagePercent} ${warningThresholdPercent}`,
    (meter) => {
      const limit = limitOf(grantOf(meter))
      return { isGranted: limit !== null, thresholds: limit && thresholdsOf(limit, meter.warningThresholdPercent) }
    },
  )

const columnsOf = (events: ReadonlyArray<CountableEvent>): ReadonlyArray<Column> => {
  const byMeter = new Map<Meter, Array<Column>>()
  for (const event of events) {
    const { meter, timestamp } = event
    const columns = byMeter.get(meter)
    const column = columns?.find(({ period }) => contains(period, timestamp))
    if (column !== undefined) {
      column.events.push(event)
      continue
    }
    const begun: Column = { meter, period: meterPeriodAt(meter, timestamp), events: [event] }
    if (columns === undefined) byMeter.set(meter, [begun])
    else columns.push(begun)
  }
  return [...byMeter.values()].flat()
}

const tallyOf = ({ events, meter, period }: Column, thresholds: Thresholds | null): Tally => {
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

const order = <Value extends string | number>(one: Value, other: Value) => (one < other ? -1 : one > other ? 1 : 0)

/** By their keys, as PostgreSQL orders them. */
const byKey = (one: TotalKey, other: TotalKey): number =>
  order(one.instanceId, other.instanceId) ||
  order(one.entitlementId, other.entitlementId) ||
  order(one.periodStart.getTime(), other.periodStart.getTime())

/** Tallies in the order of their keys, in which totals are locked wherever several are, and their events. */
export interface BatchTotals {
  readonly tallies: ReadonlyArray<Tally>
  readonly events: ReadonlyArray<TalliedEvent>
}

/**
 * Adds up events that are given in the order of their arrival; nothing if one of them may do anything else to its total than
 * to let it rise.
 */
export const addUp = (events: ReadonlyArray<CountableEvent>): BatchTotals | undefined => {
  if (!events.every(raises)) return undefined
  const limitFor = limits()
  const columns: Array<{ readonly column: Column; readonly tally: Tally }> = []
  for (const column of columnsOf(events)) {
    const { isGranted, thresholds } = limitFor(column.meter)
    if (!isGranted) return undefined
    columns.push({ column, tally: tallyOf(column, thresholds) })
  }
  columns.sort(({ tally: one }, { tally: other }) => byKey(one, other))
  return {
    tallies: columns.map(({ tally }) => tally),
    events: columns.flatMap(({ column }, index) =>
      column.events.map((event, position) => ({ tally: index + 1, rank: position + 1, event })),
    ),
  }
}
