/** Dedicated connections that the statements of many requests share. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isNotConnected } from "./Sql.ts"
import { Transaction } from "./Transaction.ts"

/**
 * Releases the results that shared connections retain. The client retains a connection's results until no statement is
 * in flight there, which under constant load may never happen. Reserving a connection waits for such a moment;
 * meanwhile statements use another connection, or wait if there is none. The query also keeps an idle connection alive.
 */
export const letGoOfResults = (sql: SqlClient): Effect.Effect<void> =>
  // If the database is unavailable, there are no results to release.
  Effect.ignore(Effect.scoped(Effect.flatMap(sql.reserve, (reserved) => reserved.executeRaw("SELECT 1", []))))

/** Runs {@link letGoOfResults} every second until the scope closes, once the connections are used. */
export const keepLettingGo = (sql: SqlClient, isUsed: () => boolean = () => true) =>
  Effect.suspend(() => (isUsed() ? letGoOfResults(sql) : Effect.void)).pipe(
    Effect.delay("1 second"),
    Effect.forever,
    Effect.forkScoped,
  )

type Ask = <A>(statement: (sql: PgClient.PgClient) => Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>

/** A dedicated connection, opened at its first use. */
interface Dedicated {
  readonly sql: PgClient.PgClient
  /** The number of statements in flight. */
  inFlight: number
  /** Whether it was ever used. It then stays open, so that later statements need not wait for a new connection. */
  isUsed: boolean
}

const openDedicated = Effect.fnUntraced(function* (sql: PgClient.PgClient) {
  const options = { ...sql.config, maxConnections: 1, multiplex: true, multiplexConcurrency: MAX_IN_FLIGHT }
  const services = yield* Effect.orDie(Layer.build(PgClient.layer(options)))
  const connection: Dedicated = { sql: Context.get(services, PgClient.PgClient), inFlight: 0, isUsed: false }
  yield* keepLettingGo(connection.sql, () => connection.isUsed)
  return connection
})

/**
 * Runs statements on dedicated connections, each on the one with the fewest statements in flight. If the database
 * accepts no further connection, a statement runs on the pool. Inside a transaction it runs on the transaction's
 * connection.
 */
const dedicated = Effect.fnUntraced(function* (connections: number) {
  const sql = yield* PgClient.PgClient
  const { maxConnections = connections }: PgClient.PgPoolConfig = sql.config
  const all = yield* Effect.replicateEffect(openDedicated(sql), Math.min(connections, maxConnections))
  const ask: Ask = (statement) =>
    Effect.withFiber(({ context }) => {
      if (Context.getOrUndefined(context, Transaction) !== undefined) return statement(sql)
      const connection = all.reduce((least, candidate) => (candidate.inFlight < least.inFlight ? candidate : least))
      connection.inFlight++
      connection.isUsed = true
      return Effect.onExit(
        // Other errors are not retried: they would fail on the pool too, possibly after a long time.
        Effect.catchIf(statement(connection.sql), isNotConnected, () => statement(sql)),
        () => Effect.sync(() => void connection.inFlight--),
      )
    })
  return { ask }
})

// A connection runs its statements one by one. Only with a distant database are this many in flight.
const MAX_IN_FLIGHT = 256

/**
 * Runs the statements of frequent requests: tokens, checks, single records. A connection runs its statements one after
 * the other, and those of the pool may be busy with lists or wait for locks. Hence a dedicated one.
 */
export class HotPath extends Context.Service<HotPath, { readonly ask: Ask }>()("keyshelf/kernel/HotPath") {
  static readonly layer = Layer.effect(HotPath, dedicated(1))
}

// The number of concurrent commits. Where a disk write takes a millisecond, half as many give half the throughput.
const COMMIT_CONNECTIONS = 8

// `HotPath`, `AttemptEnds`, and the connection that runs LISTEN (`runtime/Signals.ts`).
const SINGLE_CONNECTIONS = 3

/** The maximum number of connections that a process with this pool size opens. */
export const mostConnections = (poolSize: number): number =>
  poolSize + Math.min(COMMIT_CONNECTIONS, poolSize) + SINGLE_CONNECTIONS

/**
 * Runs changes that are a single, self-committing statement, and the reads they need. On one connection each change
 * would wait for the disk writes of those before it; several connections share a disk write.
 */
export class Commits extends Context.Service<Commits, { readonly ask: Ask }>()("keyshelf/kernel/Commits") {
  static readonly layer = Layer.effect(Commits, dedicated(COMMIT_CONNECTIONS))
}

/**
 * Stores the results of webhook attempts, one statement after another. They may wait for the lock of an endpoint that
 * is being changed, so the connection is not shared with other work.
 */
export class AttemptEnds extends Context.Service<AttemptEnds, { readonly ask: Ask }>()("keyshelf/kernel/AttemptEnds") {
  static readonly layer = Layer.effect(AttemptEnds, dedicated(1))
}
