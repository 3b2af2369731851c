/** The lines of an exported event log: one for each position of the tree, one for each newer event, and then the notes. Pure. */
import { Predicate } from "effect"
import { bytesOfBase64 } from "./Notes.ts"
import type { Hash } from "./Tree.ts"

/** A position of a log: the hash that was sealed there, and the text of the event, if it is stored. */
export interface LogEntry {
  readonly position: number
  /** Absent if the event is not sealed yet. */
  readonly hash?: Hash
  /** Absent if the event is not stored. */
  readonly text?: string
}

/** A line of an export. */
type ExportLine = LogEntry | { readonly note: string }

/** The line of a position, without a line break. */
export const entryLine = ({ hash, position, text }: LogEntry): string =>
  JSON.stringify({ position, hash: hash === undefined ? undefined : Buffer.from(hash).toString("base64"), text })

/** The line of a note, without a line break. */
export const noteLine = (note: string): string => JSON.stringify({ note })

const objectOf = (line: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return Predicate.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Reads a line; `undefined` if it is none. */
export const readLine = (line: string): ExportLine | undefined => {
  const value = objectOf(line)
  if (value === undefined) return undefined
  if ("note" in value) return Predicate.isString(value.note) ? { note: value.note } : undefined
  const { hash, position, text }: { hash?: unknown; position?: unknown; text?: unknown } = value
  const bytes = Predicate.isString(hash) ? bytesOfBase64(hash) : undefined
  const isHash = hash === undefined || bytes?.length === 32
  const isText = text === undefined || Predicate.isString(text)
  if (!Number.isSafeInteger(position) || !isHash || !isText) return undefined
  return {
    position: position as number,
    ...(bytes === undefined ? {} : { hash: bytes }),
    ...(text === undefined ? {} : { text }),
  }
}
