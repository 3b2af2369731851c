/**
 * Connects to the database: the one in `SERVICE_DATABASE_URL`, else embedded PostgreSQL. Migrates it before other
 * services start.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import type { SqlError } from "effect/sql/SqlError"
import { migrations } from "../../migrations/index.ts"
import { applicationNameOf, NodeId } from "../kernel/NodeId.ts"
import { keepLettingGo } from "../kernel/SharedConnections.ts"
import { Transaction, Transactions } from "../kernel/Transaction.ts"
import { socketsTo } from "./DatabaseSocket.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { Settings } from "./Settings.ts"

/** The database cannot be used. The message says why and what to do. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  message: Schema.String,
}) {}

/** What to do if another process already runs the embedded database: fail, or connect to it. */
export type WhenRunning = "refuse" | "attach"

const addressOf = (url: string): string => {
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
    // The pool closes an idle connection within twice this time, before its socket would treat the silence as a lost
    // connection.
    idleTimeout: "20 seconds",
    // Many requests share a connection for single statements; each transaction has a dedicated one.
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

const MIN_SERVER_VERSION = 150_000

const checkVersion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ version: string }>`SELECT current_setting('server_version_num') AS version`
  if (Number(row?.version) < MIN_SERVER_VERSION) {
    return yield* new DatabaseUnavailable({
      message: `Keyshelf needs PostgreSQL 15 or newer, but the server in SERVICE_DATABASE_URL has version ${row?.version}. Upgrade it or use another server.`,
    })
  }
})

/** Table that records the applied migrations. */
export const migrationsTable = "keyshelf_migrations"

/** Applies the pending migrations of a sequence, all or none, under a lock. Returns their ids and names. */
export const migrateWith = (sequence: typeof migrations) =>
  Migrator.make({})({ loader: Migrator.fromRecord(sequence), table: migrationsTable })

/** {@link migrateWith} the service's migrations. */
export const migrate = migrateWith(migrations)

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

const unavailable = (name: string, error: SqlError) =>
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
      const client = Layer.effectDiscard(checkVersion).pipe(Layer.provideMerge(clientFor(url, options)))
      return yield* Layer.build(client).pipe(
        Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(name, error))),
      )
    }),
  )

const releasing = Layer.effectDiscard(Effect.flatMap(SqlClient.SqlClient, keepLettingGo))

/** Connects to the database and migrates it. */
export const layer = (whenRunning: WhenRunning) =>
  Layer.effectDiscard(
    migrate.pipe(
      Effect.catchTags({
        SqlError: (error) => Effect.fail(unavailable("The schema", error)),
        MigrationError: (error) =>
          Effect.fail(new DatabaseUnavailable({ message: `The schema cannot be migrated: ${error.message}` })),
      }),
    ),
  ).pipe(Layer.provideMerge(releasing), Layer.provideMerge(connection(whenRunning)))

// Retries only conflicts after which the database has rolled back. A connection lost during COMMIT is not retried,
// because that transaction may have committed.
const isConflict = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

/** {@link Transactions} on the SQL client, retried on conflicts. */
export const transactions = Layer.effect(
  Transactions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const backOff = Schedule.exponential("5 millis").pipe(Schedule.jittered)
    const begin = <A, E, R>(work: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        let rolledBack: Array<Effect.Effect<void>> = []
        const attempt = Effect.suspend(() => {
          rolledBack = []
          const afterRollback = (effect: Effect.Effect<void>) => void rolledBack.push(effect)
          return sql.withTransaction(Effect.provideService(work, Transaction, { open: true, afterRollback }))
        })
        return attempt.pipe(
          Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
          Effect.retry({ schedule: backOff, times: 5, while: isConflict }),
          Effect.catchIf(isSqlError, (error) => Effect.die(error)),
          Effect.tapError(() => Effect.all(rolledBack, { discard: true })),
        )
      })
    return Transactions.of({
      run: ((work: Effect.Effect<unknown, unknown, unknown>) =>
        Effect.flatMap(Effect.serviceOption(Transaction), (outer) =>
          Option.isSome(outer) ? work : begin(work),
        )) as Transactions["Service"]["run"],
    })
  }),
)
