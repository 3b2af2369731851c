/** What a refill sends: the lines of what was spent, and what is to be kept, needed and wanted of each entitlement. */
import type { Claims, LocalUsage } from "../../offline/index.ts"
import { openLedger } from "../../offline/Ledger.ts"
import { termsAt } from "../../offline/Terms.ts"
import { decimalOf, textOf, UNLIMITED } from "../../offline/values/Decimal.ts"
import { millisOf } from "../../offline/values/Unknown.ts"
import { placeOf } from "./Journal.ts"
import type { Journal, JournalRecord } from "./Journal.ts"
import { amountAt, portionsOf, withheldAt } from "./Tally.ts"
import type { Portion, Tally } from "./Tally.ts"
import type { Uses } from "./Uses.ts"

const MAX_LINES = 1_000
const MAX_ENTRIES = 100
/** When a tranche of the next period is requested. */
export const EARLY_MS = 30_000
/** A period that ends so soon may have ended at the service. */
export const BOUNDARY_MS = 10_000

const ONE = decimalOf(1) as bigint

/** What the calls in line need of an entitlement: the first of them, and all. */
export interface Demand {
  readonly need: bigint
  readonly want: bigint
}

interface Entry {
  readonly entitlement: string
  readonly periodStart: string
  readonly keep: string
  readonly need: string
  readonly want: string
}

/** What a refill is planned by. */
export interface Basis {
  readonly claims: Claims
  readonly local: LocalUsage
  readonly journal: Journal
  readonly reserved: Tally
  readonly uses: Uses
  readonly demands: ReadonlyMap<string, Demand>
  /** The time of the service, and of the monotonic clock. */
  readonly time: number
  readonly now: number
}

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** Makes the lines of all that is spent and in no line yet, up to the maximum of a request. A `COUNT` has a line for each use. */
export const linesOf = async ({ claims, journal, time }: Pick<Basis, "claims" | "journal" | "time">) => {
  const ledger = await openLedger(journal.source, { stored: journal.base })
  const records: Array<JournalRecord> = []
  if (ledger.status !== "OPEN") return records
  for (const [type, period, amount] of portionsOf(journal.open)) {
    const isCount = claims.entitlements.some(
      (one) => one.slug === type && "aggregation" in one && one.aggregation === "COUNT",
    )
    const total = decimalOf(amount) ?? 0n
    for (let left = total; left > 0n && records.length < MAX_LINES; left -= isCount ? ONE : left) {
      const appended = await ledger.append({
        subject: claims.instance.slug,
        type,
        bundleId: claims.jti,
        value: isCount ? "1" : amount,
        time: new Date(journal.lastAt.get(placeOf(type, period)) ?? time),
      })
      if (appended.status === "APPENDED") records.push({ line: appended.line, head: appended.head, period })
    }
  }
  return records
}

/** What of an entitlement can be planned: it has a limit, and is counted in periods. */
export const figuresOf = ({ claims, local }: Pick<Basis, "claims" | "local">, slug: string, time: number) => {
  const { denial, figures } = termsAt(claims, slug, time, local)
  const { aggregation, limit, period, unspent = 0n } = figures ?? {}
  const isSpent = aggregation === "SUM" || aggregation === "COUNT"
  const isPlanned = denial === undefined && isSpent && limit !== undefined && limit !== UNLIMITED
  return isPlanned && period !== undefined && period !== null ? { period, unspent } : undefined
}

/** Entitlements that have recent uses, needs, reservations or unspent units. */
export const namesOf = ({ claims, demands, now, reserved, uses }: Basis): ReadonlyArray<string> => {
  const held = Object.keys(claims.tranche?.of ?? {})
  return [...new Set([...demands.keys(), ...uses.names(now), ...portionsOf(reserved).map(([name]) => name), ...held])]
}

/** What is sent of an entitlement in a period, and what of its units is given back. */
const entryOf = (basis: Basis, name: string, period: string, unspent: bigint, demand: Demand) => {
  const { journal, now, reserved, uses } = basis
  const recent = uses.recent(name, now)
  const want = demand.want + recent
  // Twice what is likely to be used, so that sizes do not swing.
  const kept = smaller(unspent, want + want)
  // The service does not know yet what is spent and not sent: that comes out of what is kept, too.
  const more = amountAt(reserved, name, period) + amountAt(journal.open, name, period)
  const entry: Entry = {
    entitlement: name,
    periodStart: period,
    keep: textOf(kept + more),
    need: textOf(demand.need > 0n ? demand.need + more : 0n),
    want: textOf(want > 0n ? want + more : 0n),
  }
  return { entry, returned: unspent - kept }
}

const NO_DEMAND: Demand = { need: 0n, want: 0n }

/** Plans a refill. What is returned must be written down before it is sent. */
export const planRefill = (
  basis: Basis,
): { readonly entries: ReadonlyArray<Entry>; readonly given: ReadonlyArray<Portion> } => {
  const { claims, demands, journal, local, now, time, uses } = basis
  const planned = namesOf(basis).flatMap((name) => {
    const figures = figuresOf(basis, name, time)
    if (figures === undefined) return []
    const { period, unspent } = figures
    const present = entryOf(basis, name, period.start, unspent, demands.get(name) ?? NO_DEMAND)
    const { end } = period
    if (end === null || millisOf(end) - time > EARLY_MS) return [present]
    const held = amountAt(claims.tranche?.of, name, end)
    if (held === 0n && uses.recent(name, now) === 0n) return [present]
    const left = held - amountAt(journal.spent, name, end) - withheldAt(local, name, end)
    return [present, entryOf(basis, name, end, left > 0n ? left : 0n, NO_DEMAND)]
  })
  const sent = planned.slice(0, MAX_ENTRIES)
  const given = sent.flatMap(({ entry, returned }): ReadonlyArray<Portion> =>
    returned > 0n ? [[entry.entitlement, entry.periodStart, textOf(returned)]] : [],
  )
  return { entries: sent.map(({ entry }) => entry), given }
}
