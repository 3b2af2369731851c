/** Runs a PgBouncer in transaction mode in front of a database, as docs/scaling.md says, if it is installed. */
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { databaseProxy } from "./cable.ts"
import { freePorts } from "./ServiceProcess.ts"
import { temporaryDirectory } from "./temporaryDirectory.ts"
import { withReason } from "./skipped.ts"

const command = ["pgbouncer", "/usr/sbin/pgbouncer"].find(
  (path) => spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0,
)

/** Why tests behind PgBouncer are skipped, or `undefined` if it is installed. */
export const whyNoPgBouncer = command === undefined ? "PgBouncer is not installed" : undefined

/** The name of a test, with the reason if it is skipped. */
export const behindPgBouncer = (name: string): string => withReason(name, whyNoPgBouncer)

/** How many connections to the server PgBouncer may open for one database. */
export const POOL_SIZE = 6

/** PgBouncer refuses to run as root. */
const NOBODY = 65_534

/** The settings of a process of the service whose database is behind a pooler. */
interface PooledSettings extends Record<string, string> {
  readonly SERVICE_DATABASE_URL: string
  readonly SERVICE_DATABASE_PREPARE: string
  readonly SERVICE_DATABASE_LISTEN_URL: string
}

/** Starts PgBouncer in front of a database. Returns the settings of a process that uses it. It stops when the scope closes. */
export const pgBouncer = Effect.fnUntraced(function* (databaseUrl: string) {
  const directory = yield* temporaryDirectory
  const [port] = yield* freePorts(1)
  // PgBouncer runs as a user who may not open the directory of the server's socket.
  const server = new URL((yield* databaseProxy(databaseUrl)).url)
  const name = decodeURIComponent(server.pathname.slice(1))
  const password = server.password === "" ? "" : ` password=${decodeURIComponent(server.password)}`
  const file = join(directory, "pgbouncer.ini")
  yield* Effect.promise(async () => {
    await writeFile(
      file,
      `[databases]
${name} = host=127.0.0.1 port=${server.port} dbname=${name} user=${decodeURIComponent(server.username)}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOL_SIZE}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits,jit,statement_timeout,lock_timeout,idle_in_transaction_session_timeout
`,
    )
    await chmod(file, 0o644)
  })
  const isRoot = process.getuid?.() === 0
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(command ?? "", [file], {
        stdio: ["ignore", "ignore", "pipe"],
        ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
      }),
    ),
    (running) =>
      Effect.promise(async () => {
        if (running.exitCode !== null || running.signalCode !== null) return
        const gone = new Promise((resolve) => running.once("exit", resolve))
        running.kill("SIGKILL")
        await gone
      }),
  )
  yield* Effect.promise(
    () =>
      new Promise<void>((resolve, reject) => {
        let output = ""
        child.stderr?.on("data", (chunk: Buffer) => {
          output += chunk.toString()
          if (output.includes("process up")) resolve()
        })
        child.once("error", reject)
        child.once("exit", () => reject(new Error(`PgBouncer did not start:\n${output}`)))
      }),
  )
  const settings: PooledSettings = {
    SERVICE_DATABASE_URL: `postgres://keyshelf@127.0.0.1:${port}/${name}`,
    SERVICE_DATABASE_PREPARE: "false",
    SERVICE_DATABASE_LISTEN_URL: databaseUrl,
  }
  return settings
})
