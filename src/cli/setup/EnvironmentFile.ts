/** The settings of the service on this machine: a file that systemd reads, and that shells can read too. */
import { Effect, Redacted } from "effect"
import { chownSync, chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { parseEnv } from "node:util"
import { CommandFailed } from "../Failure.ts"

/** The first settings of a service. */
interface FirstSettings {
  readonly databaseUrl: Redacted.Redacted
  readonly secretKey: Redacted.Redacted
}

// systemd and shells take what is between single quotes as it is.
const UNQUOTABLE = /['\n\r]/

/** The text of a new file. Pure. */
const textOf = ({ databaseUrl, secretKey }: FirstSettings): string =>
  [
    "# Settings of Keyshelf. All of them are listed in /usr/lib/keyshelf/docs/operating.md.",
    "# Restart the service after a change: systemctl restart keyshelf",
    "",
    `SERVICE_DATABASE_URL='${Redacted.value(databaseUrl)}'`,
    "# Back up this key apart from the database: without it no stored token verifies.",
    `SERVICE_SECRET_KEY='${Redacted.value(secretKey)}'`,
    "",
  ].join("\n")

const attempt = <A>(what: string, run: () => A): Effect.Effect<A, CommandFailed> =>
  Effect.try({
    try: run,
    catch: (cause) =>
      new CommandFailed({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` }),
  })

/** The settings of a file, or `undefined` if there is none. */
export const read = (file: string): Effect.Effect<Record<string, string> | undefined, CommandFailed> =>
  attempt(`${file} cannot be read`, () => {
    if (!existsSync(file)) return undefined
    const settings = Object.entries(parseEnv(readFileSync(file, "utf8")))
    return Object.fromEntries(settings.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
  })

/** Writes a new file, readable by root and by the group of the service alone. It appears whole or not at all. */
export const write = Effect.fnUntraced(function* (file: string, settings: FirstSettings, group: number) {
  if (UNQUOTABLE.test(Redacted.value(settings.databaseUrl))) {
    return yield* new CommandFailed({
      message: "The database URL has a quote or a line break. Write them as %27, %0A or %0D.",
    })
  }
  const part = `${file}.part`
  yield* attempt(`${file} cannot be written`, () => {
    const folder = dirname(file)
    mkdirSync(folder, { recursive: true })
    chownSync(folder, 0, group)
    chmodSync(folder, 0o750)
    rmSync(part, { force: true })
    writeFileSync(part, textOf(settings), { mode: 0o600, flag: "wx" })
    chownSync(part, 0, group)
    chmodSync(part, 0o640)
    renameSync(part, file)
  })
})
