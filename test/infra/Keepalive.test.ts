import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Option, Redacted } from "effect"
import { keepLettingGo } from "../../src/infra/database/DedicatedConnections.ts"
import { socketsTo } from "../../src/infra/database/Keepalive.ts"
import { cable } from "../support/cable.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const LOOK = 50
const LOOKS = 9

/** A client at a cable, whose only connection counts as lost after nine looks at which nothing had been heard. */
const impatient = Effect.fnUntraced(function* (look = LOOK) {
  const wire = yield* cable(Redacted.value((yield* TestDatabase).url))
  const opened: Array<unknown> = []
  const open = Option.getOrThrow(socketsTo(wire.url, { look, looks: LOOKS }))
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
  it.live("is given up when nothing is heard any more, and the next statement gets another one", () =>
    Effect.gen(function* () {
      const { opened, sql, wire } = yield* impatient()
      yield* sql`SELECT 1`
      wire.silence()
      // What was open stays silent; what is opened now works.
      wire.mend()
      const error = yield* Effect.flip(sql`SELECT 1`).pipe(Effect.timeout("10 seconds"))
      assert.strictEqual(error._tag, "SqlError")
      assert.deepStrictEqual(yield* sql`SELECT 42 AS answer`, [{ answer: 42 }])
      assert.strictEqual(opened.length, 2)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("in a transaction too is given up, whatever it had answered before", () =>
    Effect.gen(function* () {
      const { sql, wire } = yield* impatient()
      const transaction = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT 1`
          wire.silence()
          wire.mend()
          yield* sql`SELECT 2`
        }),
      )
      // Its end cannot be told to the database either, which the client takes for a defect.
      const ended = yield* Effect.exit(transaction).pipe(Effect.timeout("10 seconds"))
      assert.isTrue(Exit.isFailure(ended))
      assert.deepStrictEqual(yield* sql`SELECT 42 AS answer`, [{ answer: 42 }])
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live(
    "is kept while statements are answered, each within its time, and while it is kept busy with nothing else",
    () =>
      Effect.gen(function* () {
        const { opened, sql } = yield* impatient()
        for (let turn = 0; turn < 3; turn++) yield* sql`SELECT pg_sleep(${(LOOK * LOOKS * 0.6) / 1000})`
        const asked = yield* Effect.forkScoped(Effect.forever(Effect.andThen(sql`SELECT 1`, Effect.sleep(LOOK))))
        yield* Effect.sleep(LOOK * LOOKS * 2)
        yield* Fiber.interrupt(asked)
        assert.strictEqual(opened.length, 1)
      }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("that is shared and not used is kept, because something is asked on it", () =>
    Effect.gen(function* () {
      const { opened, sql } = yield* impatient(250)
      yield* keepLettingGo(sql)
      yield* Effect.sleep(4_000)
      assert.strictEqual(opened.length, 1)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it("goes where its URL says, as the client reads it", () => {
    const none = [
      "postgres://u@localhost:5432/db?host=%2Fvar%2Frun%2Fpostgresql",
      "postgres://u@%2Fvar%2Frun%2Fpostgresql/db",
      "postgres://u@%zz/db",
      "no url",
    ]
    for (const url of none) assert.isTrue(Option.isNone(socketsTo(url)), url)
    for (const url of ["postgres://u:p@db.example.com/db", "postgres://u@[::1]:6432/db", "postgres:///db"]) {
      assert.isTrue(Option.isSome(socketsTo(url)), url)
    }
  })
})
