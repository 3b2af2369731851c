/** Runs programs of other languages. */
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { text } from "node:stream/consumers"

export const root = resolve(import.meta.dirname, "../..")

/** Reads a file of `clients/vectors`, which has this form. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters -- the file has the form that the caller names
export const readVectors = <A>(name: string): A =>
  JSON.parse(readFileSync(join(root, `clients/vectors/${name}.json`), "utf8"))

const MAX_RUN_MS = 120_000

/** Why programs that need a command are skipped: its version is not the expected one, or there is none. */
const whyWithout = (command: string, args: ReadonlyArray<string>, version: RegExp): string | undefined => {
  const { error, stdout } = spawnSync(command, args, { encoding: "utf8", timeout: 20_000 })
  if (error !== undefined) return `${command} is not installed`
  return version.test(stdout) ? undefined : `${stdout.trim() || command} is not supported`
}

/** Why the client for Python is not tested, or `undefined`. */
export const whyNoPython = whyWithout("python3", ["--version"], /^Python 3\.(1\d|[2-9]\d)\./)

/** Why the client for Python is not installed, or `undefined`. */
export const whyNoPip = whyNoPython ?? whyWithout("python3", ["-m", "pip", "--version"], /^pip /)

/** Why the client for Go is not tested, or `undefined`. */
export const whyNoGo = whyWithout("go", ["version"], /go1\.(19|[2-9]\d)/)

/** Nothing is loaded from a network, and no other version of Go. */
export const goEnvironment = { GOFLAGS: "-mod=mod", GOPROXY: "off", GOSUMDB: "off", GOTOOLCHAIN: "local" }

/** What a program printed, and its exit code. */
interface Played {
  readonly code: number | null
  readonly stdout: string
  readonly output: string
}

/** Runs a program until it ends. */
const play = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env?: Record<string, string> },
): Effect.Effect<Played> =>
  Effect.promise(async () => {
    const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...options.env }
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"]
    const child = spawn(command, args, { cwd: options.cwd, env, timeout: MAX_RUN_MS, stdio })
    const ended = new Promise<number | null>((done) => {
      child.on("error", () => done(null))
      child.on("close", done)
    })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await ended, stdout, output: stdout + stderr }
  })

/** Runs a program that must succeed, and returns what it printed. */
export const playWell = (...args: Parameters<typeof play>): Effect.Effect<string> =>
  Effect.flatMap(play(...args), ({ code, output, stdout }) =>
    code === 0 ? Effect.succeed(stdout) : Effect.die(new Error(`${args[0]} ${args[1].join(" ")}: ${code}\n${output}`)),
  )
