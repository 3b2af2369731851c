/** The installation's keys, after the database has confirmed that it was used with them. */
import { Effect, Layer } from "effect"
import { TokenHasher } from "../domains/access/tokens/TokenHasher.ts"
import { SecretKeys } from "../domains/maintenance/SecretKeys.ts"
import { SecretKeysRepo } from "../domains/maintenance/SecretKeysRepo.ts"
import { unavailable } from "../infra/database/Database.ts"
import * as KeyRing from "../infra/KeyRing.ts"
import * as SecretBox from "../infra/SecretBox.ts"
import { SettingsError } from "../infra/SettingReader.ts"
import { Settings } from "../infra/Settings.ts"
import { now } from "../kernel/values/Timestamp.ts"

const SETTING = "SERVICE_SECRET_KEY"

const quoted = (ids: Iterable<string>) => Array.from(ids, (id) => `"${id}"`).join(", ")

const wrongKey = (source: string, ids: ReadonlyArray<string>) =>
  new SettingsError({
    message:
      source === SETTING
        ? `${SETTING} does not fit this database, which was used with a different key ${quoted(ids)}: restore that key, and give a new key a new id.`
        : `The key file ${source} does not fit this database, which was used with a different key ${quoted(ids)}: restore the file from a backup, or set ${SETTING} to the key that it contained.`,
  })

/** Compares keys with the database, on a {@link SecretKeysRepo}. */
export const comparing = (secrets: ReturnType<typeof KeyRing.layerFrom>) =>
  SecretKeys.layer.pipe(Layer.provide(Layer.merge(SecretBox.layer, TokenHasher.layer)), Layer.provide(secrets))

/** Creates the key file of a new database. A database that was used before needs its keys: a new one would not fit. */
const createKeys = Effect.fnUntraced(function* (file: string) {
  const repo = yield* SecretKeysRepo
  const used = [...(yield* repo.checks).map(({ id }) => id), ...(yield* repo.uses(yield* now)).map(({ key }) => key)]
  if (used.length > 0) {
    return yield* new SettingsError({
      message: `${SETTING} is missing, and so is the key file ${file}, but this database was used with the key ${quoted(new Set(used))}: restore the file from a backup, or set ${SETTING} to the key.`,
    })
  }
  return yield* KeyRing.createFile
})

/**
 * The keys of `SERVICE_SECRET_KEY`, else of the key file in the data directory, which the first start creates. Fails if
 * the database was used with other keys under the same ids.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { bootstrapPlatformCredential } = yield* Settings
    const found = yield* KeyRing.read
    const { keys, name } = found.keys.length > 0 ? found : yield* createKeys(found.name)
    const secrets = KeyRing.layerFrom(keys)
    const wrong = yield* SecretKeys.use((secretKeys) => secretKeys.confirm(bootstrapPlatformCredential)).pipe(
      Effect.provide(comparing(secrets)),
    )
    if (wrong.length > 0) return yield* wrongKey(name, wrong)
    return secrets
  }).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(unavailable("The check values of the secret keys", error))),
  ),
).pipe(Layer.provide(SecretKeysRepo.layer))
