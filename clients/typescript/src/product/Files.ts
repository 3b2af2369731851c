/** Locks a file of a client, with the errors of clients. */
import { FileLocked, lockFile as lock, LocksMissing } from "../../../../src/machine/Locks.ts"
import { ConfigurationError } from "../Errors.ts"
import { BufferLocked } from "./Journal.ts"

/** Locks a file by a file next to it. `setting` is what names the file. Fails with `BufferLocked` or `ConfigurationError`. */
export const lockFile = (setting: string, path: string): Promise<() => void> =>
  lock(path).catch((cause: unknown) => {
    if (cause instanceof FileLocked) throw new BufferLocked(cause.message, { cause })
    if (cause instanceof LocksMissing) throw new ConfigurationError(setting, cause.message, { cause })
    throw cause
  })
