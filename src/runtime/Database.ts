/** The database: embedded PostgreSQL unless `SERVICE_DATABASE_URL` names one, migrated before anything else starts. */
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

/** The table that says which migrations a database has. */
export const migrationsTable = "keyshelf_migrations"

/** Applies the migrations of a sequence that are missing, under a lock, all or none. Answers their ids and names. */
export const migrateWith = (sequence: typeof migrations) =>
  Migrator.make({})({ loader: Migrator.fromRecord(sequence), table: migrationsTable })

/** {@link migrateWith} the service's own sequence. */
export const migrate = migrateWith(migrations)

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

// Only conflicts in which the database has rolled everything back. A connection lost during COMMIT is not one: nobody
// knows whether that transaction is in.
const isConflict = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

/** {@link Transactions} on the SQL client. */
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
          const afterRollback = (kept: Effect.Effect<void>) => void rolledBack.push(kept)
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
