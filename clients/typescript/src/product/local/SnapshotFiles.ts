/**
 * Stores snapshots in a folder, for Node.js and what is compatible with it. All slots are read: what one process knows, each may start
 * with.
 */
import { readdir, readFile, rename } from "node:fs/promises"
import { join } from "node:path"
import { storeOf } from "../../../../../src/local/Stored.ts"
import type { StoredFile } from "../../../../../src/local/Stored.ts"
import { makeFolder, replaceFile } from "../../../../../src/machine/Files.ts"
import { openLedgerFile } from "../../../../../src/machine/LedgerFiles.ts"
import { LocksMissing } from "../../../../../src/machine/Locks.ts"
import { ledgerPath, SLOTS, SlotsTaken, snapshotPath, takeSlot } from "../../../../../src/machine/Slots.ts"
import { systemClock } from "../../../../../src/machine/SystemClock.ts"
import { ConfigurationError } from "../../Errors.ts"
import type { OpenedStore } from "./Locals.ts"

const filesIn = async (directory: string, slot: string): Promise<ReadonlyArray<StoredFile>> => {
  const names = await readdir(join(directory, slot)).catch(() => [])
  const stored = names.filter((name) => name.startsWith("snapshot-") && name.endsWith(".json"))
  return Promise.all(
    stored.map(async (name) => ({ name: join(slot, name), text: await readFile(join(directory, slot, name), "utf8") })),
  )
}

/** Opens a slot of a folder for this process. Fails with `ConfigurationError`. */
export const openSnapshotFiles = async (directory: string): Promise<OpenedStore> => {
  const failed = (why: string) => (cause: unknown) => {
    const isKnown = cause instanceof LocksMissing || cause instanceof SlotsTaken
    throw new ConfigurationError("directory", isKnown ? cause.message : `${why}: ${directory}`, { cause })
  }
  await makeFolder(directory).catch(failed("must be a folder that can be made"))
  const slot = await takeSlot(directory).catch(failed("must be a folder in which files can be made"))
  return {
    store: storeOf({
      read: async () => (await Promise.all(SLOTS.map((name) => filesIn(directory, name)))).flat(),
      write: (instanceId, text) => replaceFile(snapshotPath(slot, instanceId), text),
      setAside: (name) => rename(join(directory, name), join(directory, `${name}.bad`)),
    }),
    openLedger: (instanceId) => openLedgerFile(ledgerPath(slot, instanceId), systemClock),
    close: async () => slot.unlock(),
  }
}
