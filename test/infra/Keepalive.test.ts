import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Option, Redacted } from "effect"
import { socketsTo } from "../../src/infra/database/sockets/Keepalive.ts"
import { keepUp } from "../../src/infra/database/Upkeep.ts"
import { databaseProxy } from "../support/cable.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const LOOK = 50
const LOOKS = 9

/** Creates a client with one connection, which counts as lost after nine checks without received data. */
const clientWithShortLimit = Effect.fnUntraced(function* (look = LOOK) {
  const wire = yield* databaseProxy(Redacted.value((yield* TestDatabase).url))
  const opened: Array<unknown> = []
  const open = Option.getOrThrow(socketsTo(wire.url, { intervalMs: look, checks: LOOKS }))
  const stream = () => {
    const socket = open()
    opened.push(socket)
    return socket
  }
  const services = yield* Layer.build(
    PgClient.layer({ url: Redacted.make(wire.url), stream, multiplex: true, maxConnections: 1 }),
  )
  return { wire, opened, sql: Context.get(services, PgClient.PgClient) }
})

describe("a connection to the database", () => {
  it.live("a silent connection is closed, and the next statement uses a new one", () =>
    Effect.gen(function* () {
      const { opened, sql, wire } = yield* clientWithShortLimit()
      yield* sql`SELECT 1`
      wire.silence()
      // Open connections stay silent; new ones work.
      wire.mend()
      const error = yield* Effect.flip(sql`SELECT 1`).pipe(Effect.timeout("10 seconds"))
      assert.strictEqual(error._tag, "SqlError")
      assert.deepStrictEqual(yield* sql`SELECT 42 AS answer`, [{ answer: 42 }])
      assert.strictEqual(opened.length, 2)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("a connection that falls silent within a transaction is closed", () =>
    Effect.gen(function* () {
      const { sql, wire } = yield* clientWithShortLimit()
      const transaction = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT 1`
          wire.silence()
          wire.mend()
          yield* sql`SELECT 2`
        }),
      )
      // The rollback cannot be sent either, which the client reports as a defect.
      const ended = yield* Effect.exit(transaction).pipe(Effect.timeout("10 seconds"))
      assert.isTrue(Exit.isFailure(ended))
      assert.deepStrictEqual(yield* sql`SELECT 42 AS answer`, [{ answer: 42 }])
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("a connection stays open during slow statements and during many fast ones", () =>
    Effect.gen(function* () {
      const { opened, sql } = yield* clientWithShortLimit()
      for (let turn = 0; turn < 3; turn++) yield* sql`SELECT pg_sleep(${(LOOK * LOOKS * 0.6) / 1000})`
      const polling = yield* Effect.forkScoped(Effect.forever(Effect.andThen(sql`SELECT 1`, Effect.sleep(LOOK))))
      yield* Effect.sleep(LOOK * LOOKS * 2)
      yield* Fiber.interrupt(polling)
      assert.strictEqual(opened.length, 1)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("an idle shared connection stays open, because the release statement keeps it active", () =>
    Effect.gen(function* () {
      const { opened, sql } = yield* clientWithShortLimit(250)
      yield* keepUp(sql)
      yield* Effect.sleep(4_000)
      assert.strictEqual(opened.length, 1)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it("sockets are opened for TCP URLs only, parsed as the client does", () => {
    const unsupported = [
      "postgres://u@localhost:5432/db?host=%2Fvar%2Frun%2Fpostgresql",
      "postgres://u@%2Fvar%2Frun%2Fpostgresql/db",
      "postgres://u@%zz/db",
      "not a url",
    ]
    for (const url of unsupported) assert.isTrue(Option.isNone(socketsTo(url)), url)
    for (const url of ["postgres://u:p@db.example.com/db", "postgres://u@[::1]:6432/db", "postgres:///db"]) {
      assert.isTrue(Option.isSome(socketsTo(url)), url)
    }
  })
})
