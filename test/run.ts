/**
 * Runs the checks and tests of one command (CONTRIBUTING, "Tests"): `check`, `test`, `slow`, `servers` or `all`.
 *
 * `npm test -- test/usage` runs the tests in these files or folders, of every kind. Options of Vitest, such as `-t <name>`, work too.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"

const require = createRequire(import.meta.url)

/** The script behind a package's command, so that it runs on this Node, whatever `node` the shell finds. */
const script = (packageName: string, command = packageName): string => {
  const manifest = require.resolve(`${packageName}/package.json`)
  const bin: unknown = require(manifest).bin
  const file = typeof bin === "string" ? bin : (bin as Record<string, string>)[command]
  if (file === undefined) throw new Error(`${packageName} has no command ${command}`)
  return join(dirname(manifest), file)
}

const failed = (title: string): never => {
  console.error(`\n${title}: failed`)
  process.exit(1)
}

// Only the tests on a server may find it.
const { TEST_CITUS_URL: cluster, TEST_DATABASE_URL: server, ...environment } = process.env

const vitest = (title: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) => {
  console.log(`\n=== ${title}`)
  const options = { stdio: "inherit", env: { ...environment, ...env } } as const
  const { status } = spawnSync(process.execPath, [script("vitest"), "run", ...args], options)
  if (status !== 0) failed(title)
}

const kinds = (...names: ReadonlyArray<string>) => names.map((name) => `--project=${name}`)

/** Runs beside others, and prints its output when it has ended. */
const beside = async (title: string, args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] })
  const ended = once(child, "close")
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [status]: Array<unknown> = await ended
  console.log(`\n=== ${title}\n${stdout}${stderr}`.trimEnd())
  if (status !== 0) failed(title)
}

/** What needs no database. */
const check = () =>
  Promise.all([
    beside("Types", [script("typescript", "tsc"), "--noEmit"]).then(() =>
      beside("Pure tests", [script("vitest"), "run", "--maxWorkers=1", "--silent=passed-only", ...kinds("pure")]),
    ),
    beside("Types of the console", [script("typescript", "tsc"), "-p", "console"])
      .then(() => beside("Lint", [script("oxlint"), "--type-aware", "--deny-warnings"]))
      .then(() => beside("Format", [script("oxfmt"), "--check", "."]))
      .then(() => beside("Generated files", ["src/cli.ts", "openapi", "--check"])),
  ])

const service = () => vitest("Tests on the embedded database", kinds("service"))

const slow = () => vitest("Tests of processes, and in a browser", kinds("process", "browser"))

const LOCAL_SERVER = "postgres://postgres@127.0.0.1:5432/postgres"
// A worker has a service, and some files start further nodes.
const CONNECTIONS_PER_WORKER = 40

/** How many workers a server has room for: 0 if it cannot be used. */
const workersOn = (url: string): Promise<number> =>
  Effect.runPromise(
    Effect.flatMap(
      PgClient.PgClient,
      (sql) => sql<{ fits: boolean; connections: number }>`
        SELECT current_setting('server_version_num')::int >= 150000 AND rolcreatedb AS fits,
          current_setting('max_connections')::int AS connections
        FROM pg_roles WHERE rolname = current_user`,
    ).pipe(
      Effect.map(([row]) =>
        row?.fits === true ? Math.max(1, Math.floor(row.connections / CONNECTIONS_PER_WORKER)) : 0,
      ),
      Effect.map((room) => Math.min(room, availableParallelism())),
      Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1, connectTimeout: "2 seconds" })),
      Effect.catch(() => Effect.succeed(0)),
    ),
  )

/** What depends on the database server. */
const servers = async () => {
  const url = server ?? LOCAL_SERVER
  const workers = await workersOn(url)
  if (workers > 0) {
    const on = { TEST_DATABASE_URL: url }
    vitest("Tests on the PostgreSQL server", [`--maxWorkers=${workers}`, ...kinds("service")], on)
    vitest("Plans of the PostgreSQL server", ["test/maintenance/BackgroundStatements"], on)
  } else if (server !== undefined) {
    failed("TEST_DATABASE_URL names no PostgreSQL of version 15 or newer on which databases can be created")
  } else {
    console.log("\n=== No PostgreSQL server of version 15 or newer is reachable: only the embedded database was tested")
  }
  if (cluster === undefined) {
    console.log("\n=== TEST_CITUS_URL is not set: nothing was tested on Citus but what starts a cluster of its own")
    return
  }
  vitest("Tests on Citus", kinds("service", "process"), { TEST_CITUS_URL: cluster })
  vitest("Requests that may ask one shard only", ["test/contract/OneShard.test.ts"], {
    TEST_CITUS_URL: cluster,
    TEST_CITUS_ONE_SHARD: "1",
  })
}

const commands: Readonly<Record<string, () => unknown>> = {
  check,
  test: async () => {
    await check()
    service()
  },
  slow,
  servers,
  all: async () => {
    await check()
    service()
    slow()
    await servers()
  },
}

const [name = "", ...part] = process.argv.slice(2)
const command = commands[name]
if (command === undefined) failed(`There is no command ${name}. The commands are ${Object.keys(commands).join(", ")}`)
if (part.length > 0) vitest(`Tests of ${part.join(" ")}`, part, process.env)
else await command!()
console.log("\nEverything passed.")
