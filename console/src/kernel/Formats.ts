/** Dates in the reader's notation: local time with UTC beside it; terms and periods in UTC first, because they end there. */

/** An hour in milliseconds. */
export const HOUR_MS = 3_600_000

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const localShort = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })
const utc = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })
const utcShort = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
const utcDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" })
const utcDayMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" })
const localTime = new Intl.DateTimeFormat(undefined, { timeStyle: "short" })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" })
const relativeShort = new Intl.RelativeTimeFormat(undefined, { numeric: "always", style: "short" })

/** A moment: `26 Nov 2026, 12:16:43`. */
export const formatMoment = (text: string): string => local.format(new Date(text))
/** A moment without seconds. */
export const formatMinute = (text: string): string => localShort.format(new Date(text))
/** The same moment in UTC, for titles. */
export const formatUtc = (text: string): string => `${utc.format(new Date(text))} UTC`

const isMidnight = (date: Date) => date.getTime() % 86_400_000 === 0

/** The boundary of a term or a period, in UTC. Midnight has no time. */
export const formatBoundary = (text: string): string => {
  const date = new Date(text)
  return isMidnight(date) ? utcDay.format(date) : `${utcShort.format(date)} UTC`
}

/** When a period starts again: `1 Dec 00:00 UTC (01:00)`. */
export const formatRestart = (text: string): string => {
  const date = new Date(text)
  const hours = date.toISOString().slice(11, 16)
  const here = localTime.format(date)
  return `${utcDayMonth.format(date)}, ${hours} UTC${date.getTimezoneOffset() === 0 ? "" : ` (${here})`}`
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
  return relative.format(0, "minute")
}

/** Whole days from now, at least 0. */
export const daysUntil = (text: string, now = Date.now()): number =>
  Math.max(0, Math.ceil((Date.parse(text) - now) / 86_400_000))

/** Adds days to an ISO date. */
export const plusDays = (text: string, days: number): string =>
  new Date(Date.parse(text) + days * 86_400_000).toISOString()

/** A duration of milliseconds: `1.2 s`, `34 ms`. */
export const formatDuration = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)

/** An enumeration's constant in words: `LIMIT_REACHED` is "Limit reached". */
export const words = (constant: string): string => {
  const text = constant.replaceAll("_", " ").toLowerCase()
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** The beginning of this hour. Requests with it stay the same for a while, so their answers stay in the cache. */
export const thisHour = (): string => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString()
