/**
 * Creates the database in a data directory, and starts and stops its server.
 */
import { Data, Effect, Predicate, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Path from "node:path"
import type { Binaries } from "./Binaries.ts"
import { attempt, EmbeddedPostgresError, externalHint } from "./Errors.ts"
import { exited, guarded, guardScriptWindows, lastProblem, openLog, posixGuard } from "./ProcessGuard.ts"
import { passwordFile, probe, readPidFile, urlOf } from "./DataDirectoryLock.ts"
import {
  isInitialised,
  isWindows,
  createSocketDir,
  createAtomically,
  type DataDirectory,
  socketDirOf,
  socketPort,
} from "./DataDirectory.ts"

/**
 * Another process took the directory between the check and the start, or processes of a crashed server are still
 * ending.
 */
class Contended extends Data.TaggedError("Contended")<{ readonly message: string }> {}

/** Whether the directory contains a database of this version. Fails if it contains anything else. */
const isInitialisedFor = Effect.fnUntraced(function* (dataDir: string, major: string) {
  const found = yield* attempt(`The data directory ${dataDir} cannot be read`, () => ({
    major: isInitialised(dataDir) ? Fs.readFileSync(Path.join(dataDir, "PG_VERSION"), "utf8").trim() : undefined,
    entries: Fs.existsSync(dataDir) ? Fs.readdirSync(dataDir) : [],
  }))
  if (found.major !== undefined && found.major !== major) {
    return yield* new EmbeddedPostgresError({
      message: `The data in ${dataDir} was written by PostgreSQL ${found.major}, but this version includes PostgreSQL ${major}. Migrate the data with pg_dump and pg_restore, or ${externalHint}.`,
    })
  }
  if (found.major === undefined && found.entries.length > 0) {
    return yield* new EmbeddedPostgresError({
      message: `The data directory ${dataDir} is not empty and contains no PostgreSQL database. Choose another directory.`,
    })
  }
  return found.major === major
})

/**
 * Creates the database in the data directory unless it exists. Fails with `EmbeddedPostgresError` if the directory
 * contains other files or a database of another major version, or if PostgreSQL cannot create the database.
 */
export const initialise = Effect.fnUntraced(function* (place: DataDirectory, binaries: Binaries, durable: boolean) {
  const { account, dataDir, logFile } = place
  if (yield* isInitialisedFor(dataDir, binaries.major)) return
  yield* createAtomically(dataDir, (directory) =>
    Effect.gen(function* () {
      const password = randomBytes(24).toString("hex")
      const log = yield* attempt(`The directory for ${dataDir} cannot be created`, () => {
        Fs.mkdirSync(directory, { mode: 0o700 })
        if (account !== undefined) Fs.lchownSync(directory, account.uid, account.gid)
        if (isWindows) Fs.writeFileSync(`${directory}.password`, password, { mode: 0o600 })
        return openLog(place)
      })
      const command = [
        binaries.initdb,
        `--pgdata=${directory}`,
        "--username=postgres",
        "--encoding=UTF8",
        // Sorts by code point, so that the order of pages never depends on the machine's C library.
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        // On POSIX no other user can enter the socket directory.
        ...(isWindows ? ["--auth=scram-sha-256", `--pwfile=${directory}.password`] : ["--auth=trust"]),
        "--no-instructions",
        ...(durable ? [] : ["--no-sync"]),
      ] as const
      const { child } = yield* guarded({
        command: isWindows ? command : posixGuard(command),
        pipe: isWindows ? 0 : 3,
        place,
        logFd: log.fd,
      }).pipe(Effect.ensuring(Effect.sync(() => Fs.closeSync(log.fd))))
      yield* exited(child)
      yield* attempt(`The database in ${dataDir} cannot be completed`, () => {
        if (!isWindows) return
        Fs.rmSync(`${directory}.password`, { force: true })
        Fs.writeFileSync(passwordFile(directory), password, { mode: 0o600 })
      })
      yield* child.exitCode === 0
        ? Effect.void
        : Effect.fail(
            new EmbeddedPostgresError({
              message: `PostgreSQL cannot create a database in ${dataDir} ("${lastProblem(logFile, log.from)}"). Fix the cause, or ${externalHint}.`,
            }),
          )
      // Windows cannot rename onto a directory, not even an empty one.
      if (isWindows && Fs.existsSync(dataDir)) Fs.rmdirSync(dataDir)
    }).pipe(Effect.scoped),
  )
  if (durable && !isWindows) {
    yield* attempt(`The database in ${dataDir} cannot be made durable`, () => {
      const parent = Fs.openSync(Path.dirname(dataDir), "r")
      Fs.fsyncSync(parent)
      Fs.closeSync(parent)
    })
  }
})

const settings = (durable: boolean): ReadonlyArray<string> => [
  "shared_buffers=64MB",
  "max_connections=100",
  "timezone=UTC",
  "log_timezone=UTC",
  "log_checkpoints=off",
  // Keeps customer data out of the log: failed statements and values that violate constraints.
  "log_min_error_statement=panic",
  "log_error_verbosity=terse",
  ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]),
]

const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const server = Net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(Predicate.isObject(address) ? Number(address.port) : socketPort)))
  })
})

/**
 * Starts the server and waits until it accepts connections; closing the Scope stops it. `ended` waits until the server
 * exits and returns the last problem in its log. Fails with `Contended` if the directory is not free yet, and with
 * `EmbeddedPostgresError` if PostgreSQL does not start.
 *
 * The Windows branch follows PostgreSQL's documentation but is untested.
 */
export const start = Effect.fnUntraced(function* (
  place: DataDirectory,
  binaries: Binaries,
  options: { readonly durable: boolean; readonly stalePid: number | undefined },
) {
  const { dataDir, logFile } = place
  const port = isWindows ? yield* freePort : socketPort
  const socketDir = isWindows ? "" : yield* attempt("The socket directory cannot be found", () => socketDirOf(place))
  yield* attempt(`The socket directory ${socketDir} cannot be used`, () => {
    if (!isWindows) createSocketDir(place, socketDir)
  })
  if (!isWindows && socketDir !== dataDir) {
    // Fails, as intended, while the server of another process uses the directory.
    yield* Effect.addFinalizer(() => Effect.ignore(attempt("", () => Fs.rmdirSync(socketDir))))
  }
  const log = yield* attempt(`The log file ${logFile} cannot be written`, () => openLog(place))
  const url = yield* attempt("The password of the database cannot be read", () => urlOf(dataDir, { port, socketDir }))
  const listen = isWindows
    ? ["listen_addresses=127.0.0.1"]
    : [
        "listen_addresses=",
        `unix_socket_directories="${socketDir.replaceAll('"', '""')}"`,
        "unix_socket_permissions=0700",
      ]
  const args = ["-p", String(port), ...[...listen, ...settings(options.durable)].flatMap((set) => ["-c", set])]
  const server = yield* guarded({
    command: isWindows
      ? [process.execPath, "-e", guardScriptWindows, binaries.pgCtl, dataDir, logFile, args.join(" ")]
      : posixGuard([binaries.postgres, "-D", dataDir, ...args]),
    pipe: isWindows ? 0 : 3,
    place,
    logFd: log.fd,
    // PostgreSQL does not start while the process in its old pid file is alive, except for the process in this
    // variable. That process is known not to be a server. PostgreSQL still checks the shared memory.
    env: options.stalePid === undefined ? {} : { PG_GRANDPARENT_PID: String(options.stalePid) },
  }).pipe(Effect.ensuring(Effect.sync(() => Fs.closeSync(log.fd))))

  // Checks the pid too, because a response could come from a server that another process has started in the meantime.
  const ready = Effect.suspend(() =>
    isWindows || (server.pid() !== undefined && readPidFile(dataDir)?.pid === server.pid())
      ? probe(url)
      : Effect.succeed("absent" as const),
  ).pipe(
    Effect.repeat({ until: (state) => state === "serving", schedule: Schedule.spaced("15 millis") }),
    Effect.as("serving" as const),
    Effect.timeoutOrElse({ duration: "60 seconds", orElse: () => Effect.succeed("late" as const) }),
  )
  const outcome = yield* Effect.raceFirst(ready, Effect.as(exited(server.child), "ended" as const))
  if (outcome !== "serving") {
    const line = lastProblem(logFile, log.from)
    if (/lock file .* already exists|shared memory block .* still in use/.test(line)) {
      return yield* new Contended({ message: line })
    }
    const what = outcome === "late" ? "is not ready after 60 seconds" : "does not start"
    return yield* new EmbeddedPostgresError({
      message: `The embedded PostgreSQL on ${dataDir} ${what} ("${line}", see ${logFile}). Fix the cause, or ${externalHint}.`,
    })
  }
  const ended = Effect.map(exited(server.child), () => lastProblem(logFile, log.from))
  return { url, ended }
})
