/**
 * Looks after the open connections of a client: releases the results that they retain, and notices if they cannot
 * write.
 */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { IS_READ_ONLY, ReadOnlyConnections } from "./ReadOnlyConnections.ts"

/**
 * Releases the results that shared connections retain. The client retains a connection's results until no statement is
 * in flight there, which under constant load may never happen. Reserving a connection waits for such a moment;
 * meanwhile statements use another connection, or wait if there is none. The query also keeps an idle connection alive.
 * Returns whether the connection is read-only; `false` if there is none.
 */
export const releaseResults = (sql: PgClient.PgClient): Effect.Effect<boolean> =>
  Effect.flatMap(sql.reserve, (reserved) => reserved.executeValues(`SELECT ${IS_READ_ONLY}`, [])).pipe(
    Effect.scoped,
    Effect.map(([row]) => row?.[0] === true),
    // If the database is unavailable, there are no results to release.
    Effect.catch(() => Effect.succeed(false)),
  )

/** Runs {@link releaseResults} every second until the scope closes, once the connections are used. */
export const keepUp = Effect.fnUntraced(function* (sql: PgClient.PgClient, isUsed: () => boolean = () => true) {
  const connections = yield* ReadOnlyConnections
  yield* connections.add({ sql, isUsed })
  yield* Effect.suspend(() => (isUsed() ? releaseResults(sql) : Effect.succeed(false))).pipe(
    Effect.tap((isReadOnly) => Effect.sync(() => isReadOnly && connections.noticed())),
    Effect.delay("1 second"),
    Effect.forever,
    Effect.forkScoped,
  )
})
