/** Compares the files of an installed release with `FILES.sha256`, which is one of them. A checkout has no such file. */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { createReadStream, existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { fileURLToPath } from "node:url"
import { packageFile } from "../../infra/PackageFiles.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check } from "./Report.ts"

const MAX_NAMED = 5

const LINE = /^([0-9a-f]{64}) {2}(.+)$/

const digestOf = async (file: string): Promise<string> => {
  const hash = createHash("sha256")
  // Node.js itself is among the files: 150 MB do not have to be in memory.
  await pipeline(createReadStream(file), hash)
  return hash.digest("hex")
}

/** The files of the list that are not there, or not as they were released. */
const changedFiles = async (folder: string, lines: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const changed: Array<string> = []
  for (const line of lines) {
    const [, expected, path = line] = LINE.exec(line) ?? []
    const found = await digestOf(join(folder, path)).catch(() => undefined)
    if (expected === undefined || found !== expected) changed.push(path)
  }
  return changed
}

const named = (files: ReadonlyArray<string>): string =>
  files.slice(0, MAX_NAMED).join(", ") + (files.length > MAX_NAMED ? ` and ${files.length - MAX_NAMED} more` : "")

/** Checks an installation by its list of files. */
export const installationAt = (list: URL): Check =>
  Effect.promise(async () => {
    const file = fileURLToPath(list)
    if (!existsSync(file)) return []
    const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "")
    if (lines.length === 0) return [failed("installation", `${file} is empty. Install this version again.`)]
    const changed = await changedFiles(dirname(file), lines)
    return [
      changed.length === 0
        ? ok("installation", `All ${lines.length} files are as released. This finds damage and edits, not attackers`)
        : warning(
            "installation",
            `Not as released: ${named(changed)}. If you did not change them, install this version again.`,
          ),
    ]
  })

export const installation: Check = installationAt(packageFile("FILES.sha256"))
