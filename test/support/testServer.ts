/**
 * The database server of a test run: the one in `TEST_DATABASE_URL`, the Citus coordinator in `TEST_CITUS_URL`, or an embedded
 * PostgreSQL. The embedded one keeps its data in `.data/test`, with the template of the migrations that it was made from, so that a
 * later run begins sooner. Runs beside each other have embedded servers of their own.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { createHash } from "node:crypto"
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { distribute } from "../../src/infra/database/Distribution.ts"
import { migrate } from "../../src/infra/database/Migrations.ts"
import * as EmbeddedPostgres from "../../src/infra/embedded/EmbeddedPostgres.ts"
import { closeDatabase, joinNodes, onEachServer, query, serversOf } from "./Cluster.ts"
import { databaseUrl } from "./databaseUrl.ts"

/** Where test files find the server. */
export interface TestServer {
  /** The URL of the server, with superuser credentials. On Citus it is the coordinator. */
  readonly serverUrl: string
  /** `serverUrl`, and on Citus the workers. */
  readonly serverUrls: ReadonlyArray<string>
  /** The migrated database that each test database copies. */
  readonly template: string
}

const root = resolve(import.meta.dirname, "../..")

/** The hash of all that a template is made of. */
const hashOfMigrations = (): string => {
  const hash = createHash("sha256")
  const folder = join(root, "migrations")
  const migrations = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
  const files = [
    ...migrations.toSorted().map((name) => join(folder, name)),
    join(root, "src/infra/database/Migrations.ts"),
  ]
  for (const file of files) hash.update(`${file.slice(root.length)}\n`).update(readFileSync(file))
  return hash.digest("hex").slice(0, 16)
}

const migrated = (serverUrl: string, database: string) =>
  Effect.andThen(migrate, distribute).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(databaseUrl(serverUrl, database)), maxConnections: 1 })),
  )

/** Creates a template on a server that others use too. It is dropped with the scope. */
const ownTemplate = Effect.fnUntraced(function* (serverUrl: string, isCluster: boolean) {
  const serverUrls = isCluster ? yield* serversOf(serverUrl) : [serverUrl]
  const template = `keyshelf_template_${process.pid}`
  const drop = onEachServer(serverUrls, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`)
  yield* drop
  yield* Effect.acquireRelease(onEachServer(serverUrls, `CREATE DATABASE ${template}`), () => Effect.orDie(drop))
  if (isCluster) yield* joinNodes(serverUrls, template)
  yield* migrated(serverUrl, template)
  if (isCluster) yield* closeDatabase(serverUrls, template)
  return { serverUrl, serverUrls, template }
})

/** Finds or creates the template of today's migrations, and drops what earlier runs left. */
const keptTemplate = Effect.fnUntraced(function* (serverUrl: string) {
  const template = `keyshelf_template_${hashOfMigrations()}`
  const existing = (yield* query<{ name: string }>(
    serverUrl,
    "SELECT datname AS name FROM pg_database WHERE datname LIKE 'keyshelf%'",
  )).map(({ name }) => name)
  for (const name of existing.filter((name) => name !== template))
    yield* query(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
  if (!existing.includes(template)) {
    // A template that was not finished has another name.
    const unfinished = `keyshelf_unfinished_${process.pid}`
    yield* query(serverUrl, `CREATE DATABASE ${unfinished}`)
    yield* migrated(serverUrl, unfinished)
    yield* query(serverUrl, `ALTER DATABASE ${unfinished} RENAME TO ${template}`)
  }
  return { serverUrl, serverUrls: [serverUrl], template }
})

const embedded = (dataDir: string) =>
  Effect.map(EmbeddedPostgres.run({ dataDir, whenRunning: "fail", durable: false }), ({ url }) => Redacted.value(url))

const KEPT = join(root, ".data/test")

const keptServer = Effect.gen(function* () {
  mkdirSync(KEPT, { recursive: true })
  // PostgreSQL runs as another user when the tests run as root.
  chmodSync(KEPT, 0o755)
  return yield* keptTemplate(yield* embedded(join(KEPT, "postgres")))
})

// A crash of the machine may have destroyed the data, and another version of PostgreSQL does not read it.
const renewedServer = Effect.suspend(() => {
  rmSync(KEPT, { recursive: true, force: true })
  return keptServer
})

const isInUse = (error: unknown): boolean =>
  error instanceof EmbeddedPostgres.EmbeddedPostgresError && error.message.includes("in use")

/** Starts or finds the server. `directory` is for a run beside another one. */
export const testServer = (directory: string) => {
  const cluster = process.env["TEST_CITUS_URL"]
  const given = cluster ?? process.env["TEST_DATABASE_URL"]
  if (given !== undefined) return ownTemplate(given, cluster !== undefined)
  const beside = Effect.flatMap(embedded(join(directory, "postgres")), (url) => ownTemplate(url, false))
  return keptServer.pipe(
    Effect.catchIf(isInUse, () => beside),
    Effect.catch(() => renewedServer),
  )
}
