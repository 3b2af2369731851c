/** Dates in the reader's notation: local time with UTC beside it; terms and periods in UTC first, because they end there. */

import { LOCALE } from "./Amount.ts"

/** An hour in milliseconds. */
export const HOUR_MS = 3_600_000

const local = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "medium" })
const localShort = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" })
const utc = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })
const utcShort = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
const utcDay = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" })
const utcDayMonth = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", timeZone: "UTC" })
const localDayMonth = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" })
const localTime = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short" })
const relativeShort = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always", style: "short" })

/** A moment: `26 Nov 2026, 12:16:43`. */
export const formatMoment = (text: string): string => local.format(new Date(text))
/** A moment without seconds. */
export const formatMinute = (text: string): string => localShort.format(new Date(text))
/** The time of a moment of today: `16:24`. */
export const formatTime = (text: string): string => localTime.format(new Date(text))
/** The same moment in UTC, for titles. */
export const formatUtc = (text: string): string => `${utc.format(new Date(text))} UTC`

const isMidnight = (date: Date) => date.getTime() % 86_400_000 === 0

/** The boundary of a term or a period, in UTC. Midnight has no time. */
export const formatBoundary = (text: string): string => {
  const date = new Date(text)
  return isMidnight(date) ? utcDay.format(date) : `${utcShort.format(date)} UTC`
}

/** When a period starts again: `1 Dec, 00:00 UTC (01:00)`, with the day here if it is another one. */
export const formatRestart = (text: string): string => {
  const date = new Date(text)
  const hours = date.toISOString().slice(11, 16)
  const [there, day] = [utcDayMonth.format(date), localDayMonth.format(date)]
  const here = `${day === there ? "" : `${day}, `}${localTime.format(date)}`
  return `${there}, ${hours} UTC${date.getTimezoneOffset() === 0 ? "" : ` (${here})`}`
}

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const

/** How long ago, or until when: `in 3 days`, `2 hr. ago`. */
export const formatRelative = (text: string, now = Date.now()): string => {
  const seconds = (Date.parse(text) - now) / 1000
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return relativeShort.format(Math.trunc(seconds / length), unit)
  }
  return "just now"
}

/** Whole days from now, at least 0. */
export const daysUntil = (text: string, now = Date.now()): number =>
  Math.max(0, Math.ceil((Date.parse(text) - now) / 86_400_000))

/** Adds days to an ISO date. */
export const plusDays = (text: string, days: number): string =>
  new Date(Date.parse(text) + days * 86_400_000).toISOString()

/** A duration of milliseconds: `1.2 s`, `34 ms`. */
export const formatDuration = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)

/** The seconds of the units in which people say durations. */
export const DURATION_UNITS = { day: 86_400, hour: 3_600, minute: 60, second: 1 } as const

/** A duration of seconds in the largest unit that holds it without a rest. */
export const durationOf = (seconds: number): { readonly count: number; readonly unit: keyof typeof DURATION_UNITS } => {
  const units = Object.keys(DURATION_UNITS) as Array<keyof typeof DURATION_UNITS>
  const unit = units.find((one) => seconds % DURATION_UNITS[one] === 0) ?? "second"
  return { count: seconds / DURATION_UNITS[unit], unit }
}

/** A duration of seconds in words: `7 days`. */
export const formatSeconds = (seconds: number): string => {
  const { count, unit } = durationOf(seconds)
  return new Intl.NumberFormat(LOCALE, { style: "unit", unit, unitDisplay: "long" }).format(count)
}

/** An enumeration's constant in words: `LIMIT_REACHED` is "Limit reached". */
export const words = (constant: string): string => {
  const text = constant.replaceAll("_", " ").toLowerCase()
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** What people call a connector: `service.integration.crm.salesforce` is "Salesforce". */
export const connectorTitle = (name: string): string =>
  words(name.slice(name.lastIndexOf(".") + 1).replaceAll("-", "_"))

/** The name of an event in words. What was created says so: `CUSTOMER_CREATION` is "Customer created". */
export const eventWords = (name: string): string => words(name.replace(/_CREATION$/, "_CREATED"))

/** The beginning of this hour. Requests with it stay the same for a while, so their answers stay in the cache. */
export const thisHour = (): string => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString()

/** The beginning of this day, in local time. */
export const startOfToday = (): string => new Date(new Date().setHours(0, 0, 0, 0)).toISOString()
