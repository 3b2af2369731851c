/** The versions that were published, in `released.json`: what an upgrade comes from, and what a node of this version works beside. */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { checksums, readText, sha256 } from "./Files.ts"

/** A published version. */
export interface Released {
  readonly version: string
  readonly commit: string
  /** The digest of its bundle, built from the commit with its own packages. */
  readonly bundle: string
  /** Its newest migration. */
  readonly migration: string
}

/** The published versions, oldest first. */
export const releasedVersions = (): ReadonlyArray<Released> => JSON.parse(readText("release/released.json"))

/** The digest of a bundle: that of the list of its files with their digests. */
export const bundleDigest = (folder: string): string => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const contents = files.map(({ name, parentPath }) => {
    const path = join(parentPath, name)
    return { path: relative(folder, path), content: readFileSync(path) }
  })
  return sha256(Buffer.from(checksums(contents)))
}
