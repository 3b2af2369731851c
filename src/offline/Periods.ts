/** Usage periods of a bundle. The bundle lists all that overlap its lifetime, so no calendar arithmetic is needed. */
import type { Claims, Instant, Period } from "./Model.ts"
import { isRecord, millisOf, own } from "./values/Unknown.ts"

const textOf = (millis: number): string => new Date(millis).toISOString()

/** The greatest start up to an instant, and the least one after it. */
const periodIn = (starts: ReadonlyArray<number>, at: number): Period | null => {
  const start = Math.max(...starts.filter((one) => one <= at))
  const end = Math.min(...starts.filter((one) => one > at))
  return start > -Infinity ? { start: textOf(start), end: end < Infinity ? textOf(end) : null } : null
}

/** The starts of periods of a fixed length around an instant. */
const around = (from: number, length: number, at: number): ReadonlyArray<number> => {
  const start = at - ((at - from) % length)
  return at >= from ? [start, start + length] : []
}

/** What is read of an entry of `periods`, which does not change while it answers. */
interface Read {
  readonly starts: ReadonlyArray<number> | undefined
  /** The last answer, for the instants from `from` up to `to`. */
  last: { readonly from: number; readonly to: number; readonly period: Period } | undefined
}

const reads = new WeakMap<object, Read>()

const readOf = (named: unknown): Read => {
  const known = isRecord(named) ? reads.get(named) : undefined
  if (known !== undefined) return known
  const starts = own(named, "starts")
  const read: Read = { starts: Array.isArray(starts) ? starts.map(millisOf) : undefined, last: undefined }
  if (isRecord(named)) reads.set(named, read)
  return read
}

/** The period of a name, such as `MONTH/CALENDAR`, that contains an instant. `null` if the bundle names none. Never throws. */
export const periodAt = (claims: Pick<Claims, "periods">, period: string, at: Instant): Period | null => {
  try {
    const named = own(claims.periods, period)
    const read = readOf(named)
    const instant = millisOf(at)
    const { last } = read
    if (last !== undefined && instant >= last.from && instant < last.to) return last.period
    const [from, every] = [own(named, "from"), own(named, "every")]
    const found = periodIn(read.starts ?? around(millisOf(from), Number(every) * 1000, instant), instant)
    if (found !== null) {
      const to = found.end === null ? Infinity : millisOf(found.end)
      read.last = { from: millisOf(found.start), to, period: found }
    }
    return found
  } catch {
    return null
  }
}
