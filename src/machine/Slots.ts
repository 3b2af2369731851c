/**
 * The slots of a directory. Each process has one of these folders: the first that no other one uses. So a restarted
 * process finds what the one before it stored.
 */
import { join } from "node:path"
import { makeFolder } from "./Files.ts"
import { FileLocked, lockFile } from "./Locks.ts"

/** The names of all slots. */
export const SLOTS: ReadonlyArray<string> = Array.from({ length: 64 }, (_, number) => `slot-${number}`)

/** A folder that this process alone writes to. */
interface Slot {
  readonly path: string
  /** Lets another process take it. */
  readonly unlock: () => void
}

/** Other processes use all slots. */
export class SlotsTaken extends Error {
  override readonly name = "SlotsTaken"
}

/** Takes the first free slot. Fails with `SlotsTaken`, `LocksMissing`, or the error of a folder that cannot be used. */
export const takeSlot = async (directory: string): Promise<Slot> => {
  for (const name of SLOTS) {
    const path = join(directory, name)
    const unlock = await lockFile(path).catch((error: unknown) => {
      if (error instanceof FileLocked) return undefined
      throw error
    })
    if (unlock === undefined) continue
    await makeFolder(path)
    return { path, unlock }
  }
  throw new SlotsTaken(`is used by ${SLOTS.length} processes, which is the maximum`)
}

/** Ids come from signed claims, but no text may lead to another folder. */
const nameOf = (kind: string, instanceId: string): string =>
  `${kind}-${encodeURIComponent(instanceId).replaceAll(".", "%2E")}`

/** The path of the file of an instance's snapshot in a slot. */
export const snapshotPath = ({ path }: Pick<Slot, "path">, instanceId: string): string =>
  join(path, `${nameOf("snapshot", instanceId)}.json`)

/** The path of the file of an instance's ledger in a slot. */
export const ledgerPath = ({ path }: Pick<Slot, "path">, instanceId: string): string =>
  join(path, `${nameOf("ledger", instanceId)}.jsonl`)

/** The id of the instance whose ledger has this name of a file; `undefined` if it is no ledger. */
export const instanceOfLedger = (name: string): string | undefined => {
  const [, id] = /^ledger-(.+)\.jsonl$/.exec(name) ?? []
  return id === undefined ? undefined : decodeURIComponent(id)
}
