/** Opens the dedicated connections of `kernel/database/Connections.ts`, and releases the results that shared connections retain. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { AttemptEnds, Commits, HotPath } from "../../kernel/database/Connections.ts"
import type { Ask } from "../../kernel/database/Connections.ts"
import { isNotConnected } from "../../kernel/database/Statements.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"

/**
 * Lets go of the results that shared connections keep. The client keeps those of a connection until none of its statements is under
 * way, which may be never while requests come and come. Whoever has a connection for himself gets it in such a moment; meanwhile
 * statements take another one, or wait for it if there is no other. It also asks something, so that a connection that is not used
 * does not seem lost.
 */
export const letGoOfResults = (sql: SqlClient): Effect.Effect<void> =>
  // Without a database there are no results.
  Effect.ignore(Effect.scoped(Effect.flatMap(sql.reserve, (own) => own.executeRaw("SELECT 1", []))))

/** {@link letGoOfResults} every second, as long as the scope is open, and as soon as connections are used. */
export const keepLettingGo = (sql: SqlClient, isUsed: () => boolean = () => true) =>
  Effect.suspend(() => (isUsed() ? letGoOfResults(sql) : Effect.void)).pipe(
    Effect.delay("1 second"),
    Effect.forever,
    Effect.forkScoped,
  )

/** A connection beside the others, which is connected when it is first used. */
interface Beside {
  readonly sql: PgClient.PgClient
  /** How many statements are under way there. */
  underWay: number
  /** Whether it was ever used. From then on it stays open: who comes after a while need not wait for a new one. */
  isUsed: boolean
}

const openBeside = Effect.fnUntraced(function* (sql: PgClient.PgClient) {
  const options = { ...sql.config, maxConnections: 1, multiplex: true, multiplexConcurrency: MOST_AT_ONCE }
  const services = yield* Effect.orDie(Layer.build(PgClient.layer(options)))
  const own: Beside = { sql: Context.get(services, PgClient.PgClient), underWay: 0, isUsed: false }
  yield* keepLettingGo(own.sql, () => own.isUsed)
  return own
})

/**
 * Asks on connections beside the others: on the one where the fewest statements are under way. Where the database gives no further
 * connection it asks on the others. Who is in a transaction asks on its connection.
 */
const beside = Effect.fnUntraced(function* (connections: number) {
  const sql = yield* PgClient.PgClient
  const { maxConnections = connections }: PgClient.PgPoolConfig = sql.config
  const all = yield* Effect.replicateEffect(openBeside(sql), Math.min(connections, maxConnections))
  const ask: Ask = (statement) =>
    Effect.withFiber(({ context }) => {
      if (Context.getOrUndefined(context, Transaction) !== undefined) return statement(sql)
      const own = all.reduce((least, other) => (other.underWay < least.underWay ? other : least))
      own.underWay++
      own.isUsed = true
      return Effect.onExit(
        // Whatever else fails would fail on the others too, and may have taken its time.
        Effect.catchIf(statement(own.sql), isNotConnected, () => statement(sql)),
        () => Effect.sync(() => void own.underWay--),
      )
    })
  return { ask }
})

// A statement waits for those before it anyway. This many are under way at once only if the database is far away.
const MOST_AT_ONCE = 256

// So many are on their way to the disk together. Half as many store half as much where a disk takes a millisecond.
const COMMITTING = 8

// Those of `HotPath` and `AttemptEnds`, and the one that listens (`infra/database/ListenNotify.ts`).
const SINGLE_ONES = 3

/** {@link HotPath} on one connection. */
export const hotPath = Layer.effect(HotPath, beside(1))

/** {@link Commits} on several connections. */
export const commits = Layer.effect(Commits, beside(COMMITTING))

/** {@link AttemptEnds} on one connection. */
export const attemptEnds = Layer.effect(AttemptEnds, beside(1))

/** All dedicated connections of a process. */
export const layer = Layer.mergeAll(hotPath, commits, attemptEnds)

/** How many connections a process with this many shared ones opens at most. */
export const mostConnections = (poolSize: number): number => poolSize + Math.min(COMMITTING, poolSize) + SINGLE_ONES
