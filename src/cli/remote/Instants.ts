/** Times as people write them on a command line. Pure. */
import { DateTime, Option } from "effect"
import { DAY_MS } from "../../kernel/values/Timestamp.ts"

const UNIT_MILLIS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS }

const AGO = /^(\d{1,9})([smhd])$/
const DATE = /^\d{4}-\d\d-\d\d$/
const DATE_TIME = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/i

/** The forms that {@link instant} reads, as examples. */
export const forms = {
  any: "2027-01-31T09:00:00Z or 2027-01-31",
  past: "2027-01-31T09:00:00Z, 2027-01-31 or 24h",
} as const

/**
 * Reads a time: ISO 8601 with an offset, a date (midnight UTC) or, given `now`, how long ago (`90m`, `24h`, `7d`). Returns
 * ISO 8601.
 */
export const instant = (text: string, now: Date | undefined): Option.Option<string> => {
  const [, amount, unit] = AGO.exec(text) ?? []
  if (now !== undefined && unit !== undefined) {
    return Option.map(DateTime.make(now.getTime() - Number(amount) * (UNIT_MILLIS[unit] ?? 0)), DateTime.formatIso)
  }
  // A day that its month does not have, such as 31 February, would be one of the next month.
  if (DATE.test(text)) {
    return Option.map(DateTime.make(text), DateTime.formatIso).pipe(Option.filter((iso) => iso.startsWith(text)))
  }
  return DATE_TIME.test(text) ? Option.some(text) : Option.none()
}
