/** The file of a ledger. All clients write the same form, but no two languages share a folder. */
import { textOf } from "../../offline/values/Decimal.ts"
import { isCount, isText, own } from "../../offline/values/Unknown.ts"
import type { LedgerStore } from "../Ports.ts"
import { applyRecord, KEY_LIFE_MS, newJournal, placeOf } from "./Journal.ts"
import type { Journal, JournalRecord } from "./Journal.ts"
import { portionsOf } from "./Tally.ts"

const FORMAT = "keyshelf-ledger"

/** A file that is larger, and has doubled since it was rewritten, is rewritten when it is settled. */
const MAX_SIZE = 1_048_576

/** The ledger was closed. Nothing was spent. */
export class LedgerEnded extends TypeError {}

/** A text that survives a restart. */
export interface LedgerFile {
  /** What is stored; empty if nothing is. */
  readonly text: string
  readonly size: () => number
  /** Adds a text. It has reached the operating system when this returns; if it throws, nothing was added. */
  readonly append: (text: string) => void
  /** Resolves when all that was added is on the disk. */
  readonly sync: () => Promise<void>
  /** Replaces what is stored, and keeps what is added meanwhile. */
  readonly replace: (text: string) => Promise<void>
  /** Keeps what is stored under another name. */
  readonly setAside: () => Promise<void>
  readonly close: () => Promise<void>
}

const textOfRecord = (record: JournalRecord): string => `${JSON.stringify(record)}\n`

const headerOf = ({ base, source }: Pick<Journal, "base" | "source">): string =>
  `${JSON.stringify({ format: FORMAT, v: 1, source, ...base })}\n`

/** All that a journal says, in as few records as possible. */
export const textOfJournal = (journal: Journal, time: number): string => {
  const { base, given, keys, lastAt, lines, open, source, token } = journal
  const records: Array<JournalRecord> = []
  const spend = (entitlement: string, amount: string, period: string) =>
    records.push({
      spend: [[entitlement, amount, period]],
      at: lastAt.get(placeOf(entitlement, period)) ?? Math.floor(time),
    })
  if (token !== undefined) records.push({ settled: base.lines, head: base.head, token })
  for (const [key, { at, spent }] of keys) if (at > time - KEY_LIFE_MS) records.push({ key, at, spent })
  for (const { amount, entitlement, head, period, text } of lines) {
    // A line is the sum of spends before it.
    spend(entitlement, textOf(amount), period)
    records.push({ line: text, head, period })
  }
  for (const [entitlement, period, amount] of portionsOf(open)) spend(entitlement, amount, period)
  const returned = portionsOf(given)
  if (returned.length > 0) records.push({ given: returned })
  return headerOf({ source, base }) + records.map(textOfRecord).join("")
}

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** A list of entitlement, period and amount. */
const isList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((part) => Array.isArray(part) && part.length === 3 && part.every(isText))

const isJournalRecord = (value: unknown): value is JournalRecord => {
  const of = (name: string) => own(value, name)
  const isTimed = isCount(of("at")) && (of("key") === undefined || isText(of("key")))
  return (
    (isList(of("spend")) && isTimed) ||
    isList(of("given")) ||
    (isText(of("line")) && isText(of("head")) && isText(of("period")) && parsed(of("line") as string) !== undefined) ||
    (isCount(of("settled")) && isText(of("head")) && isText(of("token"))) ||
    (isText(of("key")) && isTimed && isList(of("spent")))
  )
}

/**
 * Reads a journal. A last line that was cut off was never acknowledged. Where another one is damaged, amounts may be missing: the
 * journal `isDamaged`, and its tranche must not be spent. `undefined` if the text has no journal of this version.
 */
export const journalIn = async (text: string): Promise<(Journal & { readonly isDamaged: boolean }) | undefined> => {
  const [first = "", ...lines] = text.split("\n").slice(0, -1)
  const header = parsed(first)
  const [format, v, source, count, head] = ["format", "v", "source", "lines", "head"].map((name) => own(header, name))
  if (format !== FORMAT || v !== 1 || !isText(source) || !isCount(count) || !isText(head)) return undefined
  const journal: Journal = { ...(await newJournal(source)), base: { lines: count, head } }
  let isDamaged = false
  for (const line of lines) {
    const record = parsed(line)
    if (isJournalRecord(record)) applyRecord(journal, record)
    else isDamaged = true
  }
  return { ...journal, isDamaged }
}

/** Whether the file of a ledger has uses that the service has not counted. */
export const isUnsettled = async (text: string): Promise<boolean> => {
  const journal = await journalIn(text)
  return journal !== undefined && portionsOf(journal.spent).length > 0
}

/** Makes the store of a file. */
export const ledgerStoreOf = async (file: LedgerFile): Promise<LedgerStore> => {
  const journal = await journalIn(file.text)
  if (journal === undefined && file.text !== "") await file.setAside()
  // A product that consumes nothing has no file.
  let hasHeader = journal !== undefined
  let sizeBefore = 0
  return {
    journal,
    append: (records, of) => {
      file.append((hasHeader ? "" : headerOf(of)) + records.map(textOfRecord).join(""))
      hasHeader = true
    },
    sync: file.sync,
    replace: async (next, time) => {
      hasHeader = true
      await file.replace(textOfJournal(next, time))
      sizeBefore = file.size()
    },
    isLarge: () => file.size() > Math.max(MAX_SIZE, 2 * sizeBefore),
    close: file.close,
  }
}
