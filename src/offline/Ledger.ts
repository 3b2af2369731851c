/**
 * A ledger of usage: one CloudEvent a line, each with the hash of the line before. The caller stores the lines and
 * uploads them when it can.
 */
import { isBounded } from "./values/Bounds.ts"
import { hashOf } from "./values/Bytes.ts"
import { decimalOf, textOf } from "./values/Decimal.ts"
import { check } from "./tokens/Faults.ts"
import type { Instant } from "./Model.ts"
import { isCount, isRecord, isText, millisOrNow, own } from "./values/Unknown.ts"

const SOURCE = /^urn:keyshelf:ledger:[0-9a-f-]{36}$/

/** How many lines a ledger has, and the hash of the last one: of its source if there is none. */
export interface LedgerPosition {
  readonly lines: number
  readonly head: string
}

/** Usage of one entitlement. Add up first: a line an hour is enough. */
export interface LedgerEvent {
  /** Slug of the instance. */
  readonly subject: string
  /** Slug of the entitlement. */
  readonly type: string
  /** The id of the bundle, `jti`. */
  readonly bundleId: string
  /** A decimal. */
  readonly value: string | number | bigint
  /** Default: the clock of the machine. */
  readonly time?: Instant | undefined
  /** Other properties of the event's `data`, such as `uniqueKey`. */
  readonly data?: Readonly<Record<string, unknown>> | undefined
}

/** An argument has the wrong form, or a stored line is not a CloudEvent of this ledger. Nothing was changed. */
export interface MalformedLedger {
  readonly status: "MALFORMED"
}

/** A new line, and the position of the ledger after it. */
export type Appended = ({ readonly status: "APPENDED"; readonly line: string } & LedgerPosition) | MalformedLedger

/** An open ledger. */
export interface Ledger {
  readonly status: "OPEN"
  readonly source: string
  /** The position now. */
  readonly position: () => LedgerPosition
  /** How many of the lines that were passed the stored position already had. */
  readonly duplicates: number
  /**
   * Creates the next line. Store it: if that fails, open the ledger again from what is stored. Concurrent
   * calls create one line after the other. Never rejects.
   */
  readonly append: (event: LedgerEvent) => Promise<Appended>
}

/** Why a ledger cannot be opened. `at` and `next` are numbers of lines, from 1 on. */
export type LedgerFault =
  | MalformedLedger
  /** Lines from `next` on are missing. */
  | { readonly status: "GAP"; readonly next: number }
  /** The line `at` does not follow from the one before, or differs from the one at the position. */
  | { readonly status: "FORKED"; readonly at: number }

/** What is stored of a ledger. */
export interface StoredLedger {
  /** A position that is known to be right, such as the service's. Default: the start. */
  readonly stored?: LedgerPosition | undefined
  /** Lines, in their order. Those before the stored position may be left out. */
  readonly lines?: ReadonlyArray<string> | undefined
}

const MALFORMED: MalformedLedger = { status: "MALFORMED" }

const lineOf = (source: string, { head, lines }: LedgerPosition, event: LedgerEvent): string => {
  const { bundleId, data = {}, subject, time, type, value } = event
  const amount = decimalOf(value)
  check(amount !== undefined && [subject, type, bundleId].every(isText) && isRecord(data) && !("value" in data))
  const attributes = JSON.stringify({
    specversion: "1.0",
    id: String(lines + 1),
    source,
    subject,
    type,
    time: new Date(millisOrNow(time)).toISOString(),
    bundleid: bundleId,
    prevhash: head,
  })
  // The amount is written digit by digit: a JavaScript number would round it.
  const rest = JSON.stringify(data).slice(1, -1)
  return `${attributes.slice(0, -1)},"data":{"value":${textOf(amount)}${rest && `,${rest}`}}}`
}

/** The position of a ledger after these lines, and how many of them it already had. */
const follow = async (
  source: string,
  start: LedgerPosition,
  texts: ReadonlyArray<string>,
): Promise<
  LedgerFault | { readonly status: "FOLLOWS"; readonly duplicates: number; readonly position: LedgerPosition }
> => {
  let position = start
  let duplicates = 0
  for (const text of texts) {
    check(isText(text) && isBounded(text))
    const event: unknown = JSON.parse(text)
    const number = Number(own(event, "id"))
    check(own(event, "source") === source && isCount(number) && number > 0 && own(event, "id") === String(number))
    if (number > position.lines + 1) return { status: "GAP", next: position.lines + 1 }
    const isNew = number > position.lines
    const hash = await hashOf(text)
    const follows = isNew ? own(event, "prevhash") === position.head : number < position.lines || hash === position.head
    if (!follows) return { status: "FORKED", at: number }
    if (isNew) position = { lines: number, head: hash }
    else duplicates++
  }
  return { status: "FOLLOWS", duplicates, position }
}

const opened = async (source: string, { lines = [], stored }: StoredLedger): Promise<Ledger | LedgerFault> => {
  check(isText(source) && SOURCE.test(source) && Array.isArray(lines))
  const start = { lines: 0, head: await hashOf(source) }
  const from = stored ?? start
  check(isCount(from.lines) && isText(from.head) && (from.lines > 0 || from.head === start.head))
  const followed = await follow(source, from, lines)
  if (followed.status !== "FOLLOWS") return followed

  let { position } = followed
  let last: Promise<unknown> = Promise.resolve()
  const append = async (event: LedgerEvent): Promise<Appended> => {
    const line = lineOf(source, position, event)
    position = { lines: position.lines + 1, head: await hashOf(line) }
    return { status: "APPENDED", line, ...position }
  }
  return {
    status: "OPEN",
    source,
    position: () => position,
    duplicates: followed.duplicates,
    append: (event) => {
      const appended = last.then(() => append(event)).catch(() => MALFORMED)
      last = appended
      return appended
    },
  }
}

/**
 * Opens a ledger: a new one, or one that is stored. `source` is `urn:keyshelf:ledger:<uuid>`, a new uuid for each ledger.
 * Checks that each line follows from the one before. Never rejects.
 */
export const openLedger = (source: string, options: StoredLedger = {}): Promise<Ledger | LedgerFault> =>
  opened(source, options).catch(() => MALFORMED)
