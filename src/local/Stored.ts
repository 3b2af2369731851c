/** The file of a snapshot. All clients write the same form, but no two languages share a folder. */
import { isRecord, isText, millisOf, own } from "../offline/values/Unknown.ts"
import type { PinnedKeys, State } from "../offline/Model.ts"
import type { Store, StoredSnapshot } from "./Ports.ts"

const FORMAT = "keyshelf-snapshot"

export interface StoredFile {
  readonly name: string
  readonly text: string
}

/** The files of snapshots. */
interface Files {
  /** All that is stored, of all instances and slots. */
  readonly read: () => Promise<ReadonlyArray<StoredFile>>
  /** Replaces the file of an instance, which is complete at any time. */
  readonly write: (instanceId: string, text: string) => Promise<void>
  /** Keeps a file that cannot be read under another name. */
  readonly setAside: (name: string) => Promise<void>
}

const timeText = (millis: number): string => new Date(millis).toISOString()

export const textOfStored = ({ confirmedAt, revokedAt, ...record }: StoredSnapshot): string =>
  JSON.stringify({
    format: FORMAT,
    v: 1,
    ...record,
    confirmedAt: timeText(confirmedAt),
    revokedAt: revokedAt === null ? null : timeText(revokedAt),
  })

/** Reads a file. `undefined` if it is damaged, or of a version that this one does not know. */
export const storedIn = (text: string): StoredSnapshot | undefined => {
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch {
    return undefined
  }
  const [format, v, instance, token, etag, issuer, keys, state] = [
    "format",
    "v",
    "instance",
    "token",
    "etag",
    "issuer",
    "keys",
    "state",
  ].map((name) => own(record, name))
  const confirmedAt = millisOf(own(record, "confirmedAt"))
  const ended = own(record, "revokedAt")
  const revokedAt = ended === null ? null : millisOf(ended)
  if (format !== FORMAT || v !== 1 || !isText(instance) || Number.isNaN(confirmedAt) || Number.isNaN(revokedAt)) {
    return undefined
  }
  return {
    instance,
    token: isText(token) ? token : null,
    etag: isText(etag) ? etag : null,
    confirmedAt,
    issuer: isText(issuer) ? issuer : null,
    keys: isRecord(keys) ? (keys as PinnedKeys) : {},
    // The verifier reads it as what it is: a value of unknown form.
    state: isRecord(state) ? (state as unknown as State) : null,
    revokedAt,
  }
}

/** The newest of several files about one instance. What the service said last counts, also if it ended the access. */
const newestOf = (files: ReadonlyArray<StoredSnapshot>, instance: string): StoredSnapshot | undefined => {
  const seenAt = ({ confirmedAt, revokedAt }: StoredSnapshot) => Math.max(confirmedAt, revokedAt ?? 0)
  return files.filter((file) => file.instance === instance).sort((one, other) => seenAt(other) - seenAt(one))[0]
}

/** Makes a store of files. What is damaged is set aside, and fails no start. */
export const storeOf = ({ read, setAside, write }: Files): Store => ({
  read: async (instance) => {
    const records: Array<StoredSnapshot> = []
    for (const { name, text } of await read()) {
      const record = storedIn(text)
      if (record === undefined) await setAside(name)
      else records.push(record)
    }
    return newestOf(records, instance)
  },
  write: (instanceId, record) => write(instanceId, textOfStored(record)),
})
