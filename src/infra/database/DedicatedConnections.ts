/** Opens the dedicated connections of `kernel/database/Connections.ts`. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { AttemptEnds, Commits, HotPath } from "../../kernel/database/Connections.ts"
import { makeFairQueue } from "../../kernel/concurrency/FairQueue.ts"
import type { FairQueueBounds } from "../../kernel/concurrency/FairQueue.ts"
import type { Ask } from "../../kernel/database/Connections.ts"
import { hasCitus, isNotConnected, isReadOnly } from "../../kernel/database/Statements.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { ReadOnlyConnections } from "./ReadOnlyConnections.ts"
import { cacheNoStatements } from "./ShortLivedStatements.ts"
import { keepUp } from "./Upkeep.ts"

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
  yield* cacheNoStatements(connection.sql)
  yield* keepUp(connection.sql, () => connection.isUsed)
  return connection
})

/**
 * Runs statements on dedicated connections, each on the one with the fewest statements in flight. If the database
 * accepts no further connection, a statement runs on the pool. Inside a transaction it runs on the transaction's
 * connection.
 */
const dedicated = Effect.fnUntraced(function* (connections: number) {
  const sql = yield* PgClient.PgClient
  const { noticed } = yield* ReadOnlyConnections
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
        Effect.catch(statement(connection.sql), (error) => {
          if (isNotConnected(error)) return statement(sql)
          if (isReadOnly(error)) noticed()
          return Effect.fail(error)
        }),
        () => Effect.sync(() => void connection.inFlight--),
      )
    })
  return { ask, connections: all.length }
})

// A connection runs its statements one by one. Only with a distant database are this many in flight.
const MAX_IN_FLIGHT = 256

// The number of concurrent commits. Where a disk write takes a millisecond, half as many give half the throughput.
const COMMIT_CONNECTIONS = 8

// The maximum number of statements of an organization at a time: two for each connection, one running and one in
// flight.
const MAX_COMMITS = 2 * COMMIT_CONNECTIONS

// Citus plans each statement again and waits for a worker: on one connection all checks of a process would wait for each other.
const HOT_PATH_CONNECTIONS_ON_CITUS = 8

const hotPathConnections = (isSharded: boolean): number => (isSharded ? HOT_PATH_CONNECTIONS_ON_CITUS : 1)

// `AttemptEnds`, and the connection that runs LISTEN (`infra/database/ListenNotify.ts`).
const SINGLE_CONNECTIONS = 2

/** Runs statements outside of transactions in turn with those of other organizations. */
const inTurns = (ask: Ask, bounds: FairQueueBounds) => {
  const inTurn = makeFairQueue(bounds)
  return (organizationId: OrganizationId): Ask =>
    (statement) =>
      Effect.withFiber(({ context }) =>
        Context.getOrUndefined(context, Transaction) === undefined
          ? inTurn(organizationId, 1, ask(statement))
          : ask(statement),
      )
}

// A statement takes long on Citus. One connection stays free for the other organizations.
const leavingOneFree = (connections: number): FairQueueBounds => ({
  perKey: Math.max(1, connections - 1),
  total: 2 * connections,
})

const isSharded = Effect.flatMap(PgClient.PgClient, hasCitus)

/** {@link HotPath} on one connection, on Citus on several. */
export const hotPath = Layer.effect(
  HotPath,
  Effect.gen(function* () {
    const onCitus = yield* isSharded
    const { ask, connections } = yield* dedicated(hotPathConnections(onCitus))
    return { ask, askFor: onCitus ? inTurns(ask, leavingOneFree(connections)) : () => ask }
  }),
)

/** {@link Commits} on several connections. */
export const commits = Layer.effect(
  Commits,
  Effect.gen(function* () {
    const { ask, connections } = yield* dedicated(COMMIT_CONNECTIONS)
    const bounds = (yield* isSharded) ? leavingOneFree(connections) : { perKey: MAX_COMMITS, total: 2 * MAX_COMMITS }
    return { ask, askFor: inTurns(ask, bounds) }
  }),
)

/** {@link AttemptEnds} on one connection. */
export const attemptEnds = Layer.effect(AttemptEnds, dedicated(1))

/** All dedicated connections of a process. */
export const layer = Layer.mergeAll(hotPath, commits, attemptEnds)

/** The maximum number of connections that a process with this pool size opens. */
export const maxConnections = (poolSize: number, isSharded: boolean): number =>
  poolSize +
  Math.min(COMMIT_CONNECTIONS, poolSize) +
  Math.min(hotPathConnections(isSharded), poolSize) +
  SINGLE_CONNECTIONS
