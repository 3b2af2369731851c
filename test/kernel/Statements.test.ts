import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { mayHaveCommitted } from "../../src/kernel/database/Statements.ts"
import { databaseProxy } from "../support/cable.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const isUnconfirmed = (statement: Effect.Effect<unknown, SqlError>) =>
  Effect.map(Effect.exit(Effect.orDie(statement)), (exit) => Exit.isFailure(exit) && mayHaveCommitted(exit.cause))

/** A client with a separate connection. */
const clientAt = (url: Redacted.Redacted) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 }))), (services) =>
    Context.get(services, PgClient.PgClient),
  )

const separateClient = Effect.flatMap(TestDatabase, ({ url }) => clientAt(url))

describe("a failed statement", () => {
  it.live("may have been committed if its connection is terminated while it runs", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const client = yield* separateClient
      const [backend] = yield* client<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      const sleeping = yield* Effect.forkChild(isUnconfirmed(client`SELECT pg_sleep(60)`))
      const sleeps = sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${backend?.pid ?? 0} AND wait_event = 'PgSleep'`
      yield* Effect.repeat(sleeps, { until: (rows) => rows.length > 0 })
      yield* sql`SELECT pg_terminate_backend(${backend?.pid ?? 0})`
      assert.isTrue(yield* Fiber.join(sleeping))
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("was not committed if the database rejected it, cancelled it, or was not connected", () =>
    Effect.gen(function* () {
      const client = yield* separateClient
      assert.isFalse(yield* isUnconfirmed(client`SELECT 1 / 0`))
      yield* client`SET statement_timeout = 20`
      assert.isFalse(yield* isUnconfirmed(client`SELECT pg_sleep(60)`))
      const wire = yield* databaseProxy(Redacted.value((yield* TestDatabase).url))
      const remote = yield* clientAt(Redacted.make(wire.url))
      yield* remote`SELECT 1`
      wire.cut()
      // The client detects the lost connection with a delay.
      yield* Effect.sleep("200 millis")
      assert.isFalse(yield* isUnconfirmed(remote`SELECT 1`))
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})
