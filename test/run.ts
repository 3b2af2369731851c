/**
 * `npm test`: types, lint, format, generated files, and the suite on the embedded database; then what depends on the server
 * once more on a PostgreSQL server, if one is reachable at `TEST_DATABASE_URL` or on this machine, and on a Citus cluster, if
 * `TEST_CITUS_URL` names a database of its coordinator in which the workers are known.
 *
 * `npm test -- test/usage` runs only the tests in these files or folders. Options of Vitest, such as `-t <name>`, work too.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
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

// Only the tests on a cluster may find it.
const { TEST_CITUS_URL: cluster, ...environment } = process.env

const run = (title: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) => {
  console.log(`\n=== ${title}`)
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit", env: { ...environment, ...env } })
  if (status !== 0) failed(title)
}

/** Runs beside others, and prints its output when it has ended. */
const check = async (title: string, args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] })
  const ended = once(child, "close")
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [status]: Array<unknown> = await ended
  console.log(`\n=== ${title}\n${stdout}${stderr}`.trimEnd())
  if (status !== 0) failed(title)
}

const LOCAL_SERVER = "postgres://postgres@127.0.0.1:5432/postgres"

const isReachable = (url: string): Promise<boolean> =>
  Effect.runPromise(
    Effect.flatMap(
      PgClient.PgClient,
      (sql) => sql<{ fits: boolean }>`
        SELECT current_setting('server_version_num')::int >= 150000 AND rolcreatedb AS fits
        FROM pg_roles WHERE rolname = current_user`,
    ).pipe(
      Effect.map((rows) => rows[0]?.fits === true),
      Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1, connectTimeout: "2 seconds" })),
      Effect.catch(() => Effect.succeed(false)),
    ),
  )

const part = process.argv.slice(2)
if (part.length > 0) {
  run(`Tests of ${part.join(" ")}`, [script("vitest"), "run", "--maxWorkers=2", ...part], process.env)
  process.exit(0)
}

await Promise.all([
  check("Types", [script("typescript", "tsc"), "--noEmit"]),
  check("Types of the console", [script("typescript", "tsc"), "-p", "console"])
    .then(() => check("Lint", [script("oxlint"), "--type-aware", "--deny-warnings"]))
    .then(() => check("Format", [script("oxfmt"), "--check", "."]))
    .then(() => check("Generated files", ["src/cli.ts", "openapi", "--check"])),
])
// What measures the process or injects faults at certain times runs alone. The other files run two at a time.
const alone = ["test/faults", "test/guard", "test/start"]
// Folders and files that start processes or a dedicated database, or that do not depend on the server version: they run once. A
// file is named by the end or the beginning of its path.
const onceFolders = [
  "test/client",
  "test/clients",
  "test/cli",
  "test/connectors",
  "test/console",
  "test/contract",
  "test/deploy",
  "test/kernel",
  "test/openapi",
  "test/pages",
  "test/http",
  "test/infra",
  "test/offline",
]
const onceFiles = [
  "test/access/Gateway",
  "test/audit/Commands.test.ts",
  "test/audit/Tree.test.ts",
  "test/journeys/DemoProcess.test.ts",
  "test/maintenance/SecretKeys.test.ts",
  "test/offline-bundles/Example.test.ts",
  "test/people/Process.test.ts",
  "test/people/SignIn.test.ts",
  "test/webhooks/Sender.test.ts",
  // What a killed process leaves behind is the same on each version.
  "Kills.test.ts",
]
// Files that create ids at a later time than now (`test/support/sharedModules.ts`).
const withOwnModules = [
  "test/access/Credentials.test.ts",
  "test/access/OrganizationTokens.test.ts",
  "test/access/TokenRotation.test.ts",
  "test/audit/Retention.test.ts",
  "test/events/Rules.test.ts",
  "test/instances/TermNotices.test.ts",
  "test/maintenance/Sweeper.test.ts",
  "test/maintenance/TokenRetention.test.ts",
  "test/migrations/LicenseMigrations.test.ts",
  "test/offline-bundles/LedgersAllowances.test.ts",
  "test/offline-bundles/LedgersCounting.test.ts",
  "test/offline-bundles/Revocations.test.ts",
  "test/offline-bundles/Rotation.test.ts",
  "test/usage/Leases.test.ts",
  "test/usage/Reservations.test.ts",
]
// What runs once elsewhere, and once more on Citus: the whole interface, processes that are killed, and the demo.
const onceMoreOnCitus = [
  "test/client/",
  "test/connectors/",
  "test/contract/",
  "test/http/",
  "test/offline-bundles/Example.test.ts",
  "test/journeys/DemoProcess.test.ts",
  "Kills.test.ts",
]
const globsOf = (folders: ReadonlyArray<string>, files: ReadonlyArray<string> = []) => [
  ...folders.map((folder) => `${folder}/**`),
  ...files.map((file) => (file.startsWith("test/") ? `${file}*` : `**/*${file}`)),
]
const twoAtATime = (excluded: ReadonlyArray<string>, ...more: ReadonlyArray<string>) => [
  script("vitest"),
  "run",
  "--maxWorkers=2",
  ...excluded.flatMap((pattern) => ["--exclude", pattern]),
  ...more,
]
// Most files share the modules of their worker: loading them for each file would take as long as the tests.
const shared = twoAtATime([...globsOf(alone), ...globsOf(onceFolders, [...onceFiles, ...withOwnModules])])
const SHARED = { TEST_SHARED_MODULES: "1" }
run("Tests on the embedded database", shared, SHARED)
run(
  "Tests with their own modules, and tests that run once",
  twoAtATime(globsOf(alone), ...onceFolders.map((folder) => `${folder}/`), ...onceFiles, ...withOwnModules),
)
run("Tests of processes and their faults", [script("vitest"), "run", "--maxWorkers=1", ...alone])

const server = process.env["TEST_DATABASE_URL"] ?? LOCAL_SERVER
if (await isReachable(server)) {
  // Each file has a dedicated database. Any server has enough connections for two files.
  run("Tests on the PostgreSQL server", shared, { ...SHARED, TEST_DATABASE_URL: server })
  run("Tests with their own modules on the PostgreSQL server", twoAtATime([], ...withOwnModules), {
    TEST_DATABASE_URL: server,
  })
} else {
  console.log("\n=== No PostgreSQL server of version 15 or newer is reachable: only the embedded database was tested")
}
if (cluster === undefined) {
  console.log("\n=== TEST_CITUS_URL is not set: nothing was tested on Citus but what starts a cluster of its own")
} else {
  run("Tests on Citus", shared, { ...SHARED, TEST_CITUS_URL: cluster })
  run(
    "Tests with their own modules, and tests that run once, on Citus",
    twoAtATime([], ...withOwnModules, ...onceMoreOnCitus),
    {
      TEST_CITUS_URL: cluster,
    },
  )
  run("Requests that may ask one shard only", [script("vitest"), "run", "test/contract/OneShard.test.ts"], {
    TEST_CITUS_URL: cluster,
    TEST_CITUS_ONE_SHARD: "1",
  })
}
console.log("\nEverything passed.")
