/**
 * Whether prepared statements last. A pooler in transaction mode lends a connection another session of the server for each transaction,
 * which does not have the statements that the connection prepared before: requests then fail now and then, under load most of them.
 */
import { PgConnection } from "@effect/sql-pg"
import type { PgClient } from "@effect/sql-pg"
import { Effect, Option } from "effect"
import type { Duration } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { sqlStateOf } from "../../kernel/database/Statements.ts"

/** What is wrong and how to fix it, for the log, readiness and `doctor`. */
export const PREPARED_STATEMENTS_LOST =
  "prepared statements do not last: the address in SERVICE_DATABASE_URL leads to a pooler in transaction mode. Set SERVICE_DATABASE_PREPARE=false"

// Other clients of the pooler take and return sessions meanwhile.
const ROUNDS = 20

const open = ({ config }: PgClient.PgClient, prepare: boolean) =>
  PgConnection.make({ ...config, stream: undefined, multiplex: false, prepare })

type Connection = Effect.Success<ReturnType<typeof open>>

const unprepared = (connection: Connection, statement: string) => connection.queryValues(statement, [], false)

const sessionOf = (connection: Connection) =>
  Effect.map(unprepared(connection, "SELECT pg_backend_pid()"), ([row]) => Number(row?.[0]))

/** Begins a transaction, and returns the session that was lent for it. */
const begin = (connection: Connection) => Effect.andThen(unprepared(connection, "BEGIN"), sessionOf(connection))

/**
 * Whether a statement that returns a text is the one that this connection prepared. Another client of the pooler may have prepared
 * something else under the same name. Fails if the server does not answer.
 */
const isOwn = (connection: Connection, text: string) =>
  connection.queryValues(`SELECT '${text}'`).pipe(
    Effect.map(([row]) => row?.[0] === text),
    Effect.catch((error) =>
      isSqlError(error) && sqlStateOf(error.reason) !== "" ? Effect.succeed(false) : Effect.fail(error),
    ),
  )

/** Prepares a statement in a session, and runs it in another one. Returns none if the pooler lent the same session again. */
const attempt = Effect.fnUntraced(function* (connection: Connection, other: Connection) {
  const text = randomUUID()
  const first = yield* begin(connection)
  if (!(yield* isOwn(connection, text))) return Option.some(true)
  yield* unprepared(connection, "COMMIT")
  // Takes the session that was returned last, so that the pooler lends another one.
  yield* begin(other)
  const second = yield* begin(connection)
  // Outside of a transaction the driver would prepare it again.
  const isLost = first === second ? Option.none<boolean>() : Option.some(!(yield* isOwn(connection, text)))
  if (Option.contains(isLost, true)) return isLost
  yield* unprepared(connection, "ROLLBACK")
  yield* unprepared(other, "ROLLBACK")
  return isLost
})

const loses = Effect.fnUntraced(function* (sql: PgClient.PgClient) {
  const connection = yield* open(sql, true)
  // A pooler announces a number of its own, so this is a session of the server, which is lent to no other connection.
  if ((yield* sessionOf(connection)) === connection.processId) return Option.some(false)
  const other = yield* open(sql, false)
  for (let round = 0; round < ROUNDS; round++) {
    const isLost = yield* attempt(connection, other)
    if (Option.isSome(isLost)) return isLost
  }
  return Option.none<boolean>()
})

/**
 * Prepares a statement and runs it once more in another transaction, on connections of its own. None if the result is uncertain: the
 * database is down, slower than the timeout, or the pooler has only one session.
 */
export const losesPreparedStatements = (
  sql: PgClient.PgClient,
  timeout: Duration.Input,
): Effect.Effect<Option.Option<boolean>> =>
  sql.config.prepare === false
    ? Effect.succeedSome(false)
    : loses(sql).pipe(
        Effect.scoped,
        Effect.timeout(timeout),
        Effect.catchCause(() => Effect.succeedNone),
      )
