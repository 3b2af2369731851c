/**
 * Whether prepared statements last. A pooler in transaction mode lends a connection another session of the server for each transaction,
 * which does not have the statements that the connection prepared before: requests then fail now and then, under load most of them.
 */
import { PgConnection } from "@effect/sql-pg"
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { sqlStateOf } from "../../kernel/database/Statements.ts"

/** What is wrong and how to mend it, for the log, readiness and `doctor`. */
export const PREPARED_STATEMENTS_LOST =
  "prepared statements do not last: the address in SERVICE_DATABASE_URL leads to a pooler in transaction mode. Set SERVICE_DATABASE_PREPARE=false"

// Other clients of the pooler may take and return sessions meanwhile.
const ROUNDS = 3

const SESSION = "SELECT pg_backend_pid()"

const UNKNOWN_STATEMENT = "26000"

const isUnknownStatement = (error: unknown): boolean =>
  isSqlError(error) && sqlStateOf(error.reason) === UNKNOWN_STATEMENT

const open = ({ config }: PgClient.PgClient, prepare: boolean) =>
  PgConnection.make({ ...config, stream: undefined, multiplex: false, prepare })

const loses = Effect.fnUntraced(function* (sql: PgClient.PgClient) {
  const connection = yield* open(sql, true)
  const [row] = yield* connection.queryValues(SESSION)
  // A pooler announces a number of its own, so this is a session of the server, which is lent to no other connection.
  if (Number(row?.[0]) === connection.processId) return false
  const other = yield* open(sql, false)
  for (let round = 0; round < ROUNDS; round++) {
    yield* connection.queryValues(SESSION)
    // Takes the session that was returned last, so that the pooler lends another one to the transaction with the prepared statement. Outside
    // of a transaction the driver would prepare it again.
    yield* other.queryValues("BEGIN")
    yield* connection.queryValues("BEGIN", [], false)
    const isLost = yield* Effect.catch(Effect.as(connection.queryValues(SESSION), false), (error) =>
      isUnknownStatement(error) ? Effect.succeed(true) : Effect.fail(error),
    )
    if (isLost) return true
    yield* connection.queryValues("ROLLBACK", [], false)
    yield* other.queryValues("ROLLBACK")
  }
  return false
})

/**
 * Prepares a statement and runs it once more in another transaction, on connections of its own. `false` if no statements are prepared, or
 * if nothing can be said, such as while the database is down or the pooler has one session only.
 */
export const losesPreparedStatements = (sql: PgClient.PgClient): Effect.Effect<boolean> =>
  sql.config.prepare === false
    ? Effect.succeed(false)
    : loses(sql).pipe(
        Effect.scoped,
        Effect.timeout("2 seconds"),
        Effect.catchCause(() => Effect.succeed(false)),
      )
