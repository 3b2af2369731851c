/** Locks of files and folders. The system ends a lock with its process, however that ends. */

/** Another process holds the lock, or this one does already. */
export class FileLocked extends Error {
  override readonly name = "FileLocked"
}

/** This runtime cannot lock files. */
export class LocksMissing extends Error {
  override readonly name = "LocksMissing"
}

/** Locks a file or a folder by a file next to it. Fails with `FileLocked` or `LocksMissing`. */
export const lockFile = async (path: string): Promise<() => void> => {
  // SQLite is the one module of Node.js that locks files.
  const { DatabaseSync } = await import("node:sqlite").catch((cause: unknown) => {
    throw new LocksMissing("needs Node.js 22.13 or newer, whose module node:sqlite locks the file", { cause })
  })
  const database = new DatabaseSync(`${path}.lock`)
  try {
    database.exec("BEGIN EXCLUSIVE")
  } catch (error) {
    database.close()
    throw new FileLocked(`Another process uses ${path}`, { cause: error })
  }
  return () => database.close()
}
