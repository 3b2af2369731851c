/** The newest published version, built from its commit with its own packages. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { promisify } from "node:util"
import { cacheFolder } from "../../release/Cache.ts"
import { root } from "../../release/Files.ts"
import { bundleDigest, releasedVersions } from "../../release/Released.ts"

const run = promisify(execFile)

/** The version that must work beside this one. */
export const release = releasedVersions().at(-1)

const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]

/** Where a build is kept, so that later runs need no packages. */
const kept = join(cacheFolder(), "released", release?.commit ?? "")

const entry = join(kept, "dist/server/cli.mjs")

const git = (...args: ReadonlyArray<string>) =>
  run("git", args, { cwd: root, encoding: "buffer", maxBuffer: 2 ** 28 }).then(({ stdout }) => stdout)

const extract = async (commit: string, folder: string) => {
  const archive = run("tar", ["-x", "-C", folder])
  archive.child.stdin?.end(await git("archive", commit))
  await archive
}

/** Builds the version unless an earlier run did. Its bundle contains all packages, so they are not kept. */
const build = async (commit: string) => {
  if (existsSync(entry)) return
  const folder = mkdtempSync(join(tmpdir(), "keyshelf-released-"))
  try {
    await extract(commit, folder)
    const cache = ["--prefer-offline", "--cache", join(cacheFolder(), "npm")]
    // npm skips optional packages, which the bundle contains, on a Node.js that is older than they allow.
    const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter)
    const env = { ...process.env, NODE_ENV: "production", PATH: path }
    await run("npm", ["ci", "--include=dev", ...QUIET, ...cache], { cwd: folder, env })
    await run(process.execPath, [join(folder, "bin/bundle.mjs")], { cwd: folder, env })
    rmSync(join(folder, "node_modules"), { recursive: true })
    mkdirSync(join(kept, ".."), { recursive: true })
    if (!existsSync(kept)) await run("cp", ["-a", folder, `${kept}.part`]).then(() => renameSync(`${kept}.part`, kept))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Why there is no such build here; undefined if there is one. */
export const whyNoRelease = Effect.promise(async () => {
  if (release === undefined) return "no version is published yet: release/released.json names none"
  try {
    await git("cat-file", "-e", `${release.commit}^{commit}`)
  } catch {
    return `this checkout does not contain the history of ${release.version}`
  }
  try {
    await build(release.commit)
    return undefined
  } catch (error) {
    return `${release.version} cannot be built: ${String(error).split("\n")[0]}`
  }
})

/** The entry file of the version. Dies if its bundle is not the one that was published. */
export const previousRelease = Effect.sync(() => {
  const digest = bundleDigest(join(kept, "dist/server"))
  if (digest !== release?.bundle) {
    throw new Error(`The bundle of ${release?.version} has the digest ${digest}, but ${release?.bundle} was published`)
  }
  return entry
})
