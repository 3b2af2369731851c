/** Which code runs: the bundle that `npm ci` made, unless the sources beside it are newer, as where somebody works on them. */
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

/** The URL of the command's code in an installation. */
export const entryIn = (root) => {
  const bundle = join(root, "dist/server/cli.mjs")
  const sources = ["src", "migrations"].flatMap((folder) => filesIn(join(root, folder)))
  const bundledAt = modifiedAt(bundle)
  const isCurrent = [join(root, "package-lock.json"), ...sources].every((file) => modifiedAt(file) <= bundledAt)
  return pathToFileURL(bundledAt > 0 && isCurrent ? bundle : join(root, "src/cli.ts")).href
}

/** The URL of the code to run here. */
export const entry = () => entryIn(dirname(dirname(fileURLToPath(import.meta.url))))
