/**
 * The journal of a ledger: what a product spent, and what it sent. A line is a record of JSON; the first one names the format.
 *
 * | Record | Meaning |
 * |---|---|
 * | `{"spend":[["exports","3","<period>"]],"at":n,"key":"job-1"}` | Spent before the product went on; `key` is the caller's |
 * | `{"given":[["exports","<period>","5"]]}` | Not spendable any more: the next request gives it back |
 * | `{"line":"<CloudEvent>","head":"<hash>","period":"<period>"}` | The sum of spends before it, as it is sent |
 * | `{"settled":9,"head":"<hash>","token":"<snapshot>"}` | The service has counted lines up to here; what may be spent from here on |
 * | `{"key":"job-1","at":n,"spent":[...]}` | A key whose spends are settled |
 */
import { decimalOf } from "../../offline/values/Decimal.ts"
import { hashOf } from "../../offline/values/Bytes.ts"
import type { LedgerPosition } from "../../offline/Ledger.ts"
import type { Claims } from "../../offline/Model.ts"
import { own } from "../../offline/values/Unknown.ts"
import { addTo, newTally, portionsOf } from "./Tally.ts"
import type { Portion, Tally } from "./Tally.ts"

export const KEY_LIFE_MS = 86_400_000
const MAX_KEYS = 100_000

/** Entitlement, amount, start of the period. */
export type Spent = readonly [entitlement: string, amount: string, period: string]

export type JournalRecord =
  | { readonly spend: ReadonlyArray<Spent>; readonly at: number; readonly key?: string | undefined }
  | { readonly given: ReadonlyArray<Portion> }
  | { readonly line: string; readonly head: string; readonly period: string }
  | ({ readonly settled: number; readonly token: string } & Pick<LedgerPosition, "head">)
  | { readonly key: string; readonly at: number; readonly spent: ReadonlyArray<Spent> }

/** Usage that is sent, and not settled yet. */
interface Line extends LedgerPosition {
  readonly text: string
  readonly entitlement: string
  readonly period: string
  readonly amount: bigint
}

/** What a journal says. */
export interface Journal {
  source: string
  /** What is settled. */
  base: LedgerPosition
  /** The snapshot that came when it was. */
  token: string | undefined
  /** Whether amounts may be missing. */
  readonly isDamaged?: boolean
  lines: Array<Line>
  /** Spent, and in no line yet. */
  readonly open: Tally
  /** Spent, and not settled. */
  readonly spent: Tally
  readonly given: Tally
  /** When something of a period was last spent. */
  readonly lastAt: Map<string, number>
  readonly keys: Map<string, { readonly at: number; readonly spent: ReadonlyArray<Spent> }>
}

/** A tranche, if it is of this position of a ledger: it pays nothing elsewhere. */
export const trancheAt = (tranche: Claims["tranche"], source: string, { head, lines }: LedgerPosition) =>
  tranche?.source === source && tranche.lines === lines && tranche.head === head ? tranche : undefined

/** A ledger without lines. */
export const newJournal = async (source: string): Promise<Journal> => ({
  source,
  base: { lines: 0, head: await hashOf(source) },
  token: undefined,
  lines: [],
  open: newTally(),
  spent: newTally(),
  given: newTally(),
  lastAt: new Map(),
  keys: new Map(),
})

const amountOf = (text: unknown): bigint => decimalOf(text) ?? 0n

export const placeOf = (entitlement: string, period: string): string => `${entitlement} ${period}`

const lineIn = (text: string, head: string, period: string): Line => {
  const event: unknown = JSON.parse(text)
  const data = /"data":\{"value":(-?[\d.]+)/.exec(text)
  return {
    lines: Number(own(event, "id")),
    head,
    text,
    entitlement: String(own(event, "type")),
    period,
    amount: amountOf(data?.[1]),
  }
}

const keep = (journal: Journal, key: string, at: number, spent: ReadonlyArray<Spent>): void => {
  const { keys } = journal
  keys.delete(key)
  keys.set(key, { at, spent })
  for (const [old] of keys) {
    if (keys.size <= MAX_KEYS) break
    keys.delete(old)
  }
}

/** What a key spent within a day. */
export const spentBy = ({ keys }: Journal, key: string, now: number): ReadonlyArray<Spent> | undefined => {
  const known = keys.get(key)
  return known !== undefined && known.at > now - KEY_LIFE_MS ? known.spent : undefined
}

/** Applies a record, as it is written and as it is read again. */
export const applyRecord = (journal: Journal, record: JournalRecord): void => {
  const { given, lastAt, open, spent } = journal
  if ("spend" in record) {
    for (const [entitlement, amount, period] of record.spend) {
      addTo(entitlement, period, amountOf(amount), open, spent)
      lastAt.set(placeOf(entitlement, period), record.at)
    }
    if (record.key !== undefined) keep(journal, record.key, record.at, record.spend)
  } else if ("given" in record) {
    for (const [entitlement, period, amount] of record.given) addTo(entitlement, period, amountOf(amount), given)
  } else if ("line" in record) {
    const line = lineIn(record.line, record.head, record.period)
    journal.lines.push(line)
    addTo(line.entitlement, line.period, -line.amount, open)
  } else if ("settled" in record) {
    for (const { amount, entitlement, lines, period } of journal.lines) {
      if (lines <= record.settled) addTo(entitlement, period, -amount, spent)
    }
    journal.lines = journal.lines.filter(({ lines }) => lines > record.settled)
    if (portionsOf(spent).length === 0) lastAt.clear()
    journal.base = { lines: record.settled, head: record.head }
    journal.token = record.token
    for (const name of Object.keys(given)) delete given[name]
  } else keep(journal, record.key, record.at, record.spent)
}

/** Goes on with a new ledger, which begins with what is not settled. Nothing can be spent from it. */
export const renewed = ({ keys, lastAt, spent }: Journal, fresh: Journal): Journal => {
  for (const [entitlement, period, amount] of portionsOf(spent)) {
    addTo(entitlement, period, amountOf(amount), fresh.open, fresh.spent)
  }
  return { ...fresh, keys, lastAt }
}
