/**
 * What events add to totals, where nothing has to be known of a total for that: a sum or a count that rises. The totals are
 * added to without being read; those that would pass a threshold refuse it. Pure.
 */
import { BigDecimal } from "effect"
import { remembered } from "../kernel/Remembered.ts"
import { isConsumable, meterPeriodAt, methodOf, totalNameOf } from "./Account.ts"
import type { TotalKey } from "./Account.ts"
import type { Judged } from "./EventReading.ts"
import { limitOf, thresholdsOf } from "./Limits.ts"
import type { Thresholds } from "./Limits.ts"
import type { Meter } from "./Model.ts"
import { contains } from "./Period.ts"
import type { Period } from "./Period.ts"
import { grantOf } from "./Rules.ts"

/** What the events of one total add to it. */
export interface Tally extends TotalKey {
  /** {@link totalNameOf} it. */
  readonly name: string
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
export interface TalliedEvent extends Pick<Judged, "timestamp" | "value" | "uniqueKey"> {
  readonly tally: number
  readonly rank: number
}

/** Whether the event does no more to its total than to let it rise. */
const raises = ({ meter, value }: Judged): boolean => isConsumable(meter) && !BigDecimal.isNegative(value)

/** The events of a meter in one period, in the order of their arrival. */
interface Column {
  readonly meter: Meter
  readonly period: Period
  readonly events: Array<Judged>
}

/** The limits that meters have, with their thresholds. Hundreds of meters share the few grants of their licenses. */
const limits = () =>
  remembered(
    ({ granted, overagePercent, warningThresholdPercent }: Meter) =>
      `${granted} ${overagePercent} ${warningThresholdPercent}`,
    (meter) => {
      const limit = limitOf(grantOf(meter))
      return { isGranted: limit !== null, thresholds: limit && thresholdsOf(limit, meter.warningThresholdPercent) }
    },
  )

/** The periods of meters at instants. Those that reset alike share them. */
const periods = () => {
  const known = remembered(
    ({ resetAnchor, resetPeriod, startLicenseDate }: Meter) =>
      `${resetPeriod} ${resetAnchor} ${startLicenseDate.getTime()}`,
    (): Array<Period> => [],
  )
  return (meter: Meter, at: Date): Period => {
    const alike = known(meter)
    const found = alike.find((period) => contains(period, at))
    if (found !== undefined) return found
    const period = meterPeriodAt(meter, at)
    alike.push(period)
    return period
  }
}

const columnsOf = (events: ReadonlyArray<Judged>): ReadonlyArray<Column> => {
  const periodAt = periods()
  const byMeter = new Map<Meter, Array<Column>>()
  for (const event of events) {
    const { meter, timestamp } = event
    const columns = byMeter.get(meter) ?? []
    const column = columns.find(({ period }) => contains(period, timestamp))
    if (column !== undefined) {
      column.events.push(event)
      continue
    }
    columns.push({ meter, period: periodAt(meter, timestamp), events: [event] })
    byMeter.set(meter, columns)
  }
  return [...byMeter.values()].flat()
}

const tallyOf = ({ events, meter, period }: Column, thresholds: Thresholds | null): Tally => {
  const key = { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart: period.start }
  const count = events.length
  const sum = BigDecimal.sumAll(events.map(({ value }) => value))
  const instants = events.map(({ timestamp }) => timestamp.getTime())
  return {
    ...key,
    name: totalNameOf(key),
    added: methodOf(meter) === "COUNT" ? BigDecimal.fromNumberUnsafe(count) : sum,
    count,
    sum,
    firstAt: new Date(Math.min(...instants)),
    lastAt: new Date(Math.max(...instants)),
    thresholds,
  }
}

/** Tallies in the order of their keys, in which totals are locked wherever several are, and their events. */
export interface Tallied {
  readonly tallies: ReadonlyArray<Tally>
  readonly events: ReadonlyArray<TalliedEvent>
}

/**
 * Adds up events that are given in the order of their arrival; nothing if one of them may do anything else to its total than
 * to let it rise.
 */
export const tallied = (events: ReadonlyArray<Judged>): Tallied | undefined => {
  if (!events.every(raises)) return undefined
  const limitFor = limits()
  const filled = columnsOf(events)
  if (filled.some(({ meter }) => !limitFor(meter).isGranted)) return undefined
  const columns = filled
    .map((column) => ({ column, tally: tallyOf(column, limitFor(column.meter).thresholds) }))
    .sort(({ tally: one }, { tally: other }) => (one.name < other.name ? -1 : 1))
  return {
    tallies: columns.map(({ tally }) => tally),
    events: columns.flatMap(({ column }, index) =>
      column.events.map(({ timestamp, uniqueKey, value }, position) => ({
        tally: index + 1,
        rank: position + 1,
        timestamp,
        uniqueKey,
        value,
      })),
    ),
  }
}
