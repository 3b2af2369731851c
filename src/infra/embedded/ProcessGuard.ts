/**
 * Runs PostgreSQL's programs so that they end with this process, however it ends, and writes their output to the log.
 */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { EmbeddedPostgresError, externalHint } from "./Errors.ts"
import { environment, isWindows, type DataDirectory } from "./DataDirectory.ts"

/** Returns the log line after `from` that explains the failure, which is rarely the last one. */
export const lastProblem = (logFile: string, from: number): string => {
  const lines = Fs.readFileSync(logFile)
    .subarray(from)
    .toString("utf8")
    .split("\n")
    // PostgreSQL also logs its responses to readiness probes.
    .filter((line) => line.trim() !== "" && !line.includes("FATAL:  the database system is "))
  return lines.findLast((line) => /(FATAL|PANIC|ERROR|error): /.test(line)) ?? lines.at(-1) ?? "no reason was logged"
}

const MAX_LOG_BYTES = 10 * 1024 * 1024

/** Opens the log for appending; `from` is the offset of the new output. Throws if the log cannot be written. */
export const openLog = ({ account, logFile }: DataDirectory): { readonly fd: number; readonly from: number } => {
  let size = Fs.statSync(logFile, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > MAX_LOG_BYTES) {
    Fs.renameSync(logFile, `${logFile}.old`)
    size = undefined
  }
  // O_NOFOLLOW: a symbolic link must not make root append to a system file and change its owner. Windows has no such
  // flag. O_CREAT only for a new file: Linux forbids it for another user's file in a directory like /tmp.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = Fs.constants
  const fd = Fs.openSync(
    logFile,
    O_APPEND | O_WRONLY | (isWindows ? 0 : O_NOFOLLOW) | (size === undefined ? O_CREAT : 0),
    0o600,
  )
  // Gives the log to the owner of the data, so that this account can also start the database without root.
  if (account !== undefined) Fs.fchownSync(fd, account.uid, account.gid)
  return { fd, from: size ?? 0 }
}

/**
 * Runs a command and interrupts it when a pipe (fd 3) closes. Node.js closes the pipe on purpose; the system closes it
 * when the process dies, even by `kill -9`. SIGINT is PostgreSQL's fast shutdown. The shell ignores signals that a
 * service manager or terminal sends to all processes, because it must not exit before the server.
 */
const guardScript = `trap '' TERM INT HUP
"$@" 3<&- &
pid=$!
echo $pid >&3
(read _ <&3; kill -INT $pid) &
watcher=$!
wait $pid
status=$?
kill -KILL $watcher 2>/dev/null
exit $status`

/** The equivalent for Windows. It uses `pg_ctl`, because postgres.exe does not run with administrator rights. */
export const guardScriptWindows = `const { spawnSync } = require("node:child_process")
const [pgCtl, dataDir, logFile, options] = process.argv.slice(1)
const run = (...args) => spawnSync(pgCtl, [...args, "-w", "-D", dataDir], { stdio: "ignore", windowsHide: true }).status
if (run("start", "-t", "60", "-l", logFile, "-o", options) !== 0) process.exit(1)
process.stdin.resume().on("end", () => process.exit(run("stop", "-m", "fast") ?? 1))`

/** A running command under a guard. */
interface Guarded {
  readonly child: ChildProcess
  /** The process id of the command itself, once the guard has reported it. */
  readonly pid: () => number | undefined
}

/** Waits until a process has exited. */
export const exited = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    const done = () => resume(Effect.void)
    child.once("exit", done)
    return Effect.sync(() => child.off("exit", done))
  })

/** Starts a command under a guard. Closing the Scope interrupts the command and waits until it has exited. */
export const guarded = (options: {
  readonly command: readonly [string, ...ReadonlyArray<string>]
  readonly pipe: 0 | 3
  readonly place: DataDirectory
  readonly logFd: number
  readonly env?: Record<string, string>
}) =>
  Effect.acquireRelease(
    Effect.callback<Guarded, EmbeddedPostgresError>((resume) => {
      const [program, ...args] = options.command
      const child = spawn(program, args, {
        ...options.place.account,
        cwd: isWindows ? Path.dirname(program) : "/",
        env: { ...environment, ...options.env },
        // Detached, so that Ctrl-C in the terminal reaches only the service, which stops the database last.
        detached: true,
        windowsHide: true,
        stdio: [options.pipe === 0 ? "pipe" : "ignore", options.logFd, options.logFd, "pipe"],
      })
      let pid: number | undefined
      const pipe = child.stdio[3]
      // An error on the pipe only means that the other side has exited.
      pipe?.on("error", () => undefined)
      pipe?.on("data", (chunk: Buffer) => {
        pid = Number(chunk.toString())
      })
      child.once("spawn", () => resume(Effect.succeed({ child, pid: () => pid })))
      child.once("error", (cause) =>
        resume(
          Effect.fail(
            new EmbeddedPostgresError({
              message: `The embedded PostgreSQL cannot be started (${cause.message}); ${externalHint}.`,
            }),
          ),
        ),
      )
    }),
    ({ child }) =>
      Effect.sync(() => child.stdio[options.pipe]?.destroy()).pipe(
        Effect.andThen(exited(child)),
        Effect.timeoutOrElse({
          duration: "60 seconds",
          orElse: () => Effect.logWarning("Embedded PostgreSQL did not stop within 60 seconds; no longer waiting"),
        }),
      ),
  )

/** Returns the command line that runs a command under the guard. */
export const posixGuard = (command: ReadonlyArray<string>): readonly [string, ...ReadonlyArray<string>] => [
  "/bin/sh",
  "-c",
  guardScript,
  "keyshelf-postgres",
  ...command,
]
