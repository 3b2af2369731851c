/**
 * Creates the database in a data directory, and starts and stops the one server that serves it.
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
  makeSocketDir,
  makeWhole,
  type Place,
  socketDirOf,
  socketPort,
} from "./DataDirectory.ts"

/** Somebody else took the directory between the look and the start, or remains of a crashed server still end. */
export class Contended extends Data.TaggedError("Contended")<{ readonly message: string }> {}

/** Whether the directory holds a database of this version; fails when it holds anything else. */
const isReady = Effect.fnUntraced(function* (dataDir: string, major: string) {
  const found = yield* attempt(`The data directory ${dataDir} cannot be read`, () => ({
    major: isInitialised(dataDir) ? Fs.readFileSync(Path.join(dataDir, "PG_VERSION"), "utf8").trim() : undefined,
    entries: Fs.existsSync(dataDir) ? Fs.readdirSync(dataDir) : [],
  }))
  if (found.major !== undefined && found.major !== major) {
    return yield* new EmbeddedPostgresError({
      message: `The data in ${dataDir} was written by PostgreSQL ${found.major}, and this version brings PostgreSQL ${major}: move the data over with pg_dump and pg_restore, or ${externalHint}.`,
    })
  }
  if (found.major === undefined && found.entries.length > 0) {
    return yield* new EmbeddedPostgresError({
      message: `The data directory ${dataDir} is not empty and holds no PostgreSQL database: name another directory.`,
    })
  }
  return found.major === major
})

/**
 * Creates the database in the data directory unless there is one. Fails with `EmbeddedPostgresError` when the directory
 * holds something else or another major version's database, or when PostgreSQL cannot create it.
 */
export const initialise = Effect.fnUntraced(function* (place: Place, binaries: Binaries, durable: boolean) {
  const { account, dataDir, logFile } = place
  if (yield* isReady(dataDir, binaries.major)) return
  yield* makeWhole(dataDir, (directory) =>
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
        // Sorts by code point on every system, so that page order never depends on the machine's C library.
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        // On POSIX the directory of the socket lets nobody else in.
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
              message: `PostgreSQL cannot create a database in ${dataDir} ("${lastProblem(logFile, log.from)}"): remove the cause, or ${externalHint}.`,
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
  // No data of customers in the log: neither the failed statement nor the values that violated a constraint.
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
 * Starts the server and waits until it answers; the end of the Scope stops it. `ended` waits until the server ends and
 * answers its last words. Fails with `Contended` when the directory
 * turned out not to be free yet, and with `EmbeddedPostgresError` when PostgreSQL does not start.
 *
 * The Windows branch follows PostgreSQL's documentation and has not been run.
 */
export const start = Effect.fnUntraced(function* (
  place: Place,
  binaries: Binaries,
  options: { readonly durable: boolean; readonly stalePid: number | undefined },
) {
  const { dataDir, logFile } = place
  const port = isWindows ? yield* freePort : socketPort
  const socketDir = isWindows ? "" : yield* attempt("The socket directory cannot be found", () => socketDirOf(place))
  yield* attempt(`The socket directory ${socketDir} cannot be used`, () => {
    if (!isWindows) makeSocketDir(place, socketDir)
  })
  if (!isWindows && socketDir !== dataDir) {
    // Fails, and should, while the server of another process uses it.
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
    // PostgreSQL refuses to start while the process of its old pid file lives. It makes an exception for the process
    // named here, which is known not to be a server; its check of the shared memory stays.
    env: options.stalePid === undefined ? {} : { PG_GRANDPARENT_PID: String(options.stalePid) },
  }).pipe(Effect.ensuring(Effect.sync(() => Fs.closeSync(log.fd))))

  // An answer alone could come from a server that another process has started here meanwhile.
  const answers = Effect.suspend(() =>
    isWindows || (server.pid() !== undefined && readPidFile(dataDir)?.pid === server.pid())
      ? probe(url)
      : Effect.succeed("absent" as const),
  ).pipe(
    Effect.repeat({ until: (answer) => answer === "serving", schedule: Schedule.spaced("15 millis") }),
    Effect.as("serving" as const),
    Effect.timeoutOrElse({ duration: "60 seconds", orElse: () => Effect.succeed("late" as const) }),
  )
  const outcome = yield* Effect.raceFirst(answers, Effect.as(exited(server.child), "ended" as const))
  if (outcome !== "serving") {
    const line = lastProblem(logFile, log.from)
    if (/lock file .* already exists|shared memory block .* still in use/.test(line)) {
      return yield* new Contended({ message: line })
    }
    const what = outcome === "late" ? "is not ready after 60 seconds" : "does not start"
    return yield* new EmbeddedPostgresError({
      message: `The embedded PostgreSQL on ${dataDir} ${what} ("${line}", see ${logFile}): remove the cause, or ${externalHint}.`,
    })
  }
  const ended = Effect.map(exited(server.child), () => lastProblem(logFile, log.from))
  return { url, ended }
})
