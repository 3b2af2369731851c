/**
 * What events add to totals, where nothing has to be known of a total for that: a sum or a count that rises. The totals are
 * added to without being read; those that would pass a threshold refuse it. Pure.
 */
import { BigDecimal } from "effect"
import { accountName, isConsumable, limitFor, methodOf, periodFor } from "./Account.ts"
import type { TotalKey } from "./Account.ts"
import type { Judged } from "./EventReading.ts"
import { thresholdsOf } from "./Limits.ts"
import type { Thresholds } from "./Limits.ts"
import type { Meter } from "./Model.ts"

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
export interface TalliedEvent extends Pick<Judged, "timestamp" | "value" | "uniqueKey"> {
  readonly tally: number
  readonly rank: number
}

const later = (one: Date, other: Date): Date => (one < other ? other : one)
const earlier = (one: Date, other: Date): Date => (other < one ? other : one)

/** Whether the event does no more to its total than to let it rise. */
export const canTally = ({ meter, value }: Judged): boolean =>
  isConsumable(meter) && limitFor(meter) !== null && !BigDecimal.isNegative(value)

const thresholdsFor = (meter: Meter): Thresholds | null => {
  const limit = limitFor(meter)
  return limit === null ? null : thresholdsOf(limit, meter.warningThresholdPercent)
}

interface Counting extends Omit<Tally, "added" | "thresholds"> {
  readonly meter: Meter
  readonly name: string
}

const begin = ({ meter, timestamp, value }: Judged, name: string): Counting => ({
  meter,
  name,
  instanceId: meter.instanceId,
  entitlementId: meter.entitlementId,
  periodStart: periodFor(meter, timestamp).start,
  count: 1,
  sum: value,
  firstAt: timestamp,
  lastAt: timestamp,
})

const more = (tally: Counting, { timestamp, value }: Judged): Counting => ({
  ...tally,
  count: tally.count + 1,
  sum: BigDecimal.sum(tally.sum, value),
  firstAt: earlier(tally.firstAt, timestamp),
  lastAt: later(tally.lastAt, timestamp),
})

const ended = ({ meter, name: _, ...tally }: Counting): Tally => ({
  ...tally,
  added: methodOf(meter) === "COUNT" ? BigDecimal.fromNumberUnsafe(tally.count) : tally.sum,
  thresholds: thresholdsFor(meter),
})

/** Totals are locked in this order wherever several are. */
const byName = (one: Counting, other: Counting): number => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)

/** Adds up events that {@link canTally}, given in the order of their arrival. Tallies come in the order of their keys. */
export const tallied = (
  events: ReadonlyArray<Judged>,
): { readonly tallies: ReadonlyArray<Tally>; readonly events: ReadonlyArray<TalliedEvent> } => {
  const counting = new Map<string, Counting>()
  const ranked = events.map((event) => {
    const name = accountName({ meter: event.meter, at: event.timestamp })
    const sofar = counting.get(name)
    const next = sofar === undefined ? begin(event, name) : more(sofar, event)
    counting.set(name, next)
    return { name, rank: next.count, event }
  })
  const inOrder = [...counting.values()].sort(byName)
  const places = new Map(inOrder.map(({ name }, index) => [name, index + 1] as const))
  return {
    tallies: inOrder.map(ended),
    events: ranked.map(({ event: { timestamp, uniqueKey, value }, name, rank }) => ({
      tally: places.get(name) ?? 0,
      rank,
      timestamp,
      uniqueKey,
      value,
    })),
  }
}
