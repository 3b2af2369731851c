/** Builds a release for the tests, in a clone of this commit and without a network. */
import { assert } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

/** The folder of what a build needs from the network. */
export const cache = process.env["KEYSHELF_RELEASE_CACHE"] ?? join(root, ".cache/release")

const git = (...args: ReadonlyArray<string>) => spawnSync("git", args, { cwd: root, encoding: "utf8" })

export const succeeds = (program: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(program, args).status === 0

/** Why nothing can be built here; undefined if it can. */
export const whyNotBuilt = (): string | undefined => {
  if (process.platform !== "linux") return "releases are built on Linux"
  if (!succeeds("dpkg-deb", "--version"))
    return "the image is built from packages of Debian, and there is no dpkg-deb here"
  if (git("rev-parse", "HEAD").status !== 0) return "this is not a Git checkout"
  if (!succeeds("unshare", "--net", "true")) return "a process cannot be cut off from the network here"
  const fetched = spawnSync("npm", ["run", "--silent", "release:fetch"], { cwd: root, encoding: "utf8" })
  return fetched.status === 0 ? undefined : `what a build needs cannot be fetched: ${fetched.stderr.split("\n")[0]}`
}

/** A clone of this commit with the packages that build. */
export const cloned = (folder: string): string => {
  assert.strictEqual(git("clone", "--quiet", root, folder).status, 0)
  const args = ["ci", "--offline", "--ignore-scripts", "--cache", join(cache, "npm"), "--no-audit", "--no-fund"]
  const { status, stderr } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
  return folder
}

/** Where a command runs: variables of the environment, and `MASK` for the file mask. */
type Place = NodeJS.ProcessEnv

/** A command of the release, in a clone. */
export const release = (clone: string, place: Place, ...args: ReadonlyArray<string>) =>
  spawnSync(
    "unshare",
    ["--net", "sh", "-c", 'umask "$0"; exec npm run --silent "$@"', place["MASK"] ?? "022", ...args],
    {
      cwd: clone,
      encoding: "utf8",
      env: { ...process.env, KEYSHELF_RELEASE_CACHE: cache, ...place },
    },
  )

/** `npm run release:check` in a clone. */
export const check = (clone: string, place: Place, ...args: ReadonlyArray<string>) =>
  release(clone, place, "release:check", "--", ...args)

/** Builds all kinds into `out`. */
export const built = (clone: string, out: string, place: Place): string => {
  const { status, stderr, stdout } = release(clone, place, "release", "--", "--allow-untagged", "--out", out)
  assert.strictEqual(status, 0, stderr)
  assert.match(stdout.trim().split("\n").at(-1) ?? "", /is not signed/)
  return out
}

/** A home, a file mask, a time zone and a language, as few machines have them. */
export const oddPlace: Place = { TZ: "Pacific/Kiritimati", LANG: "tr_TR.UTF-8", MASK: "077" }

/** Another one, with a new home below `folder`. */
export const otherPlace = (folder: string): Place => {
  const home = join(folder, "home")
  mkdirSync(home)
  return { HOME: home, TZ: "America/St_Johns", LANG: "C", LC_ALL: "C", MASK: "002" }
}
