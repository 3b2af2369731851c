/** The installation's keys, from `SERVICE_SECRET_KEY` or from a file that the first start creates. */
import { Effect, FileSystem, Layer, Option, Path, Redacted } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { hkdfSync, randomBytes } from "node:crypto"
import { Secrets } from "../kernel/ports/KeyRing.ts"
import type { PurposeKey } from "../kernel/ports/KeyRing.ts"
import { reason } from "./embedded/Errors.ts"
import { makeFolders } from "./embedded/Folders.ts"
import { SettingsError } from "./SettingReader.ts"
import { Settings } from "./Settings.ts"
import type { SecretKey } from "./Settings.ts"

const derive = (key: SecretKey, purpose: string): PurposeKey => ({
  id: key.id,
  bytes: new Uint8Array(hkdfSync("sha256", Redacted.value(key.bytes), new Uint8Array(), `keyshelf/${purpose}`, 32)),
})

/** Where a process got its keys. */
export interface KeySource {
  /** `SERVICE_SECRET_KEY`, or the path of the key file. */
  readonly name: string
  /** Empty if the setting is missing and the key file does not exist. */
  readonly keys: ReadonlyArray<SecretKey>
}

const fileOf = (dataDir: string) => Effect.map(Path.Path, (path) => path.join(dataDir, "secret-key"))

const unusable = (error: PlatformError) => cannotUse(error.message)

const cannotUse = (why: string) =>
  new SettingsError({
    message: `The key file under SERVICE_DATA_DIR cannot be created or read: ${why}. Make the directory writable, or set SERVICE_DATABASE_URL and SERVICE_SECRET_KEY.`,
  })

const readFile = Effect.fnUntraced(function* (file: string) {
  const text = yield* Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(file))
  const bytes = Buffer.from(text.trim(), "base64")
  if (bytes.length !== 32) {
    return yield* new SettingsError({
      message: `The key file ${file} does not contain 32 bytes in base64. Restore it from a backup, or set SERVICE_SECRET_KEY.`,
    })
  }
  return { name: file, keys: [{ id: "default", bytes: Redacted.make(new Uint8Array(bytes)) }] } satisfies KeySource
})

/** Reads the keys of `SERVICE_SECRET_KEY`, else the one of the key file in the data directory. Changes nothing. */
export const read = Effect.gen(function* () {
  const { dataDir, secretKeys } = yield* Settings
  if (Option.isSome(secretKeys)) {
    return { name: "SERVICE_SECRET_KEY", keys: secretKeys.value } satisfies KeySource
  }
  const file = yield* fileOf(dataDir)
  return yield* readFile(file).pipe(
    Effect.catchTag("PlatformError", (error) =>
      error.reason._tag === "NotFound"
        ? Effect.succeed<KeySource>({ name: file, keys: [] })
        : Effect.fail(unusable(error)),
    ),
  )
})

/** Creates the key file with a random key, or reads the one that another process created at the same time. */
export const createFile = Effect.gen(function* () {
  const { dataDir } = yield* Settings
  const files = yield* FileSystem.FileSystem
  const file = yield* fileOf(dataDir)
  yield* Effect.try({ try: () => makeFolders(dataDir), catch: (error) => cannotUse(reason(error)) })
  // `wx`: of two processes that start at the same time, the first creates the key and the second reads it.
  yield* files.writeFileString(file, `${randomBytes(32).toString("base64")}\n`, { flag: "wx", mode: 0o600 }).pipe(
    Effect.catchIf(
      ({ reason }) => reason._tag === "AlreadyExists",
      () => Effect.void,
    ),
  )
  return yield* readFile(file)
}).pipe(Effect.catchTag("PlatformError", (error) => Effect.fail(unusable(error))))

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
