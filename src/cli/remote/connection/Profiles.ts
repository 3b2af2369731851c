/**
 * The stored profiles: services that a user calls, each with its credential. The file is readable by its owner only.
 */
import { Effect, Option, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { statSync } from "node:fs"
import { chmod, mkdir, rename, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { reason } from "../../../infra/embedded/Errors.ts"
import { CommandFailed } from "../../Failure.ts"
import { fileInput, readText } from "../../input/Input.ts"
import { originOf, tokenOf, variable } from "./TargetRules.ts"
import { commandLine } from "../../../infra/PackageFiles.ts"

/** A service and the credential for it. */
export interface Target {
  /** The origin of a listener, without `/api`. */
  readonly url: string
  readonly token: Redacted.Redacted
}

const Stored = Schema.Struct({
  /** The profile that is used when a command names none. */
  current: Schema.NullOr(Schema.String),
  profiles: Schema.Record(
    Schema.String,
    Schema.Struct({ url: Schema.String, token: Schema.RedactedFromValue(Schema.String) }),
  ),
})
type Stored = typeof Stored.Type

const File = Schema.fromJsonString(Stored)

/** The path of the file: in `XDG_CONFIG_HOME`, on Windows in `APPDATA`, otherwise in `~/.config`. */
const profilesFile = (env: Readonly<Record<string, string | undefined>>): string => {
  const named = process.platform === "win32" ? env["APPDATA"] : env["XDG_CONFIG_HOME"]
  const folder = named === undefined || named === "" ? join(homedir(), ".config") : named
  return join(folder, "keyshelf", "profiles.json")
}

const path = () => profilesFile(process.env)

/** Reads the stored profiles. Without a file there are none. */
export const readProfiles = Effect.gen(function* () {
  const isStored = yield* Effect.try({
    try: () => statSync(path(), { throwIfNoEntry: false }) !== undefined,
    catch: (error) => new CommandFailed({ message: `The file of profiles cannot be read: ${reason(error)}.` }),
  })
  if (!isStored) return { current: null, profiles: {} } satisfies Stored
  const text = yield* readText("The file of profiles", fileInput(path()))
  return yield* Schema.decodeUnknownEffect(File)(text).pipe(
    // The cause would contain the tokens.
    Effect.mapError(
      () =>
        new CommandFailed({
          message: `${path()} is not a file of profiles. Correct it, or delete it and set them again.`,
        }),
    ),
  )
})

/** Replaces the stored profiles as a whole: a reader sees the file before or after. */
export const writeProfiles = Effect.fnUntraced(function* (stored: Stored) {
  const text = yield* Effect.orDie(Schema.encodeEffect(File)(stored))
  yield* Effect.tryPromise({
    try: async () => {
      const file = path()
      const next = `${file}.${randomUUID()}`
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      await writeFile(next, `${text}\n`, { mode: 0o600 })
      await chmod(next, 0o600)
      await rename(next, file)
    },
    catch: (error) => new CommandFailed({ message: `The profiles cannot be stored: ${reason(error)}.` }),
  })
})

const help = (): string =>
  `Set KEYSHELF_URL and KEYSHELF_TOKEN, or store a profile with \`${commandLine("profile set NAME --url URL")}\`.`

const stored = Effect.fnUntraced(function* (name: string) {
  const { profiles } = yield* readProfiles
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile !== undefined) {
    return {
      url: yield* originOf(`The URL of the profile "${name}"`, profile.url),
      token: yield* tokenOf(`The token of the profile "${name}"`, Redacted.value(profile.token)),
    } satisfies Target
  }
  const known = Object.keys(profiles)
  return yield* new CommandFailed({
    message: `No profile "${name}" is stored. ${known.length === 0 ? help() : `Stored profiles: ${known.join(", ")}.`}`,
  })
})

/**
 * The service that a command calls: the profile of its flag, otherwise `KEYSHELF_URL` with `KEYSHELF_TOKEN`, otherwise
 * the profile of `KEYSHELF_PROFILE`, otherwise the current profile.
 */
export const targetOf = Effect.fnUntraced(function* (flag: Option.Option<string>) {
  if (Option.isSome(flag)) return yield* stored(flag.value)
  const url = variable("KEYSHELF_URL")
  const token = variable("KEYSHELF_TOKEN")
  if (url !== undefined && token !== undefined) {
    return {
      url: yield* originOf("KEYSHELF_URL", url),
      token: yield* tokenOf("KEYSHELF_TOKEN", token),
    } satisfies Target
  }
  // A profile's token must go only to its own service.
  if (url !== undefined || token !== undefined) {
    return yield* new CommandFailed({
      message: "KEYSHELF_URL and KEYSHELF_TOKEN belong together. Set both, or neither.",
    })
  }
  const name = variable("KEYSHELF_PROFILE") ?? (yield* readProfiles).current
  return name === null ? yield* new CommandFailed({ message: `No service is chosen. ${help()}` }) : yield* stored(name)
})
