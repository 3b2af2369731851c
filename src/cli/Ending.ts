/**
 * How a command ends when its output cannot be written, or when a signal stops it. A closed pipe or a full disk never
 * stops a command that changes something: changes come before output, and exit code 0 means that all of them were made.
 */
import { Cause, Effect, Exit, Runtime, Schema } from "effect"
import { CliError } from "effect/cli"
import { fstatSync, writeSync } from "node:fs"
import { constants } from "node:os"
import { errorCode, reason } from "../infra/embedded/Errors.ts"

/** Standard output does not accept the output that this command exists for, so it ends. */
export class OutputLost extends Schema.TaggedError<OutputLost>()("OutputLost", { message: Schema.String }) {}

/** Commands that run until a signal ends them: that is their success. */
const UNTIL_SIGNAL = ["serve", "try", "edge", "mcp", "events tail", "events bridge"]

/**
 * Commands whose output only reports their work. They succeed without a reader; other commands exist for their output.
 */
const WITH_PROGRESS = [
  "serve",
  "try",
  "setup",
  "edge",
  "mcp",
  "events bridge",
  "import",
  "apply",
  "migrate",
  "organization",
  "profile",
  "openapi",
]

// The exit code that a shell shows for a program that SIGPIPE ended.
const CLOSED_PIPE = 128 + constants.signals.SIGPIPE

const isOneOf = (names: ReadonlyArray<string>, words: ReadonlyArray<string>): boolean =>
  names.some((name) => name.split(" ").every((word, index) => words[index] === word))

/** Node.js drops the rest of a write that a nearly full disk took in part. This writes all of it, or fails. */
const writeFilesCompletely = (): void => {
  try {
    if (!fstatSync(process.stdout.fd).isFile()) return
  } catch {
    return
  }
  process.stdout._write = (chunk: Uint8Array, _encoding, done) => {
    try {
      for (let at = 0; at < chunk.length;) at += writeSync(process.stdout.fd, chunk, at)
      done()
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

/** Watches output and signals of this process. `words` are the words of its command line, such as `events tail`. */
export const watch = (words: ReadonlyArray<string>) => {
  const state: { lost?: Error; signal?: keyof typeof constants.signals } = {}
  writeFilesCompletely()
  // Without a listener, an error of a stream ends the process. Later writes fail silently.
  process.stdout.on("error", (error) => (state.lost ??= error))
  process.stderr.on("error", () => {})

  const signals = ["SIGINT", "SIGTERM"] as const
  const record = (signal: (typeof signals)[number]): void => {
    state.signal = signal
    // A second one ends the process at once.
    for (const name of signals) process.removeListener(name, record)
  }
  for (const name of signals) process.on(name, record)

  const codeOf = (exit: Exit.Exit<unknown, unknown>): number => {
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) {
      const isStopped = state.signal !== undefined && !isOneOf(UNTIL_SIGNAL, words)
      return isStopped ? 128 + constants.signals[state.signal ?? "SIGTERM"] : 0
    }
    let code = 0
    Runtime.defaultTeardown(exit, (given) => (code = given))
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    // Help without `--help`: a subcommand is missing, so nothing was done. Effect treats this as a success.
    if (error instanceof CliError.ShowHelp) return 1
    const isLost = error instanceof OutputLost
    if (state.lost === undefined || isOneOf(WITH_PROGRESS, words) || (code !== 0 && !isLost)) return code
    if (errorCode(state.lost) === "EPIPE") return CLOSED_PIPE
    console.error(`Standard output cannot be written: ${reason(state.lost)}.`)
    return 1
  }

  /** Ends the process with its code, once errors of the last write are known. */
  const teardown: Runtime.Teardown = (exit, onExit) => void setImmediate(() => onExit(codeOf(exit)))
  return { teardown }
}

/** Prints lines at the pace of the reader. Ends a long output once its reader is gone. */
export const print = (text: string): Effect.Effect<void, OutputLost> =>
  Effect.callback((resume) => {
    process.stdout.write(`${text}\n`, (error) =>
      resume(error === null || error === undefined ? Effect.void : Effect.fail(new OutputLost({ message: "" }))),
    )
  })
