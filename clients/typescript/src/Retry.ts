/** Whether a request is repeated, and after how long. Pure: all clients decide by the same vectors. */
import { isForeign } from "./Responses.ts"

const INITIAL_DELAY_MS = 200
/** A longer `Retry-After` is left to the caller. */
const MAX_DELAY_MS = 30_000

const GATEWAY: ReadonlyArray<number> = [502, 503, 504]
const IN_FLIGHT = "IdempotencyKey.InFlight"
const SECONDS = /^\d+(\.\d+)?$/

const MONTHS: ReadonlyArray<string> = [
  "Jan",
  "Feb",
  "Mar",
  "Apr",
  "May",
  "Jun",
  "Jul",
  "Aug",
  "Sep",
  "Oct",
  "Nov",
  "Dec",
]
const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`
/** The three forms of RFC 9110, section 5.6.7. A recipient must read all of them. */
const DATES: ReadonlyArray<RegExp> = [
  String.raw`[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT`,
  String.raw`[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${TIME} GMT`,
  String.raw`[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${TIME} (?<year>\d{4})`,
].map((pattern) => new RegExp(`^${pattern}$`))

/** What is known of an attempt that failed. */
export interface Attempt {
  /** 1 is the first. */
  readonly attempt: number
  /** The maximum number of retries. */
  readonly retries: number
  /** Whether the request has the same effect if it is sent twice. */
  readonly isIdempotent: boolean
  /** `null`: there was no response. */
  readonly status: number | null
  readonly code: string | null
  /** The header. */
  readonly retryAfter: string | null
  /** When the response was sent, in milliseconds since 1970: a date in `retryAfter` counts from then. */
  readonly now: number
  /** From 0 to 1. */
  readonly random: number
}

/** Whether the service is away: no response, or one that says nothing about the request. */
export const isAway = (status: number | null, code: string | null): boolean =>
  status === null || status === 429 || status >= 500 || code === IN_FLIGHT || (code !== null && isForeign(code))

/** Milliseconds since 1970 of a date in a header, `undefined` if it is none. */
export const httpDateMillis = (text: string): number | undefined => {
  const parts = DATES.map((form) => form.exec(text)?.groups).find((found) => found !== undefined)
  if (parts === undefined) return undefined
  const [day = 0, year = 0, hour = 0, minute = 0, second = 0] = ["day", "year", "hour", "minute", "second"].map(
    (name) => Number(parts[name]),
  )
  const month = MONTHS.indexOf(parts["month"] ?? "")
  // Two digits are a year from 1970 on, as other software reads them.
  const full = parts["year"]?.length === 2 ? year + (year < 70 ? 2000 : 1900) : year
  const millis = Date.UTC(full, month, day, hour, minute, second)
  const isDay = month >= 0 && new Date(Date.UTC(full, month, day)).getUTCDate() === day
  return isDay && hour <= 23 && minute <= 59 && second <= 60 ? millis : undefined
}

/** Milliseconds that a `Retry-After` requests, `undefined` if it says nothing, or a date that has passed. */
const requestedDelay = (header: string, now: number): number | undefined => {
  const text = header.trim()
  if (SECONDS.test(text)) return Number(text) * 1000
  const date = httpDateMillis(text)
  return date !== undefined && date > now ? date - now : undefined
}

/**
 * Milliseconds to wait before the next attempt, `undefined` if the request is not repeated. A 429 is returned before any work
 * is done. Without a response, and behind 502, 503 and 504, the request may have been executed: it is repeated only if that has
 * the same effect. A key that is still in flight belongs to the request before.
 */
export const delayBeforeRetry = (failed: Attempt): number | undefined => {
  const { attempt, code, isIdempotent, now, random, retries, retryAfter, status } = failed
  const mayRepeat = status === null || GATEWAY.includes(status) || code === IN_FLIGHT
  if (attempt > retries || !(status === 429 || (mayRepeat && isIdempotent))) return undefined
  const requested = retryAfter === null ? undefined : requestedDelay(retryAfter, now)
  if (requested !== undefined) return requested <= MAX_DELAY_MS ? requested : undefined
  return Math.min(INITIAL_DELAY_MS * 2 ** (attempt - 1) * (0.5 + random), MAX_DELAY_MS)
}
