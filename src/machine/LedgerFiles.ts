/** A ledger in a file. One process writes it. */
import { closeSync, fsync, fsyncSync, ftruncateSync, openSync, renameSync, writeSync } from "node:fs"
import { rename } from "node:fs/promises"
import { promisify } from "node:util"
import type { Clock, LedgerStore } from "../local/index.ts"
import { LedgerEnded, ledgerStoreOf } from "../local/ledger/Stored.ts"
import type { LedgerFile } from "../local/ledger/Stored.ts"
import { FILE_MODE, flushFolder, readIfThere } from "./Files.ts"

/** How long a record may be in the memory of the machine alone. */
const FLUSH_MS = 100
/** A file without new records is closed, because a process has a limit of open files. */
const IDLE_MS = 10_000

const flush = promisify(fsync)

interface Open {
  readonly descriptor: number
  size: number
}

/** Writes all of a text, or nothing: the part that a full disk took must not precede the next record. */
const writeAll = (file: Open, text: string): void => {
  const bytes = Buffer.from(text)
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(file.descriptor, bytes, written)
  } catch (error) {
    ftruncateSync(file.descriptor, file.size)
    throw error
  }
  file.size += bytes.length
}

/** Opens the file of a ledger, which one process uses. What it holds is replaced before a record is added. */
export const openLedgerFile = async (path: string, clock: Pick<Clock, "after">): Promise<LedgerStore> => {
  const text = (await readIfThere(path)) ?? ""
  let size = 0
  let file: Open | undefined
  let fresh: Open | undefined
  let flushing = Promise.resolve()
  let cancelFlush: (() => void) | undefined
  let cancelEnd: (() => void) | undefined
  let isClosed = false

  const openFile = (at: string, flags: string, from: number): Open => ({
    descriptor: openSync(at, flags, FILE_MODE),
    size: from,
  })
  const end = (ended: Open | undefined): void => {
    if (ended !== undefined) closeSync(ended.descriptor)
  }
  /** One flush at a time, so that none meets a descriptor that was closed. */
  const sync = (): Promise<void> => {
    const next = flushing.then(async () => {
      if (file !== undefined) await flush(file.descriptor)
    })
    flushing = next.catch(() => undefined)
    return next
  }
  const endIdle = (): void => {
    cancelEnd = undefined
    void flushing.then(() => {
      if (cancelFlush !== undefined || cancelEnd !== undefined || fresh !== undefined || file === undefined) return
      size = file.size
      end(file)
      file = undefined
    })
  }
  const plan = (): void => {
    cancelEnd?.()
    cancelEnd = clock.after(IDLE_MS, endIdle)
    cancelFlush ??= clock.after(FLUSH_MS, () => {
      cancelFlush = undefined
      sync().catch(() => undefined)
    })
  }

  const ledger: LedgerFile = {
    text,
    size: () => file?.size ?? size,
    append: (more) => {
      if (isClosed) throw new LedgerEnded("The ledger is closed")
      if (fresh === undefined) file ??= openFile(path, "a", size)
      if (file !== undefined) writeAll(file, more)
      // What is added while the file is replaced belongs to both.
      if (fresh !== undefined) writeAll(fresh, more)
      plan()
    },
    sync,
    replace: async (whole) => {
      const next = (fresh = openFile(`${path}.new`, "w", 0))
      try {
        writeAll(next, whole)
        const { size: flushed } = next
        await flush(next.descriptor)
        // Records that were added meanwhile may be on the disk in the file that ends here.
        if (next.size > flushed) fsyncSync(next.descriptor)
        renameSync(`${path}.new`, path)
      } catch (error) {
        fresh = undefined
        end(next)
        throw error
      }
      const old = file
      file = next
      fresh = undefined
      await flushing
      end(old)
      plan()
      await flushFolder(path)
    },
    setAside: () => rename(path, `${path}.bad`),
    close: async () => {
      isClosed = true
      cancelFlush?.()
      cancelEnd?.()
      await sync().finally(() => {
        end(file)
        file = undefined
      })
    },
  }
  return ledgerStoreOf(ledger)
}
