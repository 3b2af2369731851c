/** When a refill is due. */
import { USE_MS } from "./Uses.ts"
import { EARLY_MS, figuresOf, namesOf } from "./Requests.ts"
import type { Basis } from "./Requests.ts"
import { decimalOf } from "../../offline/values/Decimal.ts"
import { amountAt, portionsOf, withheldAt } from "./Tally.ts"
import { millisOf } from "../../offline/values/Unknown.ts"

/** How long a unit that was spent is not settled. */
const SETTLE_MS = 5_000
/** Without a call that waits, requests are not more frequent. */
const SPACING_MS = 1_000
/** What is reserved is kept alive before it can be spent no longer. */
const RENEW_MS = 600_000

/** What has happened, by the monotonic clock. */
interface Moments {
  readonly requestedAt: number
  /** When the first unit was spent that is not settled. */
  readonly unsettledSince: number
  readonly isShort: (entitlement: string) => boolean
}

/** When what an entitlement holds must change. */
const dueOf = (basis: Basis, name: string, isShort: boolean): number => {
  const { claims, journal, local, now, time, uses } = basis
  const figures = figuresOf(basis, name, time)
  if (figures === undefined) return Infinity
  const { period, unspent } = figures
  const recent = uses.recent(name, now)
  const times: Array<number> = []
  if (!isShort && unspent + unspent < recent) times.push(now)
  const { end } = period
  const next =
    end === null
      ? 0n
      : amountAt(claims.tranche?.of, name, end) - amountAt(journal.spent, name, end) - withheldAt(local, name, end)
  if (unspent > 0n || next > 0n) times.push(uses.lastAt(name) + USE_MS)
  if (end !== null && recent > 0n && !isShort && next + next < recent) times.push(now + millisOf(end) - time - EARLY_MS)
  return Math.min(...times)
}

/** When the next request is due if no call waits. */
export const dueAt = (basis: Basis, { isShort, requestedAt, unsettledSince }: Moments): number => {
  const { claims, now, reserved, time } = basis
  const times = namesOf(basis).map((name) => dueOf(basis, name, isShort(name)))
  const { until } = claims.tranche ?? {}
  const isReserved = until !== undefined && portionsOf(reserved).some(([, , amount]) => decimalOf(amount) !== 0n)
  if (isReserved) times.push(now + until * 1000 - time - RENEW_MS)
  return Math.max(requestedAt + SPACING_MS, Math.min(unsettledSince + SETTLE_MS, ...times))
}
