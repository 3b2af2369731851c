/**
 * Instants: returned in UTC with milliseconds, accepted as RFC 3339 has them, in the years 1 to 9999. What the service
 * computes from them has a year of four digits too, because readers parse nothing else.
 */
import { Clock, Effect, Schema, SchemaGetter, SchemaIssue } from "effect"

export const HOUR_MS = 3_600_000
/** A day of 24 hours. */
export const DAY_MS = 24 * HOUR_MS

const MINUTE_MS = 60_000

/** The milliseconds of the first and the last instant that can be written: `0001-01-01` and `9999-12-31T23:59:59.999Z`. */
export const FIRST_INSTANT_MS = -62_135_596_800_000
export const LAST_INSTANT_MS = 253_402_300_799_999

/** Whether an instant, in milliseconds since 1970, has a year of 1 to 9999. */
export const isWritable = (millis: number): boolean => millis >= FIRST_INSTANT_MS && millis <= LAST_INSTANT_MS

/** The instant, or the first or last one that can be written. */
export const nearestWritable = (millis: number): Date =>
  new Date(Math.min(Math.max(millis, FIRST_INSTANT_MS), LAST_INSTANT_MS))

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** The form of instants in requests, for messages. */
export const INSTANT_FORM =
  "an RFC 3339 date-time in the years 1 to 9999, e.g. 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"

const DAYS_OF_MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const daysOfMonth = (year: number, month: number): number =>
  month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : (DAYS_OF_MONTHS[month - 1] ?? 0)

// The calendar repeats after 400 years. `Date.UTC` takes the years 0 to 99 for 1900 to 1999.
const CYCLE_YEARS = 400
const CYCLE_MS = 146_097 * DAY_MS

/** The first instant of a month, counted from 1, in any year. Months before 1 and after 12 are those of other years. */
export const monthStartMs = (year: number, month: number): number =>
  Date.UTC(year + CYCLE_YEARS, month - 1, 1) - CYCLE_MS

// A leap second is the 61st second of the last minute of a month in UTC.
const isAfterLeapSecond = (millis: number): boolean => {
  const after = new Date(millis)
  return millis % DAY_MS === 0 && after.getUTCDate() === 1
}

/** Parses an instant of a request. Digits after the millisecond are cut off. */
export const parseInstant = (text: string): Date | undefined => {
  const match = RFC_3339.exec(text)
  if (match === null) return undefined
  const [, yearText, monthText, dayText, hourText, minuteText, secondText, fraction, sign, offsetHours, offsetMinutes] =
    match
  const year = Number(yearText)
  const month = Number(monthText)
  const day = Number(dayText)
  const hour = Number(hourText)
  const minute = Number(minuteText)
  const second = Number(secondText)
  // `Date` would read 30 February as 1 March. A license must not end on the wrong day.
  if (day < 1 || day > daysOfMonth(year, month) || hour > 23 || minute > 59 || second > 60) return undefined
  let millis = monthStartMs(year, month) + (day - 1) * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS + second * 1000
  if (sign !== undefined) {
    const [hours, minutes] = [Number(offsetHours), Number(offsetMinutes)]
    if (hours > 23 || minutes > 59) return undefined
    millis += (sign === "-" ? 1 : -1) * (hours * HOUR_MS + minutes * MINUTE_MS)
  }
  if (second === 60) {
    // The last millisecond before the leap second, so that the instant stays in its month.
    if (!isAfterLeapSecond(millis)) return undefined
    millis--
  } else if (fraction !== undefined) {
    millis += Number(fraction.slice(0, 3).padEnd(3, "0"))
  }
  // An offset can move an instant out of the years that can be written.
  return isWritable(millis) ? new Date(millis) : undefined
}

const MAX_CACHED_DAYS = 1000
const upTo = (count: number, digits: number) => Array.from({ length: count }, (_, n) => String(n).padStart(digits, "0"))
const twoDigits = upTo(60, 2)
const threeDigits = upTo(1000, 3)
const days = new Map<number, string>()

const dayText = (day: number, instant: Date): string => {
  const cached = days.get(day)
  if (cached !== undefined) return cached
  if (days.size >= MAX_CACHED_DAYS) days.clear()
  const text = instant.toISOString().slice(0, -"00:00:00.000Z".length)
  days.set(day, text)
  return text
}

/** Formats like `Date.toISOString` in a quarter of the time, by caching days: a list has many instants of few days. */
export const instantText = (instant: Date): string => {
  const millis = instant.getTime()
  const day = Math.floor(millis / DAY_MS)
  const ofDay = millis - day * DAY_MS
  const seconds = Math.floor(ofDay / 1000)
  const minutes = Math.floor(seconds / 60)
  const hour = twoDigits[Math.floor(minutes / 60)]
  return `${dayText(day, instant)}${hour}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.${threeDigits[ofDay % 1000]}Z`
}

/** Whether an instant is before another. Comparing the `Date` objects takes more than ten times as long. */
export const isBefore = (instant: Date, other: Date): boolean => instant.getTime() < other.getTime()

/** Whether two instants are equal, or both are `null`. */
export const isSameInstant = (left: Date | null, right: Date | null): boolean => left?.getTime() === right?.getTime()

/** An instant as the service stores and returns it: `2026-01-31T09:00:00.000Z`. */
export const Timestamp = Schema.Date.annotate({
  description: "UTC, `YYYY-MM-DDTHH:mm:ss.sssZ`",
  toCodecJson: () =>
    Schema.link<Date>()(
      Schema.String.annotate({ expected: "a string that will be decoded as a Date", format: "date-time" }),
      {
        decode: SchemaGetter.Date(),
        encode: SchemaGetter.transform(instantText),
      },
    ),
})

/** An instant as clients send it: RFC 3339, e.g. `2026-01-31T10:00:00+01:00`. */
export const TimestampInput = Schema.String.annotate({
  format: "date-time",
  description: "RFC 3339 date-time with `Z` or an offset",
}).pipe(
  Schema.decodeTo(Schema.Date, {
    decode: SchemaGetter.transformEffect((text: string) => {
      const instant = parseInstant(text)
      return instant === undefined
        ? Effect.fail(new SchemaIssue.InvalidValue({ message: `Expected ${INSTANT_FORM}` }))
        : Effect.succeed(instant)
    }),
    encode: SchemaGetter.transform(instantText),
  }),
)

/** The current instant of the service's Clock. It is the only source of time; SQL never calls `now()`. */
export const now: Effect.Effect<Date> = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
