/**
 * Chooses the code to run: the bundle built by `npm ci`, or the sources if any of them is newer, as during development.
 */
import { existsSync, readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const modifiedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const filesIn = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name, parentPath }) => join(parentPath, name))
    : []

/** Returns the URL of the command's code in the installation at `root`. */
export const entryIn = (root) => {
  const bundle = join(root, "dist/server/cli.mjs")
  const sources = ["src", "migrations", "clients/typescript/src"].flatMap((folder) => filesIn(join(root, folder)))
  const bundledAt = modifiedAt(bundle)
  const isCurrent = [join(root, "package-lock.json"), ...sources].every((file) => modifiedAt(file) <= bundledAt)
  return pathToFileURL(bundledAt > 0 && isCurrent ? bundle : join(root, "src/cli.ts")).href
}

/** Returns the URL of the command's code in this installation. */
export const entry = () => entryIn(dirname(dirname(fileURLToPath(import.meta.url))))
