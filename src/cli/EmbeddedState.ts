/** Whether the embedded database exists yet, without making it. */
import { Effect, FileSystem, Option, Path } from "effect"
import { Settings } from "../infra/Settings.ts"

/** `false` only where the settings name no database and the data directory holds none yet. */
export const databaseExists = Effect.gen(function* () {
  const settings = yield* Settings
  if (Option.isSome(settings.databaseUrl)) return true
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* files
    .exists(path.join(settings.dataDir, "postgres", "PG_VERSION"))
    .pipe(Effect.catch(() => Effect.succeed(true)))
})
