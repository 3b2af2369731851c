/**
 * Usage periods: the intervals in which an entitlement's usage is added up before it is reset to zero.
 *
 * Every boundary is `origin + n * length`. It is computed from the origin, not from the previous boundary, so that a
 * short month does not move later ones: 31 Jan, 28 Feb, 31 Mar. Nothing is stored and no job runs at a boundary.
 */
import { DAY_MS, isBefore, isWritable } from "../../../kernel/values/Timestamp.ts"
import type { ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"

/**
 * The interval `[start, end)`, in UTC to the millisecond. `end` belongs to the next period; it is `null` for a lifetime
 * period.
 */
export interface Period {
  readonly start: Date
  readonly end: Date | null
}

/** Whether an instant is in a period. */
export const contains = ({ end, start }: Period, at: Date): boolean =>
  !isBefore(at, start) && (end === null || isBefore(at, end))

/** Whether both limits have a year of 1 to 9999. A period at either edge of these years may not. */
export const isWritablePeriod = ({ end, start }: Period): boolean =>
  isWritable(start.getTime()) && (end === null || isWritable(end.getTime()))

export interface PeriodQuery {
  /** `null` for a lifetime entitlement, whose usage never resets. */
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor
  /** The instance's `startLicenseDate`. */
  readonly licenseStart: Date
  /** The instant whose period is computed. It may be before the license start. */
  readonly at: Date
}

/**
 * Computes the usage period that contains `at`, in constant time, for any license start and instant of the years 1970
 * to 9999.
 *
 * A lifetime period (`resetPeriod` is `null`) starts at the license start under either anchor, because no usage can be
 * older. It never ends. It is the only period that may not contain `at`: before the license start there is no usage.
 * Resetting periods exist before the license start too, and it does not shorten them.
 */
export const periodAt = ({ resetPeriod, resetAnchor, licenseStart, at }: PeriodQuery): Period => {
  if (resetPeriod === null) return { start: licenseStart, end: null }
  const origin = resetAnchor === "LICENSE_START" ? licenseStart : calendarOrigin
  const last = latest[resetAnchor].get(resetPeriod)
  if (last?.origin === origin.getTime() && contains(last.period, at)) return last.period
  const period = periodFrom(origin, resetPeriod, at)
  latest[resetAnchor].set(resetPeriod, { origin: origin.getTime(), period })
  return period
}

// The period computed last is mostly the next one needed: all requests about the present are in the same calendar
// periods, and entitlements of one instance share its license start.
const latest: Record<ResetAnchor, Map<ResetPeriod, { readonly origin: number; readonly period: Period }>> = {
  CALENDAR: new Map(),
  LICENSE_START: new Map(),
}

const periodFrom = (origin: Date, resetPeriod: ResetPeriod, at: Date): Period => {
  const length = lengths[resetPeriod]
  return "months" in length
    ? periodOfMonths(length.months, origin, at)
    : periodOfFixedLength(length.milliseconds, origin, at)
}

const lengths: Record<ResetPeriod, { readonly milliseconds: number } | { readonly months: number }> = {
  HOUR: { milliseconds: 3_600_000 },
  DAY: { milliseconds: DAY_MS },
  WEEK: { milliseconds: 7 * DAY_MS },
  MONTH: { months: 1 },
  YEAR: { months: 12 },
}

// A Monday that is also the first of a month and of a year: every calendar boundary is a whole number of periods from
// it.
const calendarOrigin = new Date("1973-01-01T00:00:00.000Z")

const periodOfFixedLength = (length: number, origin: Date, at: Date): Period => {
  const start = at.getTime() - floorModulo(at.getTime() - origin.getTime(), length)
  return { start: new Date(start), end: new Date(start + length) }
}

const periodOfMonths = (months: number, origin: Date, at: Date): Period => {
  // The last boundary in the month of `at` or before it. Within that month the boundary may still be after `at`: then
  // the previous period contains `at`.
  const monthsElapsed = monthNumber(at) - monthNumber(origin)
  const boundary = monthsElapsed - floorModulo(monthsElapsed, months)
  const first = monthsAfter(origin, boundary) <= at ? boundary : boundary - months
  return { start: monthsAfter(origin, first), end: monthsAfter(origin, first + months) }
}

/** The same day and time `months` later, or on the last day of a month that is too short. */
const monthsAfter = (origin: Date, months: number): Date => {
  const result = new Date(origin)
  // Day 0 of the next month is the last day of this one. Unlike `Date.UTC`, the setter does not move years 0 to 99 to
  // 1900.
  result.setUTCFullYear(origin.getUTCFullYear(), origin.getUTCMonth() + months + 1, 0)
  result.setUTCDate(Math.min(origin.getUTCDate(), result.getUTCDate()))
  return result
}

const monthNumber = (date: Date): number => date.getUTCFullYear() * 12 + date.getUTCMonth()

// `%` is exact. A division and `Math.floor` may round up to the next integer.
const floorModulo = (dividend: number, divisor: number): number => ((dividend % divisor) + divisor) % divisor
