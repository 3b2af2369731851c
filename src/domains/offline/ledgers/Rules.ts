/** The chain of a ledger's lines, and the bundle that each line counts under. Pure. */
import { Predicate, Schema } from "effect"
import { createHash } from "node:crypto"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { invalidEvent, rejected } from "../../usage/cloudevents/Model.ts"
import type { Outcome } from "../../usage/cloudevents/Model.ts"
import type { UsageWindow } from "../../usage/siteusage/Model.ts"

/** The clock of a site may be behind the service's by this much when its bundle is issued. */
const MAX_BEHIND_MS = 5 * 60_000

/** The hash of a line, or of a source: SHA-256 over the bytes of the text, in base64url. */
export const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

/** How many lines a ledger has, and the hash of the last one. */
export interface LedgerPosition {
  readonly lines: number
  readonly head: string
}

/** A line of a ledger. */
export interface LedgerLine {
  /** Its place in the request. */
  readonly index: number
  readonly number: number
  readonly hash: string
  readonly event: object
}

const own = (event: object, name: string): unknown =>
  Object.hasOwn(event, name) ? Reflect.get(event, name) : undefined

// The text can be anything. We reject too many levels, as we reject a text that is not an object.
const objectOf = (text: string): object | undefined => {
  try {
    const parsed = parseJson(text)
    return Predicate.isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** The number of a line, from 1 on. */
const numberOf = (event: object): number | undefined => {
  const id = own(event, "id")
  const number = typeof id === "string" && /^[1-9]\d{0,15}$/.test(id) ? Number(id) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}

const parseLine = (source: string, text: string, index: number): LedgerLine | ValidationError => {
  const location = `body.lines[${index}]`
  const event = objectOf(text)
  if (event === undefined) return { location, message: "must be a JSON object" }
  if (own(event, "source") !== source) return { location, message: "must have the `source` of the request" }
  const number = numberOf(event)
  if (number === undefined) return { location, message: 'must have its number as `id`, a text from "1" on' }
  return { index, number, hash: hashOf(text), event }
}

const isLine = (parsed: LedgerLine | ValidationError): parsed is LedgerLine => "hash" in parsed

/** Parses lines. A text that is not a line of the ledger is a validation error. */
export const parseLines = (
  source: string,
  texts: ReadonlyArray<string>,
): { readonly lines: ReadonlyArray<LedgerLine>; readonly errors: ReadonlyArray<ValidationError> } => {
  const parsed = texts.map((text, index) => parseLine(source, text, index))
  return { lines: parsed.filter(isLine), errors: parsed.flatMap((line) => (isLine(line) ? [] : [line])) }
}

/** How lines continue from a position. Lines that are already stored are not among the new ones. */
export type Continuation =
  | { readonly status: "FOLLOWS"; readonly position: LedgerPosition; readonly added: ReadonlyArray<LedgerLine> }
  /** The line `next` is missing before the line at `index`. */
  | { readonly status: "GAP"; readonly next: number; readonly index: number }
  /** The line does not follow from the one before, or differs from the stored one. */
  | { readonly status: "FORKED"; readonly line: LedgerLine }

/**
 * Follows lines from a position. Of the stored lines only the last one can be compared: the hashes of those before it are not
 * stored.
 */
export const follow = (stored: LedgerPosition, lines: ReadonlyArray<LedgerLine>): Continuation => {
  let position = stored
  const added: Array<LedgerLine> = []
  for (const line of lines) {
    const { event, hash, index, number } = line
    if (number > position.lines + 1) return { status: "GAP", next: position.lines + 1, index }
    const isNew = number > position.lines
    const follows = isNew ? own(event, "prevhash") === position.head : number < position.lines || hash === position.head
    if (!follows) return { status: "FORKED", line }
    if (!isNew) continue
    position = { lines: number, head: hash }
    added.push(line)
  }
  return { status: "FOLLOWS", position, added }
}

/** A bundle that a line names. */
export const NamedBundle = Schema.Struct({
  id: Schema.String,
  sequence: Schema.Int,
  issuedAt: Schema.Date,
  expiresAt: Schema.Date,
  usageUntil: Schema.Date,
})
export type NamedBundle = typeof NamedBundle.Type

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id of the bundle that a line names; `undefined` if that cannot be one. */
export const bundleIdOf = ({ event }: LedgerLine): string | undefined => {
  const id = own(event, "bundleid")
  return typeof id === "string" && UUID.test(id) ? id : undefined
}

/**
 * When usage of a line counts, by the bundle that it names, or why it cannot count. Usage under a revoked bundle counts,
 * because it happened.
 */
export const windowOf = (line: LedgerLine, bundle: NamedBundle | undefined, at: Date): UsageWindow | Outcome => {
  const id = bundleIdOf(line)
  if (id === undefined) return invalidEvent("`bundleid` is missing or invalid.")
  if (bundle === undefined) return rejected("OfflineBundle.NotFound", noSuch("offline bundle", id))
  const { expiresAt, issuedAt, usageUntil } = bundle
  if (!isBefore(at, usageUntil)) {
    return invalidEvent(`Usage of the bundle was accepted until ${usageUntil.toISOString()}.`)
  }
  return { from: new Date(issuedAt.getTime() - MAX_BEHIND_MS), until: expiresAt }
}

const DUPLICATE: Outcome = { status: "duplicate" }

/** The results of all lines of a request: those without an outcome are stored already. */
export const lineResults = (lines: ReadonlyArray<LedgerLine>, outcomes: ReadonlyMap<LedgerLine, Outcome>) => {
  const results = lines.map((line) => ({
    index: line.index,
    id: String(line.number),
    ...(outcomes.get(line) ?? DUPLICATE),
  }))
  const count = (status: Outcome["status"]) => results.filter((result) => result.status === status).length
  return { accepted: count("accepted"), duplicates: count("duplicate"), results }
}

/** The highest of these sequences; `null` if there is none. */
export const newestOf = (sequences: ReadonlyArray<number | null>): number | null =>
  sequences.reduce<number | null>(
    (newest, sequence) => (sequence !== null && (newest === null || sequence > newest) ? sequence : newest),
    null,
  )
