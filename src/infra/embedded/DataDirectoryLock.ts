/**
 * Who serves a data directory now, and how to connect to that server.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Predicate, Redacted } from "effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { attempt, errorCode } from "./Errors.ts"
import { isAlive, isInitialised, isWindows, type Place, socketDirOf, socketPort } from "./DataDirectory.ts"

/** Who serves a data directory: nobody, a server that answers, or one that starts or stops right now. */
export type Occupancy =
  | { readonly _tag: "Free"; readonly stalePid: number | undefined }
  | { readonly _tag: "Serving"; readonly pid: number | undefined; readonly url: Redacted.Redacted }
  | { readonly _tag: "Busy"; readonly pid: number | undefined }

// Windows has no UNIX sockets in libpq's default build and no directory rights to hide one behind: it gets TCP on the
// loopback address and a generated password, which is kept in the data directory.
/** Where Windows keeps the password of the server. */
export const passwordFile = (dataDir: string) => Path.join(dataDir, "keyshelf.password")

/** The URL of the server of this directory; on Windows it reads the password file, and throws without one. */
export const urlOf = (dataDir: string, at: { readonly port: number; readonly socketDir: string }): Redacted.Redacted =>
  Redacted.make(
    isWindows
      ? `postgres://postgres:${Fs.readFileSync(passwordFile(dataDir), "utf8").trim()}@127.0.0.1:${at.port}/postgres`
      : `postgres://postgres@localhost:${at.port}/postgres?host=${encodeURIComponent(at.socketDir)}`,
  )

/** Connects and logs in. `starting or stopping` is what a server says of itself, or its silence. */
export const probe = (url: Redacted.Redacted): Effect.Effect<"serving" | "starting or stopping" | "absent"> =>
  Effect.scoped(PgConnection.make({ url, connectTimeout: "5 seconds" })).pipe(
    Effect.as("serving" as const),
    Effect.catch(({ reason: { cause } }) => {
      const code = Predicate.hasProperty(cause, "code") ? cause.code : undefined
      if (code === "ENOENT" || code === "ECONNREFUSED") return Effect.succeed("absent" as const)
      // 57P03 is "cannot connect now"; any other answer, as "too many clients", comes from a server at work.
      const answered = Predicate.isString(code) && /^[0-9A-Z]{5}$/.test(code) && code !== "57P03"
      return Effect.succeed(answered ? ("serving" as const) : ("starting or stopping" as const))
    }),
  )

interface PidFile {
  readonly pid: number
  readonly port: number
  readonly socketDir: string
}

/** What a server wrote down when it started in this directory; throws when that may not be read. */
export const readPidFile = (dataDir: string): PidFile | undefined => {
  try {
    const lines = Fs.readFileSync(Path.join(dataDir, "postmaster.pid"), "utf8").split("\n")
    return { pid: Number(lines[0]), port: Number(lines[3]) || socketPort, socketDir: lines[4] || dataDir }
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined
    throw cause
  }
}

/** The command line of a process; empty when it cannot be told. */
const commandOf = (pid: number): ReadonlyArray<string> => {
  try {
    if (process.platform === "linux") return Fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
    return [execFileSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], { encoding: "utf8" }).trim()]
  } catch {
    return []
  }
}

/**
 * Whether a process serves this directory. A process id alone does not tell: after a crash another process can have
 * got it, in containers nearly always.
 */
const serves = (pid: number, dataDir: string): boolean => {
  if (!(pid > 0) || !isAlive(pid)) return false
  if (isWindows) return true
  const command = commandOf(pid)
  if (process.platform !== "linux") return command.join("").includes(dataDir)
  const at = command.indexOf("-D")
  const served = command[at + 1]
  if (Path.basename(command[0] ?? "") !== "postgres") return false
  return at < 0 || served === undefined || !Path.isAbsolute(served) || Path.relative(served, dataDir) === ""
}

/** Finds out who serves the directory. Fails with `EmbeddedPostgresError` when it may not be read. */
export const occupancy = Effect.fnUntraced(function* (place: Place) {
  const { dataDir } = place
  const { recorded, url } = yield* attempt(
    `The data directory ${dataDir} cannot be read, start this as the user that owns it`,
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
  const answer = url === undefined ? "absent" : yield* probe(url)
  // An answer counts without a process too: the server of another container on the same volume is invisible here.
  if (url !== undefined && answer === "serving") return { _tag: "Serving", pid, url } satisfies Occupancy
  if (answer === "starting or stopping") return { _tag: "Busy", pid } satisfies Occupancy
  return pid !== undefined && serves(pid, dataDir)
    ? ({ _tag: "Busy", pid } satisfies Occupancy)
    : ({ _tag: "Free", stalePid: pid } satisfies Occupancy)
})
