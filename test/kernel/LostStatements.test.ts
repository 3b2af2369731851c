import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { mayHaveCommitted } from "../../src/kernel/database/Statements.ts"
import { cable } from "../support/cable.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const mayHave = (statement: Effect.Effect<unknown, SqlError>) =>
  Effect.map(Effect.exit(Effect.orDie(statement)), (exit) => Exit.isFailure(exit) && mayHaveCommitted(exit.cause))

/** A client with a connection of its own. */
const clientAt = (url: Redacted.Redacted) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 }))), (services) =>
    Context.get(services, PgClient.PgClient),
  )

const another = Effect.flatMap(TestDatabase, ({ url }) => clientAt(url))

describe("a statement that fails", () => {
  it.live("may have been committed if the database is shut down while it runs", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const own = yield* another
      const [backend] = yield* own<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      const asked = yield* Effect.forkChild(mayHave(own`SELECT pg_sleep(60)`))
      const sleeps = sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${backend?.pid ?? 0} AND wait_event = 'PgSleep'`
      yield* Effect.repeat(sleeps, { until: (rows) => rows.length > 0 })
      yield* sql`SELECT pg_terminate_backend(${backend?.pid ?? 0})`
      assert.isTrue(yield* Fiber.join(asked))
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("was not committed if the database refused it, cancelled it, or was never reached", () =>
    Effect.gen(function* () {
      const own = yield* another
      assert.isFalse(yield* mayHave(own`SELECT 1 / 0`))
      yield* own`SET statement_timeout = 20`
      assert.isFalse(yield* mayHave(own`SELECT pg_sleep(60)`))
      const wire = yield* cable(Redacted.value((yield* TestDatabase).url))
      const far = yield* clientAt(Redacted.make(wire.url))
      yield* far`SELECT 1`
      wire.cut()
      // The client hears of it a moment later.
      yield* Effect.sleep("200 millis")
      assert.isFalse(yield* mayHave(far`SELECT 1`))
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})
