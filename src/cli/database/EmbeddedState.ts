/** Finds out whether the embedded database exists, without creating it. */
import { Effect, FileSystem, Option, Path } from "effect"
import { Settings } from "../../infra/Settings.ts"

/** `false` only if the settings name no database and the data directory does not contain one yet. */
export const databaseExists = Effect.gen(function* () {
  const settings = yield* Settings
  if (Option.isSome(settings.databaseUrl)) return true
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* files
    .exists(path.join(settings.dataDir, "postgres", "PG_VERSION"))
    .pipe(Effect.catch(() => Effect.succeed(true)))
})
