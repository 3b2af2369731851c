/** Runs the service as a separate process, for tests of start, stop and crash. */
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { randomBytes, randomInt } from "node:crypto"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { leakedIn } from "./issuedSecrets.ts"

const root = join(import.meta.dirname, "../..")

/** Generates a bootstrap credential. */
export const randomCredential = () => `ksm_${randomBytes(32).toString("base64url")}`

// Outgoing connections take ports from 32768 up. A test that restarts a process must find its ports free again.
const lowestPort = 20_000
const highestPort = 32_000

/** Listens on a free port outside the range of outgoing connections. */
const listenOutsideOutgoing = (): Promise<ReturnType<typeof createServer>> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    const attempt = () => server.listen(randomInt(lowestPort, highestPort), "127.0.0.1")
    server.on("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? attempt() : reject(error)))
    server.on("listening", () => resolve(server))
    attempt()
  })

/** Finds ports that are currently free. */
export const freePorts = (count: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => {
    const servers = await Promise.all(Array.from({ length: count }, listenOutsideOutgoing))
    const ports = servers.map((server) => (server.address() as AddressInfo).port)
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    return ports
  })

/** The result of a process. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
}

/** A running process of the service. */
export interface ServiceProcess {
  readonly process: ChildProcess
  readonly output: () => string
  /** Waits until the process ends. Dies with its output after a timeout. */
  readonly ended: Effect.Effect<Ended>
  /** Waits until the service is ready, or fails with its output. */
  readonly ready: Effect.Effect<void, Error>
  readonly core: string
  readonly platform: string
}

// The banner shows the first credential once, on purpose. No other output may contain a secret.
const assertNoSecrets = (args: ReadonlyArray<string>, output: string): void => {
  if (args[0] !== "serve") return
  const logged = output.replace(/(operator's platform credential, shown this once[^\n]*\n\s+)ksm_\S+/, "$1")
  const leaked = leakedIn(logged).length
  if (leaked > 0) throw new Error(`The output of the service contains ${leaked} secrets`)
}

// A run that is interrupted does not close its scopes.
const running = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of running) child.kill()
})

/** The command that runs Node.js with a limit of open files, which also binds Node.js's own raising of it. */
export const limited = (openFiles: number, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] => [
  "sh",
  ["-c", `ulimit -n ${openFiles} && exec "$0" "$@"`, process.execPath, ...args],
]

/**
 * Starts `keyshelf <args>`, or another entry file, relative to this checkout. `bin/keyshelf.mjs` runs the bundle unless the sources
 * are newer: it starts in a third of the time. The process is stopped when the scope closes.
 */
export const start = (
  args: ReadonlyArray<string>,
  env: Record<string, string>,
  entry = "bin/keyshelf.mjs",
  openFiles?: number,
): Effect.Effect<ServiceProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const all = [resolve(root, entry), ...args]
      const [command, rest] = openFiles === undefined ? [process.execPath, all] : limited(openFiles, all)
      const child = spawn(command, rest, {
        cwd: root,
        env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...env },
        stdio: ["ignore", "pipe", "pipe"],
      })
      running.add(child)
      child.once("exit", () => running.delete(child))
      let output = ""
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
      child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()))
      const closed = new Promise<Ended>((resolve) =>
        child.on("close", (code, signal) => resolve({ code, signal, output })),
      )
      const core = `http://127.0.0.1:${env["SERVICE_CORE_PORT"]}`
      const ready = Effect.tryPromise({
        try: async () => {
          const health = `http://127.0.0.1:${env["SERVICE_INTERNAL_PORT"]}/health/ready`
          const deadline = Date.now() + 90_000
          while (Date.now() < deadline && child.exitCode === null) {
            const response = await fetch(health).catch(() => undefined)
            if (response?.status === 200 && output.includes("Keyshelf is ready")) return
            await new Promise((resolve) => setTimeout(resolve, 25))
          }
          throw new Error("not ready")
        },
        catch: () => new Error(`The service did not become ready:\n${output}`),
      })
      return {
        process: child,
        output: () => output,
        ended: Effect.promise(() => closed).pipe(
          Effect.timeoutOrElse({
            duration: "90 seconds",
            orElse: () => Effect.die(new Error(`The process did not end:\n${output}`)),
          }),
        ),
        ready,
        core,
        platform: `http://127.0.0.1:${env["SERVICE_PLATFORM_PORT"]}`,
      }
    }),
    (service) =>
      Effect.promise(async () => {
        if (service.process.exitCode !== null || service.process.signalCode !== null) return
        const gone = new Promise((resolve) => service.process.once("exit", resolve))
        service.process.kill("SIGTERM")
        const timer = setTimeout(() => service.process.kill("SIGKILL"), 15_000)
        await gone
        clearTimeout(timer)
      }).pipe(Effect.ensuring(Effect.sync(() => assertNoSecrets(args, service.output())))),
  )

/** Settings of the listeners of a process: free ports. */
export const freeListeners = Effect.map(freePorts(3), ([core, platform, internal]) => ({
  SERVICE_CORE_PORT: String(core),
  SERVICE_PLATFORM_PORT: String(platform),
  SERVICE_INTERNAL_PORT: String(internal),
}))

/** Settings of a process with free ports and its own embedded database. */
export const settings = Effect.fnUntraced(function* (dataDir: string, credential: string) {
  return {
    ...(yield* freeListeners),
    SERVICE_DATA_DIR: join(dataDir, "data"),
    SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: credential,
  }
})

/**
 * Settings of a process with free ports and a database that is migrated, such as that of `TestDatabase`. The process starts in a third of
 * the time of one that creates an embedded database.
 */
export const settingsOn = Effect.fnUntraced(function* (database: Redacted.Redacted, credential: string) {
  return {
    ...(yield* freeListeners),
    SERVICE_DATABASE_URL: Redacted.value(database),
    SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
    SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: credential,
  }
})
