/** Files that are complete at any time, also when the process is killed, and that only their owner can read. */
import { mkdir, open, readFile, rename } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { own } from "../offline/values/Unknown.ts"

const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600

/** Creates a folder, and those above it. */
export const makeFolder = async (path: string): Promise<void> => {
  await mkdir(path, { recursive: true, mode: FOLDER_MODE })
}

/** The text of a file; `undefined` if there is none. */
export const readIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch((error: unknown) => {
    if (own(error, "code") === "ENOENT") return undefined
    throw error
  })

/** Flushes the folder of a file: a new name is safe once its folder is. */
export const flushFolder = async (path: string): Promise<void> => {
  // Windows cannot open a folder.
  if (process.platform === "win32") return
  const folder = await open(dirname(resolve(path)), "r")
  await folder.sync().finally(() => folder.close())
}

/** Whether a change must survive a power failure, at the cost of waiting for the disk. */
type Safety = "flushed" | "unflushed"

/** Writes a new file and replaces the old one with it: one of them is complete at any time. */
export const replaceFile = async (path: string, text: string, safety: Safety = "flushed"): Promise<void> => {
  const fresh = await open(`${path}.new`, "w", FILE_MODE)
  try {
    await fresh.writeFile(text)
    if (safety === "flushed") await fresh.sync()
  } finally {
    await fresh.close()
  }
  await rename(`${path}.new`, path)
  if (safety === "flushed") await flushFolder(path)
}
