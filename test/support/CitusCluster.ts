/** Runs a Citus cluster, a coordinator and two workers, from the PostgreSQL of this machine, if Citus is installed there. */
import { Effect, Exit, Schedule, Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { appendFileSync, chownSync, existsSync, mkdirSync, openSync } from "node:fs"
import { join } from "node:path"
import { locate } from "../../src/infra/embedded/DataDirectory.ts"
import type { DataDirectory } from "../../src/infra/embedded/DataDirectory.ts"
import { joinNodes, onEachServer } from "./Cluster.ts"
import { freePorts } from "./ServiceProcess.ts"
import { temporaryDirectory } from "./temporaryDirectory.ts"
import { withReason } from "./skipped.ts"

const configured = (what: string): string => spawnSync("pg_config", [what], { encoding: "utf8" }).stdout?.trim() ?? ""

const programs = configured("--bindir")

/** Why tests on a cluster of their own are skipped, or `undefined` if Citus is installed. */
export const whyNoCitus = existsSync(join(configured("--sharedir"), "extension", "citus.control"))
  ? undefined
  : "Citus is not installed"

/** The name of a test, with the reason if it is skipped. */
export const onCluster = (name: string): string => withReason(name, whyNoCitus)

interface Options {
  /** Whether a crashed server has what it committed. */
  readonly durable: boolean
  /** Settings of Citus that differ from its defaults; `undefined` for a server without Citus. */
  readonly citus?: string | undefined
}

// Few shards, so that a database is created sooner. What a crash left prepared is soon recovered.
const forTests = `
citus.shard_count = 4
citus.recover_2pc_interval = 1s
`

const withCitus = `
shared_preload_libraries = 'citus'
citus.node_conninfo = 'sslmode=disable'
`

const settings = (port: number, directory: string, { citus, durable }: Options) => `
port = ${port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '${directory}'
max_connections = 300
max_prepared_transactions = 300
max_worker_processes = 100
wal_level = logical
timezone = UTC
${citus === undefined ? "" : withCitus + citus}
${durable ? "" : "fsync = off"}
`

const ran = (place: DataDirectory, program: string, args: ReadonlyArray<string>) =>
  Effect.sync(() => {
    const { status, stderr } = spawnSync(join(programs, program), args, {
      ...place.account,
      cwd: "/",
      encoding: "utf8",
    })
    if (status !== 0) throw new Error(`${program}: ${stderr}`)
  })

const initialise = Effect.fnUntraced(function* (directory: string, port: number, options: Options) {
  yield* Effect.sync(() => mkdirSync(directory, { mode: 0o755 }))
  const place = yield* locate(join(directory, "data"))
  const { account } = place
  if (account !== undefined) yield* Effect.sync(() => chownSync(directory, account.uid, account.gid))
  yield* ran(place, "initdb", [
    "-D",
    place.dataDir,
    "-A",
    "trust",
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
  ])
  yield* Effect.sync(() => appendFileSync(join(place.dataDir, "postgresql.conf"), settings(port, directory, options)))
  return place
})

/** One server of a cluster, which a test may stop and start. */
const serverAt = Effect.fnUntraced(function* (directory: string, port: number, options: Options) {
  const place = yield* initialise(directory, port, options)
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  // A server that was restarted stops in the place of the first: after what was opened on it.
  const scope = yield* Scope.fork(yield* Effect.scope)
  let running = yield* Scope.fork(scope)
  let pid = 0
  const signal = (name: "SIGSTOP" | "SIGCONT") =>
    Effect.sync(() => {
      const children = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).stdout
      for (const process_ of [pid, ...children.split("\n").map(Number)]) if (process_ > 0) process.kill(process_, name)
    })
  const launched = Effect.acquireRelease(
    Effect.sync(() => {
      const log = openSync(place.logFile, "a")
      const child = spawn(join(programs, "postgres"), ["-D", place.dataDir], {
        ...place.account,
        cwd: "/",
        stdio: ["ignore", log, log],
      })
      const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()))
      pid = child.pid ?? 0
      // A process that ends without closing the scope, as after a signal, would leave the server running.
      const kill = () => child.kill("SIGQUIT")
      process.once("exit", kill)
      child.once("exit", () => process.off("exit", kill))
      return { kill, gone }
    }),
    // Like `pg_ctl stop -m immediate`.
    ({ gone, kill }) =>
      Effect.andThen(
        Effect.sync(kill),
        Effect.promise(() => gone),
      ),
  )
  const start = Effect.gen(function* () {
    yield* Scope.provide(launched, running)
    yield* onEachServer([url], "SELECT 1").pipe(
      Effect.retry(Schedule.spaced("50 millis")),
      Effect.timeout("30 seconds"),
      Effect.orDie,
    )
  })
  yield* start
  return {
    url,
    /** Stops the server at once: what it has not written to its log is lost. */
    crash: Effect.suspend(() => Scope.close(running, Exit.void)),
    /** Stops all processes of the server until the scope ends: its connections stay open, and nothing answers. */
    hang: Effect.acquireRelease(signal("SIGSTOP"), () => signal("SIGCONT")),
    restart: Effect.gen(function* () {
      running = yield* Scope.fork(scope)
      yield* start
    }),
  }
})

/** Starts one server without Citus, with the other settings of a cluster's servers. It stops with the scope. */
export const plainServer = Effect.fnUntraced(function* ({ durable }: { readonly durable: boolean }) {
  const directory = yield* temporaryDirectory
  const [port] = yield* freePorts(1)
  return yield* serverAt(join(directory, "plain"), port!, { durable })
})

/** Starts a cluster whose database `postgres` knows its workers. It stops with the scope. */
export const citusCluster = Effect.fnUntraced(function* ({ citus = forTests, durable }: Options) {
  const directory = yield* temporaryDirectory
  const ports = yield* freePorts(3)
  const servers = yield* Effect.forEach(ports, (port, index) =>
    serverAt(join(directory, `node${index}`), port, { citus, durable }),
  )
  const urls = servers.map(({ url }) => url)
  yield* Effect.orDie(joinNodes(urls, "postgres"))
  const [coordinator, ...workers] = servers
  return { coordinator: coordinator!, workers, urls }
})

/** A running cluster. */
export type CitusCluster = Effect.Success<ReturnType<typeof citusCluster>>
