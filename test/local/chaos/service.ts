/** A model of the service in memory: terms, ledgers, tranches and usage of one instance, in whole units. */
import { BigDecimal } from "effect"
import { createHash } from "node:crypto"
import { afterLines, refill as refillOf } from "../../../src/domains/usage/tranches/Rules.ts"
import { claims as base } from "../../offline/signer.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR

const SPEND_MS = HOUR
const HOLD_MS = DAY

/** The beginning of a run: a day begins. */
export const BASE = Date.parse("2026-11-27T00:00:00.000Z")

/** What is sold: few units an hour, more an hour, and many a day. */
export const SOLD = [
  { slug: "small", limit: 10, everyMs: HOUR, period: "HOUR/CALENDAR" },
  { slug: "medium", limit: 1_000, everyMs: HOUR, period: "HOUR/CALENDAR" },
  { slug: "large", limit: 1_000_000, everyMs: DAY, period: "DAY/CALENDAR" },
] as const

interface Row {
  quantity: number
  expiresAt: number
  spendUntil: number
}

interface StoredLedger {
  /** The head after each line; of the source before the first. */
  readonly heads: Array<string>
  isClosed: boolean
  readonly rows: Map<string, Row>
}

interface Tranche {
  readonly entitlement: string
  readonly periodStart: string
  readonly keep: string
  readonly need: string
  readonly want: string
}

export interface RefillRequest {
  readonly source: string
  readonly lines: ReadonlyArray<string>
  readonly close: boolean
  readonly tranches: ReadonlyArray<Tranche>
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

type Response =
  | { readonly status: "ok"; readonly body: Readonly<Record<string, unknown>>; readonly snapshot: Sent }
  | { readonly status: "problem"; readonly code: string }

/** The claims of a snapshot, before they are signed. */
type Sent = Readonly<Record<string, unknown>>

/** What the service has seen. */
export interface Model {
  readonly snapshot: (etag: string | null) => { readonly etag: string; readonly claims: Sent } | undefined
  readonly refill: (request: RefillRequest) => Response
  readonly change: () => void
  readonly isOn: () => boolean
  /** All usage of an entitlement. */
  readonly usage: (entitlement: string) => number
  /** How far usage and holds were above a cap, at most. */
  readonly overrun: () => number
  /** The largest tranche. */
  readonly largest: () => number
  /** Units that were counted and of no tranche. */
  readonly facts: () => number
  readonly free: (entitlement: string) => number
  readonly forks: () => number
}

const keyOf = (entitlement: string, start: string): string => `${entitlement} ${start}`

const unitsOf = (amount: number | string) => BigDecimal.fromNumberUnsafe(Number(amount))

/** What is left of a row after lines that spent so much. */
const leftOf = (quantity: number, spent: number): number =>
  BigDecimal.toNumberUnsafe(afterLines(unitsOf(quantity), unitsOf(spent)))

/** How long before and after a period a refill may name it. */
const NEXT_MS = 60_000
const ENDED_MS = 10_000

/**
 * Makes the model. `now` is its clock, in milliseconds since the beginning. Its hours and days begin `offsetMs` after those of the
 * calendar.
 */
export const makeModel = (now: () => number, offsetMs = 0): Model => {
  const ledgers = new Map<string, StoredLedger>()
  const used = new Map<string, number>()
  let overrun = 0
  let largest = 0
  let isOn = true
  let version = 1
  let facts = 0
  let forks = 0
  let serial = 0

  const time = () => BASE + now()
  const soldAt = new Date(time() - DAY).toISOString()
  const startOf = (everyMs: number, at: number): string => new Date(at - ((at - offsetMs) % everyMs)).toISOString()
  const usageOf = (key: string) => used.get(key) ?? 0
  const heldIn = (key: string, but?: StoredLedger) => {
    let sum = 0
    for (const ledger of ledgers.values()) {
      const row = ledger.rows.get(key)
      if (ledger !== but && row !== undefined && row.expiresAt > time()) sum += row.quantity
    }
    return sum
  }
  const check = (slug: string, key: string) => {
    const { limit } = SOLD.find((one) => one.slug === slug) ?? { limit: 0 }
    overrun = Math.max(overrun, usageOf(key) + heldIn(key) - limit)
  }

  const claimsOf = (tranche?: Readonly<Record<string, unknown>>) => {
    const seconds = Math.floor(time() / 1000)
    const day = startOf(DAY, time())
    const entitlements = SOLD.map(({ everyMs, limit, period, slug }) => {
      const start = startOf(everyMs, time())
      const [usage, held] = [usageOf(keyOf(slug, start)), heldIn(keyOf(slug, start))]
      const amounts = { used: String(usage + held), held: String(held), usedFrom: start }
      return { slug, type: "NUMBER", limit: String(limit), overagePercent: "0", aggregation: "SUM", period, ...amounts }
    })
    const payload: Readonly<Record<string, unknown>> = {
      ...base,
      jti: `s-${serial++}`,
      iat: seconds,
      nbf: seconds,
      renew: seconds + 600,
      exp: seconds + 7 * 86_400,
      license: { ...base.license, start: soldAt, termEnd: null, end: null },
      entitlements: [...entitlements, { slug: "sso", type: "BOOLEAN", value: isOn }],
      periods: { "HOUR/CALENDAR": { from: day, every: 3_600 }, "DAY/CALENDAR": { from: day, every: 86_400 } },
      flags: {},
      binding: null,
      complete: true,
      away: { then: "DENY" },
      ...(tranche === undefined ? {} : { tranche }),
    }
    return payload
  }
  const etag = () => `"${version}.${Math.floor(now() / 300_000)}"`

  const count = (ledger: StoredLedger, text: string) => {
    const { data, time: at, type } = JSON.parse(text) as { data: { value: number }; time: string; type: string }
    const { everyMs } = SOLD.find(({ slug }) => slug === type) ?? { everyMs: HOUR }
    const key = keyOf(type, startOf(everyMs, Date.parse(at)))
    const row = ledger.rows.get(key)
    const left = row === undefined || row.expiresAt <= time() ? 0 : row.quantity
    const paid = left - leftOf(left, data.value)
    if (row !== undefined) row.quantity -= paid
    facts += data.value - paid
    used.set(key, usageOf(key) + data.value)
    ledger.heads.push(hashOf(text))
  }

  const rejected = ({ close, lines, source, tranches }: RefillRequest, ledger: StoredLedger): string | undefined => {
    const { heads } = ledger
    let previous: string | undefined
    for (const text of lines) {
      const { id, prevhash } = JSON.parse(text) as { id: string; prevhash: string }
      const number = Number(id)
      if (previous === undefined && number > heads.length) return "LedgerGap"
      const expected = previous ?? heads[number - 1]
      const stored = heads[number]
      if (prevhash !== expected || (stored !== undefined && stored !== hashOf(text))) {
        forks++
        return "LedgerForked"
      }
      if (stored === undefined && ledger.isClosed) return "LedgerClosed"
      previous = hashOf(text)
    }
    if (ledger.isClosed && !close && tranches.length > 0) return "LedgerClosed"
    return source.length > 0 ? undefined : "LedgerGap"
  }

  const refillOne = (ledger: StoredLedger, tranche: Tranche, close: boolean) => {
    const { entitlement, keep, need, periodStart, want } = tranche
    const { limit: cap = 0 } = SOLD.find(({ slug }) => slug === entitlement) ?? {}
    const key = keyOf(entitlement, periodStart)
    const row = ledger.rows.get(key) ?? { quantity: 0, expiresAt: 0, spendUntil: 0 }
    const holders =
      1 + [...ledgers.values()].filter((one) => one !== ledger && (one.rows.get(key)?.spendUntil ?? 0) > time()).length
    const [usage, heldByOthers] = [unitsOf(usageOf(key)), unitsOf(heldIn(key, ledger))]
    const [asked, unspent] = [(amount: string) => unitsOf(close ? 0 : amount), unitsOf(row.quantity)]
    const refilled = refillOf(
      { cap: unitsOf(cap), usage, heldByOthers, holders },
      { unspent, keep: asked(keep), need: asked(need), want: asked(want) },
    )
    const { satisfied } = refilled
    ledger.rows.set(key, { ...row, quantity: BigDecimal.toNumberUnsafe(refilled.unspent) })
    return {
      entitlement,
      periodStart,
      unspent: BigDecimal.format(refilled.unspent),
      satisfied,
      reason: satisfied ? "GRANTED" : "LIMIT_REACHED",
    }
  }

  const periodOf = (entitlement: string, periodStart: string) => {
    const { everyMs } = SOLD.find(({ slug }) => slug === entitlement) ?? { everyMs: HOUR }
    const start = Date.parse(periodStart)
    return { start, end: start + everyMs, begins: startOf(everyMs, start) === periodStart }
  }
  const isPeriod = ({ entitlement, periodStart }: Tranche): boolean => {
    const { begins, end, start } = periodOf(entitlement, periodStart)
    return begins && start <= time() + NEXT_MS && end >= time() - ENDED_MS
  }

  return {
    snapshot: (known) => (known === etag() ? undefined : { etag: etag(), claims: claimsOf() }),
    refill: (request) => {
      const { close, lines, source, tranches } = request
      const ledger = ledgers.get(source) ?? { heads: [hashOf(source)], isClosed: false, rows: new Map() }
      const code = rejected(request, ledger)
      if (code !== undefined) return { status: "problem", code: `RefillTranches.${code}` }
      if (!tranches.every(isPeriod)) return { status: "problem", code: "Request.Invalid" }
      ledgers.set(source, ledger)
      for (const [key, row] of ledger.rows) if (row.expiresAt <= time()) ledger.rows.set(key, { ...row, quantity: 0 })
      const before = ledger.heads.length - 1
      for (const text of lines) {
        if (Number((JSON.parse(text) as { id: string }).id) === ledger.heads.length) count(ledger, text)
      }
      const results = tranches.map((tranche) => refillOne(ledger, tranche, close))
      if (close) {
        ledger.isClosed = true
        for (const row of ledger.rows.values()) row.quantity = 0
      }
      const of: Record<string, Record<string, string>> = {}
      for (const [key, row] of ledger.rows) {
        Object.assign(row, { spendUntil: time() + SPEND_MS, expiresAt: time() + HOLD_MS })
        const [slug = "", start = ""] = key.split(" ")
        check(slug, key)
        largest = Math.max(largest, row.quantity)
        const isPast = periodOf(slug, start).end < time() - ENDED_MS
        if (row.quantity > 0 && !isPast) (of[slug] ??= {})[start] = String(row.quantity)
        else if (Date.parse(start) < time() - 2 * DAY) ledger.rows.delete(key)
      }
      const [position, head = ""] = [ledger.heads.length - 1, ledger.heads.at(-1)]
      const until = Math.floor((time() + SPEND_MS) / 1000)
      const snapshot = claimsOf({ source, lines: position, head, until, of })
      const counts = {
        accepted: position - before,
        duplicates: lines.length - (position - before),
        lines: position,
        head,
      }
      return {
        status: "ok",
        body: { source, ...counts, closed: ledger.isClosed, results: [], tranches: results, etag: etag() },
        snapshot,
      }
    },
    change: () => {
      isOn = !isOn
      version++
    },
    isOn: () => isOn,
    usage: (entitlement) => {
      let sum = 0
      for (const [key, amount] of used) if (key.startsWith(`${entitlement} `)) sum += amount
      return sum
    },
    overrun: () => overrun,
    largest: () => largest,
    facts: () => facts,
    free: (entitlement) => {
      const { everyMs = HOUR, limit = 0 } = SOLD.find(({ slug }) => slug === entitlement) ?? {}
      const key = keyOf(entitlement, startOf(everyMs, time()))
      return limit - usageOf(key) - heldIn(key)
    },
    forks: () => forks,
  }
}
