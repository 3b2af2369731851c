/** Programs that a build runs. */
import { spawnSync } from "node:child_process"
import { root } from "./Files.ts"

interface Options {
  /** The folder of the checkout if absent. */
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Whether its output is shown while it runs. The result is empty then. */
  readonly isShown?: boolean
}

interface Output {
  readonly stdout: string
  readonly stderr: string
}

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024

const failure = (program: string, args: ReadonlyArray<string>, error: Error | undefined, printed: string): Error =>
  new Error(`${program} ${args.join(" ")} failed${error === undefined ? "" : `: ${error.message}`}\n${printed.trim()}`)

/** Runs a program whose output is a file, and returns it. */
export const runBytes = (program: string, args: ReadonlyArray<string>): Buffer => {
  const { error, status, stderr, stdout } = spawnSync(program, args, { cwd: root, maxBuffer: MAX_OUTPUT_BYTES })
  if (error === undefined && status === 0) return stdout
  throw failure(program, args, error, String(stderr ?? ""))
}

/** Runs a program to its end. A program that fails ends the build, with its command line and what it printed. */
export const run = (
  program: string,
  args: ReadonlyArray<string>,
  { cwd = root, env = process.env, isShown = false }: Options = {},
): Output => {
  const stdio = isShown ? "inherit" : "pipe"
  const { error, status, stderr, stdout } = spawnSync(program, args, { cwd, encoding: "utf8", env, stdio })
  if (error === undefined && status === 0) return { stdout: stdout ?? "", stderr: stderr ?? "" }
  throw failure(program, args, error, `${stdout ?? ""}${stderr ?? ""}`)
}
