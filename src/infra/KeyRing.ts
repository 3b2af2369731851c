/** The installation's keys, from `SERVICE_SECRET_KEY` or from a file that the first start creates. */
import { Effect, FileSystem, Layer, Option, Path, Redacted } from "effect"
import { hkdfSync, randomBytes } from "node:crypto"
import { Secrets } from "../kernel/ports/KeyRing.ts"
import type { PurposeKey } from "../kernel/ports/KeyRing.ts"
import { Settings, SettingsError } from "./Settings.ts"
import type { SecretKey } from "./Settings.ts"

const derive = (key: SecretKey, purpose: string): PurposeKey => ({
  id: key.id,
  bytes: new Uint8Array(hkdfSync("sha256", Redacted.value(key.bytes), new Uint8Array(), `keyshelf/${purpose}`, 32)),
})

const keyFileOf = Effect.fnUntraced(
  function* (dataDir: string) {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const file = path.join(dataDir, "secret-key")
    const read = files.readFileString(file).pipe(Effect.map((text) => text.trim()))
    const create = Effect.gen(function* () {
      yield* files.makeDirectory(dataDir, { recursive: true })
      // `wx`: of two processes that start at the same time, the first creates the key and the second reads it.
      yield* files.writeFileString(file, `${randomBytes(32).toString("base64")}\n`, { flag: "wx", mode: 0o600 })
    })
    const text = yield* read.pipe(Effect.catch(() => create.pipe(Effect.ignore, Effect.andThen(read))))
    const bytes = Buffer.from(text, "base64")
    if (bytes.length !== 32) {
      return yield* new SettingsError({
        message: `The key file ${file} does not contain 32 bytes in base64. Restore it from a backup, or set SERVICE_SECRET_KEY.`,
      })
    }
    return [{ id: "default", bytes: Redacted.make(new Uint8Array(bytes)) }]
  },
  Effect.catchTag("PlatformError", (error) =>
    Effect.fail(
      new SettingsError({
        message: `The key file under SERVICE_DATA_DIR cannot be created or read: ${error.message}. Make the directory writable, or set SERVICE_DATABASE_URL and SERVICE_SECRET_KEY.`,
      }),
    ),
  ),
)

/** {@link Secrets} from the given keys. Each purpose has its own keys, derived by HKDF. */
export const layerFrom = (keys: ReadonlyArray<SecretKey>) =>
  Layer.sync(Secrets, () => {
    // Cached per purpose, because every webhook delivery opens a secret.
    const derived = new Map<string, readonly [PurposeKey, ...ReadonlyArray<PurposeKey>]>()
    return {
      keysFor: (purpose) => {
        const known = derived.get(purpose)
        if (known !== undefined) return known
        const [first, ...rest] = keys.map((key) => derive(key, purpose))
        if (first === undefined) throw new Error("The installation has no secret key")
        const keysOfPurpose = [first, ...rest] as const
        derived.set(purpose, keysOfPurpose)
        return keysOfPurpose
      },
    }
  })

/**
 * {@link Secrets} from `SERVICE_SECRET_KEY`, else from the key file in the data directory, which the first start
 * creates.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings
    return layerFrom(
      Option.isSome(settings.secretKeys) ? settings.secretKeys.value : yield* keyFileOf(settings.dataDir),
    )
  }),
)
