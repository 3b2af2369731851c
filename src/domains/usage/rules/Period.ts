/**
 * Usage periods: the stretch of time over which an entitlement's usage is added up before it starts again from zero
 * (contract section 5, "Entitlements, usage, check").
 *
 * Every boundary is `origin + n * length`, computed from the origin and never from the previous boundary, so that a
 * short month cannot drag the months after it: 31 Jan, 28 Feb, 31 Mar. Nothing is stored and no job runs at a boundary.
 */
import { DAY_MS, isBefore } from "../../../kernel/values/Timestamp.ts"
import type { ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"

/**
 * The half-open interval `[start, end)`, in UTC to the millisecond: an instant that equals `end` is in the next period.
 * `end` is `null` for a lifetime period.
 */
export interface Period {
  readonly start: Date
  readonly end: Date | null
}

/** Whether an instant lies in a period. */
export const contains = ({ end, start }: Period, at: Date): boolean =>
  !isBefore(at, start) && (end === null || isBefore(at, end))

export interface PeriodQuery {
  /** `null` is a lifetime entitlement, whose usage never resets. */
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor
  /** The instance's `startLicenseDate`. */
  readonly licenseStart: Date
  /** The instant whose period is wanted; it may lie before the license start. */
  readonly at: Date
}

/**
 * The usage period that contains `at`, in constant time, for any license start and instant of the years 1970 to 9999.
 *
 * A lifetime period (`resetPeriod` is `null`) begins at the license start under either anchor, because no usage can be
 * older than that (contract section 9, "Usage"), and it never ends. It is the only period that may not contain `at`:
 * before the license start there is nothing to measure. Resetting periods reach back before the license start too, and
 * are never cut short by it.
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

// What was asked last is mostly asked next: all who ask about the present are in the same hour, day, week, month and year of the
// calendar, and entitlements of an instance that reset with its license do so alike.
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

// A Monday that is also the first of a month and of a year: every calendar boundary is a whole number of periods from it.
const calendarOrigin = new Date("1973-01-01T00:00:00.000Z")

const periodOfFixedLength = (length: number, origin: Date, at: Date): Period => {
  const start = at.getTime() - floorModulo(at.getTime() - origin.getTime(), length)
  return { start: new Date(start), end: new Date(start + length) }
}

const periodOfMonths = (months: number, origin: Date, at: Date): Period => {
  // The boundary of the origin's count that falls in the month of `at`, or in the last boundary month before it; within
  // that month the boundary may still be ahead of `at`, and then the period before it is the one that holds `at`.
  const monthsElapsed = monthNumber(at) - monthNumber(origin)
  const latest = monthsElapsed - floorModulo(monthsElapsed, months)
  const first = monthsAfter(origin, latest) <= at ? latest : latest - months
  return { start: monthsAfter(origin, first), end: monthsAfter(origin, first + months) }
}

/** The same day and time of day `months` later, or on the month's last day where that month is too short. */
const monthsAfter = (origin: Date, months: number): Date => {
  const result = new Date(origin)
  // Day 0 of the next month is this month's last day. The setter, unlike `Date.UTC`, does not move years 0 to 99 to 1900.
  result.setUTCFullYear(origin.getUTCFullYear(), origin.getUTCMonth() + months + 1, 0)
  result.setUTCDate(Math.min(origin.getUTCDate(), result.getUTCDate()))
  return result
}

const monthNumber = (date: Date): number => date.getUTCFullYear() * 12 + date.getUTCMonth()

// `%` is exact where a division and `Math.floor` may round up to the next whole number.
const floorModulo = (dividend: number, divisor: number): number => ((dividend % divisor) + divisor) % divisor
