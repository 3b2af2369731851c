/** The steps of `keyshelf setup`. Each looks first whether it was made, and says in a sentence what it changed. */
import { Effect, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { CommandFailed } from "../Failure.ts"
import { UP_TO_DATE } from "../Migrate.ts"
import * as EnvironmentFile from "./EnvironmentFile.ts"
import { keyshelf, outcomeOf, run } from "./Programs.ts"
import { commandLine } from "../../infra/PackageFiles.ts"

/** Where the package puts the unit, and where the service reads its settings. */
const UNIT = "keyshelf.service"
const UNIT_FILE = `/usr/lib/systemd/system/${UNIT}`
export const ENVIRONMENT_FILE = "/etc/keyshelf/keyshelf.env"

/** The role, the database and the account of the system have one name, so that the account logs in without a password. */
const NAME = "keyshelf"

const KEY_BYTES = 32

type Settings = Record<string, string>

/** Fails on a machine that the command is not for. */
export const requirePackage = Effect.gen(function* () {
  if (!existsSync(UNIT_FILE)) {
    return yield* new CommandFailed({
      message:
        "This command is for the Debian package, which is not installed here. Elsewhere, set SERVICE_DATABASE_URL and SERVICE_SECRET_KEY yourself, as docs/operating.md says.",
    })
  }
  if (process.getuid?.() !== 0) {
    return yield* new CommandFailed({
      message: `This command writes below /etc: run it as root, \`sudo ${commandLine("setup")}\`.`,
    })
  }
})

const NO_SERVER =
  "It needs a PostgreSQL on this machine that runs: apt install postgresql. For another server, pass --database-url."

const ask = (question: string) =>
  run("postgres", ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", question], { hint: NO_SERVER })

/** Creates role and database on the PostgreSQL of this machine. */
const createDatabase = Effect.gen(function* () {
  const changes: Array<string> = []
  if ((yield* ask(`SELECT 1 FROM pg_roles WHERE rolname = '${NAME}'`)) === "") {
    yield* run("postgres", ["createuser", NAME])
    changes.push(`Created the role "${NAME}" in the PostgreSQL of this machine.`)
  }
  if ((yield* ask(`SELECT 1 FROM pg_database WHERE datname = '${NAME}'`)) === "") {
    const collation = ["--template=template0", "--encoding=UTF8", "--locale=C.UTF-8"]
    yield* run("postgres", ["createdb", `--owner=${NAME}`, ...collation, NAME])
    changes.push(`Created the database "${NAME}".`)
  }
  return changes
})

/** The address of the database by the server's socket: a machine may have several servers, at other ports than the usual one. */
const localUrl = Effect.gen(function* () {
  const port = yield* ask("SHOW port")
  const [folder = ""] = (yield* ask("SHOW unix_socket_directories")).split(",")
  return Redacted.make(`postgres://${NAME}@localhost:${port}/${NAME}?host=${encodeURIComponent(folder.trim())}`)
})

const required = (settings: Settings, name: string) =>
  settings[name] === undefined || settings[name] === ""
    ? Effect.fail(new CommandFailed({ message: `${ENVIRONMENT_FILE} has no ${name}. Add it, or remove the file.` }))
    : Effect.succeed(settings[name])

/** Returns the settings that exist, or writes the first ones. */
export const ensureSettings = Effect.fnUntraced(function* (databaseUrl: Option.Option<Redacted.Redacted>) {
  const found = yield* EnvironmentFile.read(ENVIRONMENT_FILE)
  if (found !== undefined) {
    const url = yield* required(found, "SERVICE_DATABASE_URL")
    yield* required(found, "SERVICE_SECRET_KEY")
    if (Option.isSome(databaseUrl) && Redacted.value(databaseUrl.value) !== url) {
      return yield* new CommandFailed({
        message: `${ENVIRONMENT_FILE} names another database than --database-url. Change it in the file, or remove the file.`,
      })
    }
    return { changes: [], settings: found }
  }
  const created = Option.isSome(databaseUrl) ? [] : yield* createDatabase
  const group = Number(yield* run("root", ["id", "--group", NAME]))
  const first = {
    databaseUrl: Option.isSome(databaseUrl) ? databaseUrl.value : yield* localUrl,
    secretKey: Redacted.make(randomBytes(KEY_BYTES).toString("base64")),
  }
  yield* EnvironmentFile.write(ENVIRONMENT_FILE, first, group)
  return {
    changes: [...created, `Wrote ${ENVIRONMENT_FILE} with a new secret key.`],
    settings: (yield* EnvironmentFile.read(ENVIRONMENT_FILE)) ?? {},
  }
})

/** Applies the missing migrations. */
export const migrate = Effect.fnUntraced(function* (settings: Settings) {
  const lines = (yield* keyshelf(settings, "migrate")).split("\n")
  return lines.includes(UP_TO_DATE) ? [] : lines.slice(-1)
})

export const runsSystemd = (): boolean => existsSync("/run/systemd/system")

/** What to do on a machine, or in a container, without systemd. */
export const withoutSystemd = (): string =>
  `systemd does not run here. Start the service yourself: ${commandLine("serve")}, as the user ${NAME}, with ${ENVIRONMENT_FILE}.`

/** Starts the unit now, and at each start of the machine. */
export const startUnit = Effect.gen(function* () {
  const { status: enabled } = yield* outcomeOf("root", ["systemctl", "is-enabled", "--quiet", UNIT])
  const { status: active } = yield* outcomeOf("root", ["systemctl", "is-active", "--quiet", UNIT])
  if (enabled === 0 && active === 0) return []
  yield* run("root", ["systemctl", "enable", "--now", "--quiet", UNIT], { hint: `See journalctl -u ${UNIT}` })
  return [`Started ${UNIT}.`]
})

/** Creates the operator's first credential, unless there is one. */
export const firstCredential = Effect.fnUntraced(function* (settings: Settings) {
  if ((yield* keyshelf(settings, "platform-credential", "list", "--json")) !== "[]") return undefined
  return Redacted.make(yield* keyshelf(settings, "platform-credential", "create", "--name", "first"))
})
