/** The database: embedded PostgreSQL unless `SERVICE_DATABASE_URL` names one, migrated before anything else starts. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { applicationNameOf, NodeId } from "../../kernel/ports/NodeId.ts"
import { Settings } from "../Settings.ts"
import * as EmbeddedPostgres from "../embedded/EmbeddedPostgres.ts"
import { keepLettingGo } from "./DedicatedConnections.ts"
import { socketsTo } from "./Keepalive.ts"
import { migrate } from "./Migrations.ts"

/** The database cannot be used: one sentence that says why and what to do. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  message: Schema.String,
}) {}

/** How a process treats an embedded database that another process already runs. */
export type WhenRunning = "refuse" | "attach"

const where = (url: string): string => {
  const parsed = new URL(url)
  return `${parsed.hostname || "localhost"}:${parsed.port || "5432"}${parsed.pathname}`
}

const clientFor = (
  url: Redacted.Redacted,
  options: { readonly nodeId: string; readonly poolSize: number; readonly prepare: boolean },
) =>
  PgClient.layer({
    url,
    stream: Option.getOrUndefined(socketsTo(Redacted.value(url))),
    applicationName: applicationNameOf(options.nodeId),
    maxConnections: options.poolSize,
    // The pool closes one that is idle after twice that at most: before it seems lost to its socket, whatever is sent just then.
    idleTimeout: "20 seconds",
    // Statements of many requests share a connection; transactions still have one to themselves.
    multiplex: true,
    prepare: options.prepare,
    preparedStatementCacheSize: 500,
    connectTimeout: "5 seconds",
    startupParameters: {
      timezone: "UTC",
      statement_timeout: "30s",
      lock_timeout: "10s",
      idle_in_transaction_session_timeout: "60s",
    },
  })

const oldestSupported = 150_000

const checkVersion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ version: string }>`SELECT current_setting('server_version_num') AS version`
  if (Number(row?.version) < oldestSupported) {
    return yield* new DatabaseUnavailable({
      message: `Keyshelf needs PostgreSQL 15 or newer; SERVICE_DATABASE_URL names a server of version ${row?.version}.`,
    })
  }
})

const target = (whenRunning: WhenRunning) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    if (Option.isSome(settings.databaseUrl)) {
      const url = settings.databaseUrl.value
      return { url, name: `The database at ${where(Redacted.value(url))} (SERVICE_DATABASE_URL)` }
    }
    const embedded = yield* EmbeddedPostgres.run({ dataDir: `${settings.dataDir}/postgres`, whenRunning })
    return { url: embedded.url, name: "The embedded database" }
  })

const unusable = (name: string, error: SqlError) =>
  new DatabaseUnavailable({ message: `${name} cannot be used: ${causeOf(error)}` })

// The reason wraps the driver's error, whose own text ("connect ECONNREFUSED", "password authentication failed") helps.
const causeOf = (error: SqlError): string => {
  const cause = error.reason.cause
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message
}

/** The connected database, without touching its schema. */
export const connection = (whenRunning: WhenRunning) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const settings = yield* Settings
      const { name, url } = yield* target(whenRunning)
      const options = {
        nodeId: yield* NodeId,
        poolSize: settings.databasePoolSize,
        prepare: settings.databasePrepare,
      }
      const client = Layer.effectDiscard(checkVersion).pipe(Layer.provideMerge(clientFor(url, options)))
      return yield* Layer.build(client).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(unusable(name, error))))
    }),
  )

const lettingGo = Layer.effectDiscard(Effect.flatMap(SqlClient.SqlClient, keepLettingGo))

/** The connected and migrated database. */
export const layer = (whenRunning: WhenRunning) =>
  Layer.effectDiscard(
    migrate.pipe(
      Effect.catchTags({
        SqlError: (error) => Effect.fail(unusable("The schema", error)),
        MigrationError: (error) =>
          Effect.fail(
            new DatabaseUnavailable({ message: `The schema cannot be brought up to date: ${error.message}` }),
          ),
      }),
    ),
  ).pipe(Layer.provideMerge(lettingGo), Layer.provideMerge(connection(whenRunning)))
