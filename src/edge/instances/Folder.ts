/**
 * The directory of an edge: a folder for each credential, with a file for each of its instances, the key sets of organizations, and the
 * ledgers of instances. What is in it outlives the process, so that the edge starts without its origin. A process writes to a slot of its
 * own, and reads those of all.
 */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { readdir, rename, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Clock, LedgerStore, Store } from "../../local/index.ts"
import type { StoredSnapshot } from "../../local/Ports.ts"
import { storeOf } from "../../local/Stored.ts"
import type { StoredFile } from "../../local/Stored.ts"
import { makeFolder, readIfThere, replaceFile } from "../../machine/Files.ts"
import { openLedgerFile } from "../../machine/LedgerFiles.ts"
import { instanceOfLedger, ledgerPath, SLOTS, takeSlot } from "../../machine/Slots.ts"

/** A name that is a safe part of a path, whatever the text is. */
export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32)

/** The directory of an edge. Paths are those within a slot. */
export interface EdgeFolder {
  /** The newest text of a file. */
  readonly read: (path: string) => Promise<string | undefined>
  /** Writes a text to the slot of this process. */
  readonly write: (path: string, text: string) => Promise<void>
  /** Stores the snapshot of an instance in the folder of a credential. */
  readonly storeOf: (credential: string, instance: string) => Store
  /** All snapshots that are stored of a credential. */
  readonly snapshotsOf: (credential: string) => Promise<ReadonlyArray<StoredFile>>
  readonly hasLedger: (instanceId: string) => boolean
  readonly openLedger: (instanceId: string, clock: Clock) => Promise<LedgerStore>
  /** The ids of instances with a ledger, and what is in its file. */
  readonly ledgers: () => Promise<ReadonlyArray<{ readonly instanceId: string; readonly text: string }>>
  /** Lets another process take the slot. */
  readonly unlock: () => void
}

const snapshotIn = (credential: string, instance: string): string =>
  join(credential, `snapshot-${hashOf(instance)}.json`)

/** The texts of a file in folders, with their paths. */
const filesAt = async (folders: ReadonlyArray<string>, path: string): Promise<ReadonlyArray<StoredFile>> => {
  const files = await Promise.all(
    folders.map(async (folder) => ({ name: join(folder, path), text: await readIfThere(join(folder, path)) })),
  )
  return files.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }]))
}

const newestOf = async (files: ReadonlyArray<StoredFile>): Promise<string | undefined> => {
  if (files.length < 2) return files[0]?.text
  const dated = await Promise.all(files.map(async ({ name, text }) => ({ text, at: (await stat(name)).mtimeMs })))
  return dated.sort((one, other) => other.at - one.at)[0]?.text
}

const namesIn = (folder: string): Promise<ReadonlyArray<string>> => readdir(folder).catch(() => [])

/** Takes a slot of the directory, and finds out whether files can be made in it. */
export const openFolder = async (directory: string): Promise<EdgeFolder> => {
  await makeFolder(directory)
  const slot = await takeSlot(directory)
  await replaceFile(join(slot.path, "edge.json"), JSON.stringify({ format: "keyshelf-edge", v: 1 }))
  const folders = (await readdir(directory)).filter((name) => SLOTS.includes(name)).map((name) => join(directory, name))

  const write: EdgeFolder["write"] = async (path, text) => {
    await makeFolder(dirname(join(slot.path, path)))
    await replaceFile(join(slot.path, path), text)
  }
  return {
    read: async (path) => newestOf(await filesAt(folders, path)),
    write,
    storeOf: (credential, instance) => {
      const path = snapshotIn(credential, instance)
      let last: Pick<StoredSnapshot, "token" | "revokedAt"> = { token: null, revokedAt: null }
      const files = storeOf({
        read: () => filesAt(folders, path),
        write: async (_, text) => {
          await makeFolder(dirname(join(slot.path, path)))
          // The end of an access must not be forgotten. A snapshot that a power failure destroys is fetched again.
          await replaceFile(join(slot.path, path), text, last.revokedAt === null ? "unflushed" : "flushed")
        },
        setAside: (found) => rename(found, `${found}.bad`),
      })
      return {
        read: files.read,
        write: async (instanceId, record) => {
          const { revokedAt, token } = record
          // The clock alone is no reason to write: a new snapshot comes every few minutes.
          if (token === last.token && revokedAt === last.revokedAt) return
          const before = last
          last = { token, revokedAt }
          await files.write(instanceId, record).catch((error: unknown) => {
            last = before
            throw error
          })
        },
      }
    },
    snapshotsOf: async (credential) => {
      const named = await Promise.all(folders.map((folder) => namesIn(join(folder, credential))))
      const names = new Set(named.flat().filter((name) => /^snapshot-.*\.json$/.test(name)))
      return (await Promise.all([...names].map((name) => filesAt(folders, join(credential, name))))).flat()
    },
    hasLedger: (instanceId) => existsSync(ledgerPath(slot, instanceId)),
    openLedger: (instanceId, clock) => openLedgerFile(ledgerPath(slot, instanceId), clock),
    ledgers: async () => {
      const ids = (await namesIn(slot.path)).flatMap((name) => instanceOfLedger(name) ?? [])
      const texts = await Promise.all(ids.map((id) => readIfThere(ledgerPath(slot, id))))
      return ids.map((instanceId, place) => ({ instanceId, text: texts[place] ?? "" }))
    },
    unlock: slot.unlock,
  }
}
