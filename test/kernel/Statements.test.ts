import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Option, Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import {
  decodedColumn,
  decodedOrFailed,
  decodedValue,
  mayHaveCommitted,
  returnedCount,
} from "../../src/kernel/database/Statements.ts"
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

describe("a decoded statement", () => {
  const numbersIn = decodedColumn("number", Schema.Int)
  const numberIn = decodedValue("number", Schema.NullOr(Schema.Int))

  it.effect("returns one column, the first value of it, or the number of rows", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const rows = sql`SELECT number::int, 'more' AS text FROM generate_series(1, 3) AS number`
      assert.deepStrictEqual(yield* numbersIn(rows), [1, 2, 3])
      assert.deepStrictEqual(yield* numberIn(rows), Option.some(1))
      assert.deepStrictEqual(yield* numberIn(sql`SELECT NULL::int AS number`), Option.none())
      assert.deepStrictEqual(yield* numberIn(sql`SELECT 1 AS number WHERE false`), Option.none())
      assert.strictEqual(yield* returnedCount(rows), 3)
    }).pipe(Effect.provide(testSql)),
  )

  it.effect("dies if a column has another type, is NULL, or is missing", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      for (const statement of [
        // A `bigint` arrives as a text.
        sql`SELECT count(*) AS number FROM generate_series(1, 3)`,
        sql`SELECT NULL::int AS number`,
        sql`SELECT 1 AS other`,
      ]) {
        assert.isTrue(Exit.hasDies(yield* Effect.exit(numbersIn(statement))))
      }
      assert.isTrue(Exit.hasDies(yield* Effect.exit(numberIn(sql`SELECT 1 AS other`))))
    }).pipe(Effect.provide(testSql)),
  )

  it.effect("fails with the error of the database where a caller answers it, but dies of a wrong row", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const decode = decodedOrFailed(Schema.Struct({ number: Schema.Int }))
      assert.isTrue(Exit.hasFails(yield* Effect.exit(decode(sql`SELECT 1 / 0 AS number`))))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(decode(sql`SELECT 'one' AS number`))))
    }).pipe(Effect.provide(testSql)),
  )
})
