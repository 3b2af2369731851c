/**
 * Replaces connections that cannot write. A session keeps the read-only setting with which it began, and after a
 * failover a connection may still lead to the former primary. Such connections are closed as soon as a new one can
 * write. Until then they stay open, because they answer reads.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Effect, Latch, Layer } from "effect"
import type { Scope } from "effect"
import type { Connection } from "effect/sql/SqlConnection"

/** How often a new connection is tried while the database cannot write. */
const INTERVAL = "1 second"

/** How long that may take, and how long the replacement of one client's connections. */
const LIMIT = "2 seconds"

interface Watched {
  readonly sql: PgClient.PgClient
  /** Whether it has connections. */
  readonly isUsed: () => boolean
}

interface Watch {
  /** Takes note that a connection could not write. */
  readonly noticed: () => void
  /** Whether the database accepts changes, as far as is known. */
  readonly canWrite: () => boolean
  /** Looks after a client's connections until the scope closes. */
  readonly add: (watched: Watched) => Effect.Effect<void, never, Scope.Scope>
}

/** The watch over all connections of this process. Without its layer nothing is replaced. */
export const ReadOnlyConnections = Context.Reference<Watch>("keyshelf.reference/infra/ReadOnlyConnections", {
  defaultValue: () => ({ noticed: () => undefined, canWrite: () => true, add: () => Effect.void }),
})

/** Whether transactions of a session cannot write. Also true on a standby. */
export const IS_READ_ONLY = "current_setting('transaction_read_only')::boolean"

// A connection that began later than this needs no replacement, nor do those behind it in the pool.
const NOW = "clock_timestamp()::text"

const inspect = (connection: Connection, since: string) =>
  Effect.map(
    connection.executeValues(
      `SELECT ${IS_READ_ONLY}, pg_backend_pid(),
        (SELECT backend_start >= $1::timestamptz FROM pg_stat_activity WHERE pid = pg_backend_pid())`,
      [since],
    ),
    ([row]) => ({ isReadOnly: row?.[0] === true, pid: Number(row?.[1]), isNew: row?.[2] === true }),
  )

// Ends the session on the server, so that the pool opens another one. The connection is reserved, so that no other
// statement is lost with it. The response is the end of the connection, which is an error.
const close = (connection: Connection) =>
  Effect.ignore(connection.executeRaw("SELECT pg_terminate_backend(pg_backend_pid())", []))

/**
 * Closes the read-only connections of a client. Each is reserved until all are inspected, because the pool would hand
 * out the same one again. Those in a transaction are not seen: their next change fails, and is noticed.
 */
const replaceConnections = ({ sql }: Watched, since: string) =>
  Effect.gen(function* () {
    const { maxConnections = 1 }: PgClient.PgPoolConfig = sql.config
    const seen = new Set<number>()
    for (let count = 0; count < maxConnections; count++) {
      const connection = yield* sql.reserve
      const { isNew, isReadOnly, pid } = yield* inspect(connection, since)
      // A transaction pooler may lend the same session to several connections.
      if (seen.has(pid)) return
      seen.add(pid)
      if (isReadOnly) yield* close(connection)
      else if (isNew) return
    }
  }).pipe(Effect.scoped, Effect.timeout(LIMIT), Effect.ignore)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const clients = new Set<Watched>()
  const suspected = Latch.makeUnsafe(false)
  let canWrite = true

  const askNewConnection = Effect.gen(function* () {
    const connection = yield* PgConnection.make({ ...sql.config, multiplex: false, prepare: false })
    const [row] = yield* connection.queryValues(`SELECT ${IS_READ_ONLY}, ${NOW}`)
    return { isReadOnly: row?.[0] === true, at: String(row?.[1]) }
  }).pipe(Effect.scoped, Effect.timeout(LIMIT))

  const recover = Effect.gen(function* () {
    yield* suspected.await
    suspected.closeUnsafe()
    const { at, isReadOnly } = yield* askNewConnection
    if (isReadOnly) {
      suspected.openUnsafe()
      if (canWrite) yield* Effect.logWarning("The database accepts no changes; they fail until it does")
      canWrite = false
      return
    }
    const used = [...clients].filter(({ isUsed }) => isUsed())
    yield* Effect.forEach(used, (client) => replaceConnections(client, at), { concurrency: "unbounded" })
    if (!canWrite) yield* Effect.logInfo("The database accepts changes again")
    canWrite = true
  }).pipe(
    // The database is away. The connections are inspected once it is back.
    Effect.catch(() => Effect.sync(() => void suspected.openUnsafe())),
    Effect.andThen(Effect.sleep(INTERVAL)),
  )

  yield* Effect.forkScoped(Effect.forever(recover))
  const watch: Watch = {
    noticed: () => void suspected.openUnsafe(),
    canWrite: () => canWrite,
    add: (watched) =>
      Effect.acquireRelease(
        Effect.sync(() => void clients.add(watched)),
        () => Effect.sync(() => void clients.delete(watched)),
      ),
  }
  return watch
})

/** Replaces connections that cannot write, of all clients that are added. */
export const layer = Layer.effect(ReadOnlyConnections, make)
