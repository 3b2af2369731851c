/** Files of the checkout as entries of archives. */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import type { Entry } from "./Archives.ts"

/** The folder of the checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

export const read = (path: string): Buffer => readFileSync(join(root, path))

export const readText = (path: string): string => read(path).toString("utf8")

/** The same function, which computes the result for each argument once. */
export const once = <A extends string | object, B>(compute: (argument: A) => B): ((argument: A) => B) => {
  const results = new Map<A, B>()
  return (argument) => {
    const known = results.get(argument)
    if (known !== undefined) return known
    const result = compute(argument)
    results.set(argument, result)
    return result
  }
}

export const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

/** A file of the checkout. Whether it is executable is said here, because a file mask or a copy may have changed it. */
export const fileAt = (from: string, path = from, isExecutable = false): Entry => ({
  path,
  content: read(from),
  isExecutable,
})

export const textAt = (path: string, text: string, isExecutable = false): Entry => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})

/** All files below a folder of the checkout that `isIncluded` accepts by their path in it. */
export const folderAt = (
  from: string,
  to = from,
  isIncluded: (path: string) => boolean = () => true,
): ReadonlyArray<Entry> => {
  const folder = join(root, from)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${from} is missing`)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => relative(folder, join(parentPath, name)))
    .filter(isIncluded)
    .map((path) => fileAt(join(from, path), `${to}/${path}`, path.endsWith(".sh")))
}

/** The same entries in a folder. */
export const under = (folder: string, entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }))

/** Lines that `sha256sum --check` reads, one for each file. */
export const checksums = (files: ReadonlyArray<{ readonly path: string; readonly content: Uint8Array }>): string =>
  files
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
    .map(({ content, path }) => `${sha256(content)}  ${path}\n`)
    .join("")
