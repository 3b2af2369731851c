/**
 * Runs PostgreSQL's programs so that they end with this process, whatever ends it, and keeps what they write.
 */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { EmbeddedPostgresError, externalHint } from "./Errors.ts"
import { environment, isWindows, type Place } from "./DataDirectory.ts"

/** The line since `from` that says what went wrong; it is rarely the very last one. */
export const lastProblem = (logFile: string, from: number): string => {
  const lines = Fs.readFileSync(logFile)
    .subarray(from)
    .toString("utf8")
    .split("\n")
    // PostgreSQL also writes down what it answers to those who ask whether it is ready.
    .filter((line) => line.trim() !== "" && !line.includes("FATAL:  the database system is "))
  return lines.findLast((line) => /(FATAL|PANIC|ERROR|error): /.test(line)) ?? lines.at(-1) ?? "it wrote no reason"
}

const logLimit = 10 * 1024 * 1024

/** Opens the log for appending; `from` is where the new part begins. Throws when it cannot be written. */
export const openLog = ({ account, logFile }: Place): { readonly fd: number; readonly from: number } => {
  let size = Fs.statSync(logFile, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > logLimit) {
    Fs.renameSync(logFile, `${logFile}.old`)
    size = undefined
  }
  // Root must not be led by a link to append to, and give away, a file of the system. Windows knows no such flag.
  // O_CREAT only for a new file: Linux forbids it on another user's file in a directory like /tmp.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = Fs.constants
  const fd = Fs.openSync(
    logFile,
    O_APPEND | O_WRONLY | (isWindows ? 0 : O_NOFOLLOW) | (size === undefined ? O_CREAT : 0),
    0o600,
  )
  // The log belongs to whom the data belongs to, who can then also start the database without root.
  if (account !== undefined) Fs.fchownSync(fd, account.uid, account.gid)
  return { fd, from: size ?? 0 }
}

/**
 * Runs a command that a closing pipe (fd 3) interrupts: by the node process on purpose, or by the system when that
 * process dies in any way, kill -9 included. SIGINT is PostgreSQL's fast shutdown. The shell ignores what a service
 * manager or terminal sends to all processes, else it could leave before the server.
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

/** The same for Windows around `pg_ctl`, because postgres.exe refuses to run with administrator rights. */
export const guardScriptWindows = `const { spawnSync } = require("node:child_process")
const [pgCtl, dataDir, logFile, options] = process.argv.slice(1)
const run = (...args) => spawnSync(pgCtl, [...args, "-w", "-D", dataDir], { stdio: "ignore", windowsHide: true }).status
if (run("start", "-t", "60", "-l", logFile, "-o", options) !== 0) process.exit(1)
process.stdin.resume().on("end", () => process.exit(run("stop", "-m", "fast") ?? 1))`

/** A command that runs under its guard. */
export interface Guarded {
  readonly child: ChildProcess
  /** The process id of the command itself, once the guard has told it. */
  readonly pid: () => number | undefined
}

/** Waits for the end of a process. */
export const exited = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    const done = () => resume(Effect.void)
    child.once("exit", done)
    return Effect.sync(() => child.off("exit", done))
  })

/** Starts a command under its guard; the end of the Scope interrupts it and waits for its end. */
export const guarded = (options: {
  readonly command: readonly [string, ...ReadonlyArray<string>]
  readonly pipe: 0 | 3
  readonly place: Place
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
        // A session of its own: Ctrl-C in the terminal reaches the service, which stops the database after its work.
        detached: true,
        windowsHide: true,
        stdio: [options.pipe === 0 ? "pipe" : "ignore", options.logFd, options.logFd, "pipe"],
      })
      let pid: number | undefined
      const pipe = child.stdio[3]
      // An error here only means that the other side has gone.
      pipe?.on("error", () => undefined)
      pipe?.on("data", (chunk: Buffer) => {
        pid = Number(chunk.toString())
      })
      child.once("spawn", () => resume(Effect.succeed({ child, pid: () => pid })))
      child.once("error", (cause) =>
        resume(
          Effect.fail(
            new EmbeddedPostgresError({
              message: `The embedded PostgreSQL cannot be started (${cause.message}): ${externalHint}.`,
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
          orElse: () => Effect.logWarning("The embedded PostgreSQL takes more than 60 seconds to stop: left to itself"),
        }),
      ),
  )

/** The command line of a command under its guard. */
export const posixGuard = (command: ReadonlyArray<string>): readonly [string, ...ReadonlyArray<string>] => [
  "/bin/sh",
  "-c",
  guardScript,
  "keyshelf-postgres",
  ...command,
]
