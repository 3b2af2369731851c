/** What Git says of the checkout. */
import { run } from "./Programs.ts"
import { version } from "./Version.ts"

const git = (...args: ReadonlyArray<string>): string => run("git", args).stdout.trim()

/** What is built. */
export interface Source {
  readonly version: string
  readonly commit: string
  /** Of the commit, in seconds since 1970: the time of all archives. */
  readonly time: number
}

/**
 * The commit of the checkout. It must have the tag of its version and no changed file; `allowUntagged` builds another one under a version
 * that names the commit.
 */
export const source = (allowUntagged: boolean): Source => {
  const changed = git("status", "--porcelain", "--untracked-files=no")
  if (changed !== "") throw new Error(`The checkout has changed files; commit or restore them:\n${changed}`)
  const commit = git("rev-parse", "HEAD")
  const time = Number(git("show", "--no-patch", "--format=%ct", "HEAD"))
  const tag = `v${version()}`
  if (git("tag", "--points-at", "HEAD").split("\n").includes(tag)) return { version: version(), commit, time }
  if (!allowUntagged) {
    throw new Error(`The commit ${commit} does not have the tag ${tag}. Build the tag, or add --allow-untagged`)
  }
  return { version: `${version()}-dev.${commit.slice(0, 12)}`, commit, time }
}
