/** Date-times of flags: RFC 3339, to the millisecond, in the years 1 to 9999, as requests of the service have them. */
import { isText } from "./Unknown.ts"

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** `0001-01-01T00:00:00.000Z` and `9999-12-31T23:59:59.999Z`. */
const FIRST_MS = -62_135_596_800_000
const LAST_MS = 253_402_300_799_999

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** The start of a minute in UTC. JavaScript reads 30 February as a day in March. */
const minuteOf = (date: string, minute: string): number | undefined => {
  const millis = Date.parse(`${date}T${minute}:00.000Z`)
  return Number.isFinite(millis) && new Date(millis).toISOString().startsWith(date) ? millis : undefined
}

const offsetOf = (sign: string | undefined, hours: number, minutes: number): number | undefined => {
  if (sign === undefined) return 0
  if (hours > 23 || minutes > 59) return undefined
  return (sign === "-" ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS
}

/** A leap second is the last one of a month in UTC. It counts as the millisecond before it ends. */
const beforeLeapSecond = (millis: number): number | undefined =>
  millis % DAY_MS === 0 && new Date(millis).getUTCDate() === 1 ? millis - 1 : undefined

/** Milliseconds since 1970 of a date-time; `undefined` if a value is none. Digits after the millisecond do not count. */
export const dateTimeMs = (value: unknown): number | undefined => {
  const [, date = "", minute = "", second = "", fraction = "", sign, hours, minutes] =
    (isText(value) && RFC_3339.exec(value)) || []
  const start = minuteOf(date, minute)
  const offset = offsetOf(sign, Number(hours), Number(minutes))
  if (start === undefined || offset === undefined || Number(second) > 60) return undefined
  const whole = start - offset + Number(second) * 1000
  const millis = second === "60" ? beforeLeapSecond(whole) : whole + Number(fraction.slice(0, 3).padEnd(3, "0"))
  return millis !== undefined && millis >= FIRST_MS && millis <= LAST_MS ? millis : undefined
}
