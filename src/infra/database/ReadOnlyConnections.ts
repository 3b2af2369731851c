/**
 * Replaces connections that cannot write. A session keeps the read-only setting with which it began. Such connections
 * are closed as soon as a new one can write. Until then they stay open, because they answer reads.
 *
 * Connections to a former server are closed as soon as a new one leads to another server ({@link ServerSockets}).
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import type { Connection } from "effect/sql/SqlConnection"
import { ServerSockets } from "./sockets/ServerSockets.ts"

/** How often a new connection is tried while the database cannot write or a connection gets no response. */
const INTERVAL = "1 second"

/** How often the connections are inspected. */
const CHECK_INTERVAL = "500 millis"

/** The timeout of that, and of the replacement of one client's connections. */
const LIMIT = "2 seconds"

interface Watched {
  readonly sql: PgClient.PgClient
  /** Whether it has connections. */
  readonly isUsed: () => boolean
}

interface Watch {
  /** Records that a connection could not write. */
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

// A connection that began later than this can write, and so can those after it in the pool.
const NOW = "clock_timestamp()::text"

// Two servers never have the same. It stays the same when a standby is promoted.
const SERVER = "pg_postmaster_start_time()::text"

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
 * out the same one again. Those in a transaction are not inspected: their next change fails, which is then noticed.
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
  const sockets = yield* ServerSockets
  const clients = new Set<Watched>()
  // Whether a connection could not write, and no new one was tried since.
  let isSuspected = false
  let canWrite = true

  const askNewConnection = Effect.gen(function* () {
    const askedAt = performance.now()
    const connection = yield* PgConnection.make({ ...sql.config, stream: undefined, multiplex: false, prepare: false })
    const [row] = yield* connection.queryValues(`SELECT ${IS_READ_ONLY}, ${NOW}, ${SERVER}`)
    return { isReadOnly: row?.[0] === true, at: String(row?.[1]), server: String(row?.[2]), askedAt }
  }).pipe(Effect.scoped, Effect.timeout(LIMIT))

  const closeFormer = Effect.fnUntraced(function* (server: string, askedAt: number) {
    const closed = sockets.leadTo(server, askedAt)
    if (closed === 0) return
    yield* Effect.logWarning(
      `The database's address leads to another server; closed ${closed} connections to the former`,
    )
  })

  const replaceReadOnly = Effect.fnUntraced(function* (isReadOnly: boolean, at: string) {
    if (isReadOnly) {
      if (canWrite) yield* Effect.logWarning("The database accepts no changes; they fail until it does")
      canWrite = false
      return
    }
    isSuspected = false
    const used = [...clients].filter(({ isUsed }) => isUsed())
    yield* Effect.forEach(used, (client) => replaceConnections(client, at), { concurrency: "unbounded" })
    if (!canWrite) yield* Effect.logInfo("The database accepts changes again")
    canWrite = true
  })

  const recover = Effect.gen(function* () {
    if (!sockets.shouldAsk() && !isSuspected) return yield* Effect.sleep(CHECK_INTERVAL)
    const wasSuspected = isSuspected
    const { askedAt, at, isReadOnly, server } = yield* askNewConnection
    yield* closeFormer(server, askedAt)
    if (wasSuspected) yield* replaceReadOnly(isReadOnly, at)
    yield* Effect.sleep(INTERVAL)
  }).pipe(
    // The database is unavailable. The next check asks again.
    Effect.catch(() => Effect.sleep(INTERVAL)),
  )

  yield* Effect.forkScoped(Effect.forever(recover))
  const watch: Watch = {
    noticed: () => {
      isSuspected = true
    },
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
