/** Creates folders so that a failure says its reason. */
import { existsSync, mkdirSync } from "node:fs"
import { dirname, resolve } from "node:path"

/**
 * Creates a folder and those above it, and returns the first one that it created. On a read-only file system, the recursive `mkdir` of
 * Node.js reports ENOENT instead of EROFS, and below `/proc` it never ends.
 */
export const makeFolders = (path: string): string | undefined => {
  const folder = resolve(path)
  if (existsSync(folder) && dirname(folder) === folder) return undefined
  const above = existsSync(dirname(folder)) ? undefined : makeFolders(dirname(folder))
  if (existsSync(folder)) {
    // Fails if it is a file.
    mkdirSync(folder, { recursive: true })
    return above
  }
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created it at the same time.
    if (!existsSync(folder)) throw error
  }
  return above ?? folder
}
