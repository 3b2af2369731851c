/**
 * Connects to the database: the one in `SERVICE_DATABASE_URL`, else embedded PostgreSQL. Migrates it before other
 * services start.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { applicationNameOf, NodeId } from "../../kernel/ports/NodeId.ts"
import { Settings } from "../Settings.ts"
import * as EmbeddedPostgres from "../embedded/EmbeddedPostgres.ts"
import { distribute } from "./Distribution.ts"
import { migrate } from "./Migrations.ts"
import { losesPreparedStatements, PREPARED_STATEMENTS_LOST } from "./PreparedStatements.ts"
import * as ReadOnlyConnections from "./ReadOnlyConnections.ts"
import { cacheNoStatements, keepStatementNames } from "./ShortLivedStatements.ts"
import { ServerSockets, serverSocketsOf } from "./sockets/ServerSockets.ts"
import { keepUp } from "./Upkeep.ts"

/** The database cannot be used. The message says why and what to do. */
class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  message: Schema.String,
}) {}

/** What to do if another process already runs the embedded database: fail, or connect to it. */
export type WhenRunning = "fail" | "attach"

const addressOf = (url: string): string => {
  const parsed = new URL(url)
  return `${parsed.hostname || "localhost"}:${parsed.port || "5432"}${parsed.pathname}`
}

const clientFor = (
  url: Redacted.Redacted,
  open: ServerSockets["open"],
  options: {
    readonly nodeId: string
    readonly poolSize: number
    readonly prepare: boolean
    readonly multiplexConcurrency?: number
  },
) =>
  PgClient.layer({
    url,
    stream: open,
    applicationName: applicationNameOf(options.nodeId),
    maxConnections: options.poolSize,
    // The pool closes an idle connection within twice this time, before its socket would treat the silence as a lost
    // connection.
    idleTimeout: "20 seconds",
    // Many requests share a connection for single statements; each transaction has a dedicated one.
    multiplex: true,
    ...(options.multiplexConcurrency === undefined ? {} : { multiplexConcurrency: options.multiplexConcurrency }),
    prepare: options.prepare,
    preparedStatementCacheSize: 500,
    connectTimeout: "5 seconds",
    startupParameters: {
      timezone: "UTC",
      // Statements here take milliseconds. Compiling one whose cost is estimated high takes seconds, for each connection.
      jit: "off",
      statement_timeout: "30s",
      lock_timeout: "10s",
      idle_in_transaction_session_timeout: "60s",
    },
  })

const MIN_SERVER_VERSION = 150_000

const MIN_CITUS_VERSION = 13

/** Refuses a server or an extension Citus that is too old, and what the service does not do on Citus. Returns whether there is Citus. */
const checkServer = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ version: string; citus: string | null }>`
    SELECT current_setting('server_version_num') AS version,
      (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS citus`
  if (Number(row?.version) < MIN_SERVER_VERSION) {
    return yield* new DatabaseUnavailable({
      message: `Keyshelf needs PostgreSQL 15 or newer, but the server in SERVICE_DATABASE_URL has version ${row?.version}. Upgrade it or use another server.`,
    })
  }
  if (row?.citus != null && Number.parseInt(row.citus, 10) < MIN_CITUS_VERSION) {
    return yield* new DatabaseUnavailable({
      message: `Keyshelf needs Citus 13 or newer, but the database in SERVICE_DATABASE_URL has version ${row.citus}. Upgrade the extension.`,
    })
  }
  yield* keepStatementNames(sql)
  const { retention } = yield* Settings
  if (row?.citus != null && Option.isSome(retention.usageEvents)) {
    return yield* new DatabaseUnavailable({
      message:
        "SERVICE_RETENTION_USAGE_EVENTS is not available on Citus, where events of usage are not in monthly partitions. Remove the setting.",
    })
  }
  return row?.citus != null
})

const target = (whenRunning: WhenRunning) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    if (Option.isSome(settings.databaseUrl)) {
      const url = settings.databaseUrl.value
      return { url, name: `The database at ${addressOf(Redacted.value(url))} (SERVICE_DATABASE_URL)` }
    }
    const embedded = yield* EmbeddedPostgres.run({ dataDir: `${settings.dataDir}/postgres`, whenRunning })
    return { url: embedded.url, name: "The embedded database" }
  })

/** Says that a part of the database cannot be used, with the server's or the driver's reason. */
export const unavailable = (name: string, error: SqlError) =>
  new DatabaseUnavailable({ message: `${name} cannot be used: ${causeOf(error)}` })

// Prefers the driver's message ("connect ECONNREFUSED", "password authentication failed"), which is more specific.
const causeOf = (error: SqlError): string => {
  const cause = error.reason.cause
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message
}

/** Connects to the database without changing its schema. */
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
      const sockets = serverSocketsOf(Redacted.value(url))
      const client = Effect.gen(function* () {
        const onCitus = yield* checkServer.pipe(
          Effect.provide(clientFor(url, sockets.open, { ...options, poolSize: 1 }), { local: true }),
        )
        // Statements that share a connection run one after the other: one that waits for a worker that hangs would hold up all others.
        return clientFor(url, sockets.open, onCitus ? { ...options, multiplexConcurrency: 1 } : options)
      })
      return yield* Layer.build(Layer.merge(Layer.unwrap(client), Layer.succeed(ServerSockets, sockets))).pipe(
        Effect.tap((services) => cacheNoStatements(Context.get(services, PgClient.PgClient))),
        Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(name, error))),
      )
    }),
  )

const upkeep = Layer.effectDiscard(Effect.flatMap(PgClient.PgClient, (sql) => keepUp(sql))).pipe(
  Layer.provideMerge(ReadOnlyConnections.layer),
)

const warnOfLostStatements = Layer.effectDiscard(
  Effect.gen(function* () {
    if (Option.contains(yield* losesPreparedStatements(yield* PgClient.PgClient, "10 seconds"), true)) {
      yield* Effect.logError(`Requests will fail: ${PREPARED_STATEMENTS_LOST}`)
    }
  }),
)

/** Connects to the database and migrates it. */
export const layer = (whenRunning: WhenRunning) =>
  Layer.effectDiscard(
    Effect.andThen(migrate, distribute).pipe(
      Effect.catchTags({
        SqlError: (error) => Effect.fail(unavailable("The schema", error)),
        NotDistributable: ({ message }) => Effect.fail(new DatabaseUnavailable({ message })),
        FormerSchema: ({ message }) => Effect.fail(new DatabaseUnavailable({ message })),
        MigrationError: (error) =>
          Effect.fail(new DatabaseUnavailable({ message: `The schema cannot be migrated: ${error.message}` })),
      }),
    ),
  ).pipe(Layer.merge(warnOfLostStatements), Layer.provideMerge(upkeep), Layer.provideMerge(connection(whenRunning)))
