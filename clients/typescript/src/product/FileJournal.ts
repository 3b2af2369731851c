/**
 * A journal in a file that survives a restart, for Node.js and what is compatible with it. Clients in other languages read the
 * same file: a line for itself, and a line for each event.
 *
 * Events are appended and flushed to the disk before they count as accepted. They leave by a new file that replaces the old one. A
 * last line without an end was cut off by a crash: its event was never accepted.
 */
import { own } from "../../../../src/offline/values/Unknown.ts"
import { open, stat } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { ConfigurationError } from "../Errors.ts"
import { readIfThere, replaceFile } from "../../../../src/machine/Files.ts"
import { lockFile } from "./Files.ts"
import type { Journal } from "./Journal.ts"

const FORMAT = "keyshelf-usage-buffer"

/** The source and the lines of a file. */
const contentOf = (path: string, text: string): { readonly source: string; readonly lines: ReadonlyArray<string> } => {
  // The text after the last line feed is incomplete.
  const [first, ...lines] = text.split("\n").slice(0, -1)
  const header: unknown = first === undefined ? undefined : JSON.parse(first)
  const source = own(header, "source")
  if (own(header, "format") !== FORMAT || own(header, "v") !== 1 || typeof source !== "string") {
    throw new TypeError(`${path} is not a usage buffer of this version`)
  }
  for (const line of lines) JSON.parse(line)
  return { source, lines }
}

const makeJournal = async (path: string, newSource: string, unlock: () => void): Promise<Journal> => {
  const text = (await readIfThere(path)) ?? ""
  const { lines: stored, source } = text === "" ? { source: newSource, lines: [] } : contentOf(path, text)
  let lines = [...stored]
  let file: FileHandle | undefined
  let isClosed = false

  const closeFile = async () => {
    const closing = file
    file = undefined
    await closing?.close()
  }

  const replace = async (kept: Array<string>) => {
    await closeFile()
    const header = JSON.stringify({ format: FORMAT, v: 1, source })
    await replaceFile(path, [header, ...kept].map((line) => `${line}\n`).join(""))
    lines = kept
    file = await open(path, "a")
  }

  await replace(lines)
  return {
    source,
    lines: () => lines,
    append: async (more) => {
      if (isClosed) throw new TypeError("The buffer is closed")
      // A write failed before and closed the file: it is replaced as a whole.
      if (file === undefined) await replace(lines)
      const target = file as unknown as FileHandle
      const { size } = await target.stat()
      try {
        await target.appendFile(more.map((line) => `${line}\n`).join(""))
        await target.sync()
      } catch (error) {
        // The part of the lines that a full disk stored must not precede the next one.
        await target.truncate(size).finally(closeFile)
        throw error
      }
      lines.push(...more)
    },
    remove: async (places) => {
      if (places.size > 0) await replace(lines.filter((_, place) => !places.has(place)))
    },
    close: async () => {
      isClosed = true
      await closeFile()
      unlock()
    },
  }
}

/** SQLite would say only that it is unable to open a file. */
const checkPath = async (path: string): Promise<void> => {
  if (typeof path !== "string" || path === "") throw new ConfigurationError("path", "must be the name of a file")
  const folder = dirname(resolve(path))
  const found = await stat(folder).catch((cause: unknown) => {
    throw new ConfigurationError("path", `must be in a folder that exists: ${folder}`, { cause })
  })
  if (!found.isDirectory()) throw new ConfigurationError("path", `must be in a folder: ${folder} is none`)
}

/** Opens the journal of a file. The source of a file that exists is the file's. */
export const openFileJournal = async (path: string, source: string): Promise<Journal> => {
  await checkPath(path)
  const unlock = await lockFile("path", path)
  return makeJournal(path, source, unlock).catch((error: unknown) => {
    unlock()
    throw error
  })
}
