/** Where the events of a buffer wait. `FileJournal.ts` is the other journal, which survives a restart. */

/** Events in the order in which they were added, each as a line of JSON. Calls must not overlap. */
export interface Journal {
  /** The CloudEvents source of the events. It stays with the journal. */
  readonly source: string
  readonly lines: () => ReadonlyArray<string>
  /** Adds events. They are stored when this returns; if it fails, none was added. */
  readonly append: (lines: ReadonlyArray<string>) => Promise<void>
  /** Removes events by their places. */
  readonly remove: (places: ReadonlySet<number>) => Promise<void>
  /** Closes the journal, so that another process may use it. */
  readonly close: () => Promise<void>
}

/** Opens a journal. `source` is that of a new one. */
export type OpenJournal = (source: string, path: string | undefined) => Promise<Journal>

/** Another process uses the file of a buffer, or another buffer of this one. */
export class BufferLocked extends Error {
  override readonly name = "BufferLocked"
}

/** A journal in memory. */
export const memoryJournal = (source: string): Journal => {
  let lines: Array<string> = []
  return {
    source,
    lines: () => lines,
    append: async (more) => {
      lines.push(...more)
    },
    remove: async (places) => {
      lines = lines.filter((_, place) => !places.has(place))
    },
    close: async () => undefined,
  }
}
