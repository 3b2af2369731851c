/**
 * Finds out whether a server uses a data directory, and how to connect to it.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Predicate, Redacted } from "effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { attempt, errorCode } from "./Errors.ts"
import { isAlive, isInitialised, isWindows, type DataDirectory, socketDirOf, socketPort } from "./DataDirectory.ts"

/**
 * State of a data directory: free, in use by a server that accepts connections, or by one that is starting or stopping.
 */
type DirectoryState =
  | { readonly _tag: "Free"; readonly stalePid: number | undefined }
  | { readonly _tag: "Serving"; readonly pid: number | undefined; readonly url: Redacted.Redacted }
  | { readonly _tag: "Busy"; readonly pid: number | undefined }

// On Windows libpq has no UNIX sockets by default, and directory permissions cannot protect one. The server there uses
// TCP on the loopback address and a generated password, stored in the data directory.
/** Path of the server's password file on Windows. */
export const passwordFile = (dataDir: string) => Path.join(dataDir, "keyshelf.password")

/** Returns the URL of the directory's server. On Windows it reads the password file, and throws if that is missing. */
export const urlOf = (dataDir: string, at: { readonly port: number; readonly socketDir: string }): Redacted.Redacted =>
  Redacted.make(
    isWindows
      ? `postgres://postgres:${Fs.readFileSync(passwordFile(dataDir), "utf8").trim()}@127.0.0.1:${at.port}/postgres`
      : `postgres://postgres@localhost:${at.port}/postgres?host=${encodeURIComponent(at.socketDir)}`,
  )

/** Connects and logs in. Returns `starting or stopping` if the server says so or does not respond. */
export const probe = (url: Redacted.Redacted): Effect.Effect<"serving" | "starting or stopping" | "absent"> =>
  Effect.scoped(PgConnection.make({ url, connectTimeout: "5 seconds" })).pipe(
    Effect.as("serving" as const),
    Effect.catch(({ reason: { cause } }) => {
      const code = Predicate.hasProperty(cause, "code") ? cause.code : undefined
      if (code === "ENOENT" || code === "ECONNREFUSED") return Effect.succeed("absent" as const)
      // 57P03 is "cannot connect now". Any other SQLSTATE, such as "too many clients", comes from a running server.
      const isRunning = Predicate.isString(code) && /^[0-9A-Z]{5}$/.test(code) && code !== "57P03"
      return Effect.succeed(isRunning ? ("serving" as const) : ("starting or stopping" as const))
    }),
  )

interface PidFile {
  readonly pid: number
  readonly port: number
  readonly socketDir: string
}

/** Reads the pid file that a server wrote when it started. Throws if the file cannot be read. */
export const readPidFile = (dataDir: string): PidFile | undefined => {
  try {
    const lines = Fs.readFileSync(Path.join(dataDir, "postmaster.pid"), "utf8").split("\n")
    return { pid: Number(lines[0]), port: Number(lines[3]) || socketPort, socketDir: lines[4] || dataDir }
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined
    throw cause
  }
}

/** Returns the command line of a process; empty if it cannot be determined. */
const commandOf = (pid: number): ReadonlyArray<string> => {
  try {
    if (process.platform === "linux") return Fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
    return [execFileSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], { encoding: "utf8" }).trim()]
  } catch {
    return []
  }
}

/**
 * Whether a process serves this directory. A process id alone is not enough: after a crash another process may have
 * the same id, which is the normal case in containers.
 */
const isServing = (pid: number, dataDir: string): boolean => {
  if (!(pid > 0) || !isAlive(pid)) return false
  if (isWindows) return true
  const command = commandOf(pid)
  if (process.platform !== "linux") return command.join("").includes(dataDir)
  const at = command.indexOf("-D")
  const served = command[at + 1]
  if (Path.basename(command[0] ?? "") !== "postgres") return false
  return at < 0 || served === undefined || !Path.isAbsolute(served) || Path.relative(served, dataDir) === ""
}

/**
 * Determines whether a server uses the directory. Fails with `EmbeddedPostgresError` if the directory cannot be read.
 */
export const readDirectoryState = Effect.fnUntraced(function* (place: DataDirectory) {
  const { dataDir } = place
  const { recorded, url } = yield* attempt(
    `The data directory ${dataDir} cannot be read; start the service as the user that owns it`,
    () => {
      const recorded = readPidFile(dataDir)
      const port = recorded?.port ?? socketPort
      const known = isInitialised(dataDir) && (!isWindows || recorded !== undefined)
      return {
        recorded,
        url: known ? urlOf(dataDir, { port, socketDir: recorded?.socketDir ?? socketDirOf(place) }) : undefined,
      }
    },
  )
  const pid = recorded?.pid
  const state = url === undefined ? "absent" : yield* probe(url)
  // A response counts even without a visible process: the server may run in another container on the same volume.
  if (url !== undefined && state === "serving") return { _tag: "Serving", pid, url } satisfies DirectoryState
  if (state === "starting or stopping") return { _tag: "Busy", pid } satisfies DirectoryState
  return pid !== undefined && isServing(pid, dataDir)
    ? ({ _tag: "Busy", pid } satisfies DirectoryState)
    : ({ _tag: "Free", stalePid: pid } satisfies DirectoryState)
})
