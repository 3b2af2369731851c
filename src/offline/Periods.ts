/** Usage periods of a bundle. The bundle lists all that overlap its lifetime, so no calendar arithmetic is needed. */
import type { Claims, Instant, Period } from "./Model.ts"
import { millisOf, own } from "./values/Unknown.ts"

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

/** The period of a name, such as `MONTH/CALENDAR`, that contains an instant. `null` if the bundle names none. Never throws. */
export const periodAt = (claims: Pick<Claims, "periods">, period: string, at: Instant): Period | null => {
  try {
    const named = own(claims.periods, period)
    const [starts, from, every] = [own(named, "starts"), own(named, "from"), own(named, "every")]
    const instant = millisOf(at)
    return periodIn(
      Array.isArray(starts) ? starts.map(millisOf) : around(millisOf(from), Number(every) * 1000, instant),
      instant,
    )
  } catch {
    return null
  }
}
