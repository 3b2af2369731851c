/** A directory of one test. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A directory that is deleted with the scope. Under root, PostgreSQL runs as another user, so it must be readable. */
export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = await mkdtemp(join(tmpdir(), "keyshelf-process-"))
    await chmod(directory, 0o755)
    return directory
  }),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true })),
)
