/** Connections that the statements of many requests share. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Transaction } from "./Transaction.ts"

/**
 * Lets go of the results that shared connections keep. The client keeps those of a connection until none of its statements is under
 * way, which may be never while requests come and come. Whoever has a connection for himself gets it in such a moment; meanwhile
 * statements take another one, or wait for it if there is no other. It also asks something, so that a connection that is not used
 * does not seem lost.
 */
export const letGoOfResults = (sql: SqlClient): Effect.Effect<void> =>
  // Without a database there are no results.
  Effect.ignore(Effect.scoped(Effect.flatMap(sql.reserve, (own) => own.executeRaw("SELECT 1", []))))

/** {@link letGoOfResults} every second, as long as the scope is open. */
export const keepLettingGo = (sql: SqlClient) =>
  letGoOfResults(sql).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)

// A statement waits for those before it anyway. This many are under way at once only if the database is far away.
const MOST_AT_ONCE = 256

type Ask = <A>(statement: (sql: PgClient.PgClient) => Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>

// Whatever else fails would fail on the others too, and may have taken its time.
const isNotConnected = ({ reason }: SqlError): boolean => reason.operation === "connect"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const options = { ...sql.config, maxConnections: 1, multiplex: true, multiplexConcurrency: MOST_AT_ONCE }
  // It is connected when it is first used.
  const services = yield* Effect.orDie(Layer.build(PgClient.layer(options)))
  const own = Context.get(services, PgClient.PgClient)
  yield* keepLettingGo(own)
  const ask: Ask = (statement) =>
    Effect.withFiber(({ context }) =>
      Context.getOrUndefined(context, Transaction) === undefined
        ? Effect.catchIf(statement(own), isNotConnected, () => statement(sql))
        : statement(sql),
    )
  return { ask }
})

/**
 * What products ask for all day: tokens, checks, single records. These statements have a connection of their own beside the others,
 * which may be busy with listings and reports, or wait for somebody's lock: on a connection statements are answered one after the
 * other. Where the database gives no further connection they are asked on the others. Who is in a transaction asks on its
 * connection.
 */
export class HotPath extends Context.Service<HotPath, Effect.Success<typeof make>>()("keyshelf/kernel/HotPath") {
  static readonly layer = Layer.effect(HotPath, make)
}
