import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { AttemptEnds, Commits, HotPath } from "../../src/kernel/database/Connections.ts"
import { attemptEnds, commits, hotPath, letGoOfResults } from "../../src/infra/database/DedicatedConnections.ts"
import { Transaction } from "../../src/kernel/database/Transactions.ts"
import { collectGarbage } from "../../src/app/StartupGc.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const AT_ONCE = 5

/** Keeps a connection busy with statements that overlap, and tells how many of the first results are still there. */
const neverIdle = Effect.fnUntraced(function* (statement: Effect.Effect<ReadonlyArray<object>, unknown>) {
  const results: Array<WeakRef<object>> = []
  const one = Effect.map(statement, (rows) => void results.push(new WeakRef(rows)))
  yield* Effect.forEach(Array.from({ length: AT_ONCE }), () => Effect.forever(one), {
    concurrency: "unbounded",
  }).pipe(Effect.forkScoped)
  const more = (count: number) =>
    Effect.suspend(() => {
      const wanted = results.length + count
      return Effect.repeat(Effect.sleep("5 millis"), { until: () => results.length >= wanted })
    })
  const kept = Effect.sync(() => {
    collectGarbage()
    return results.slice(0, 50).filter((result) => result.deref() !== undefined).length
  })
  yield* more(60)
  return { more, kept }
})

type Ask = HotPath["Service"]["ask"]

const askingBy =
  <I>(key: Context.Key<I, { readonly ask: Ask }>, connections: Layer.Layer<I, never, PgClient.PgClient>) =>
  (sql: PgClient.PgClient) =>
    Effect.map(Layer.build(Layer.fresh(connections)), (services) => Context.get(services, key)).pipe(
      Effect.provideService(PgClient.PgClient, sql),
    )
const hotPathOf = askingBy(HotPath, hotPath)
const commitsOf = askingBy(Commits, commits)
const attemptEndsOf = askingBy(AttemptEnds, attemptEnds)

/** Has `held` wait for a lock while something is done, which must not wait for it. `free` is not held up. */
const whileWaiting = Effect.fnUntraced(function* (
  sql: PgClient.PgClient,
  { free, held }: { readonly free: Ask; readonly held: Ask },
  work: Effect.Effect<unknown, unknown>,
) {
  const locked = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const lock: Parameters<Ask>[0] = (own) => own`SELECT pg_advisory_xact_lock(7)`
  const hold = Effect.andThen(Deferred.succeed(locked, undefined), Deferred.await(release))
  const holder = yield* Effect.forkScoped(sql.withTransaction(Effect.andThen(lock(sql), hold)))
  yield* Deferred.await(locked)
  const waiter = yield* Effect.forkScoped(held(lock))
  const waits = free((own) => own`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
  yield* Effect.repeat(waits, { until: (rows) => rows.length > 0 })
  yield* work
  assert.isUndefined(waiter.pollUnsafe())
  yield* Deferred.succeed(release, undefined)
  yield* Fiber.joinAll([holder, waiter])
})

describe("a connection that is never idle", () => {
  it.live("does not keep the results of its statements", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { kept, more } = yield* neverIdle(sql`SELECT pg_sleep(0.002)`)
      // If this fails, the client lets go by itself, and nobody has to make it.
      assert.isAbove(yield* kept, 0)
      yield* letGoOfResults(sql)
      yield* more(20)
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("what products ask for all day", () => {
  it.live("is answered while others wait for a lock", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* hotPathOf(sql)
      const answered = Effect.map(
        ask((own) => own<{ answer: number }>`SELECT 42 AS answer`),
        ([answer]) => assert.strictEqual(answer?.answer, 42),
      )
      yield* whileWaiting(sql, { held: (statement) => statement(sql), free: ask }, answered)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("does not keep its results either", () =>
    Effect.gen(function* () {
      const { ask } = yield* hotPathOf(yield* PgClient.PgClient)
      const { kept, more } = yield* neverIdle(ask((own) => own`SELECT pg_sleep(0.002)`))
      yield* Effect.sleep("1100 millis")
      yield* more(20)
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("is not asked again on the others if the statement fails", () =>
    Effect.gen(function* () {
      const { ask } = yield* hotPathOf(yield* PgClient.PgClient)
      let times = 0
      const failing = ask((own) => {
        times++
        return own`SELECT 1 / 0`
      })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(failing)))
      assert.strictEqual(times, 1)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("shares the others where the database gives no further connection", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const role = `limited_${randomBytes(6).toString("hex")}`
      yield* Effect.acquireRelease(sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'limited' CONNECTION LIMIT 1`), () =>
        Effect.orDie(sql.unsafe(`DROP ROLE ${role}`)),
      )
      const url = new URL(Redacted.value((yield* TestDatabase).url))
      url.username = role
      url.password = "limited"
      const services = yield* Layer.build(PgClient.layer({ url: Redacted.make(url.href), maxConnections: 1 }))
      const limited = Context.get(services, PgClient.PgClient)
      yield* limited`SELECT 1`
      const { ask } = yield* hotPathOf(limited)
      const [answer] = yield* ask((own) => own<{ role: string }>`SELECT current_user AS role`)
      assert.strictEqual(answer?.role, role)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("what attempts leave behind", () => {
  it.live("keeps nobody else waiting while it waits for a lock", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const ends = yield* attemptEndsOf(sql)
      const others = [yield* hotPathOf(sql), yield* commitsOf(sql), { ask: ((statement) => statement(sql)) as Ask }]
      const answered = Effect.forEach(others, ({ ask }) => ask((own) => own`SELECT 1`))
      yield* whileWaiting(sql, { held: ends.ask, free: (statement) => statement(sql) }, answered)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("changes that commit by themselves", () => {
  it.live("take as many connections as there are changes, and no more than the others have", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* commitsOf(sql)
      const place = ask((own) => own<{ pid: number }>`SELECT pg_backend_pid() AS pid, pg_sleep(0.05)`)
      const placesOf = (count: number) =>
        Effect.map(
          Effect.all(
            Array.from({ length: count }, () => place),
            { concurrency: "unbounded" },
          ),
          (answers) => new Set(answers.map(([answer]) => answer?.pid)).size,
        )
      assert.strictEqual(yield* placesOf(1), 1)
      assert.strictEqual(yield* placesOf(3), 3)
      const { maxConnections }: PgClient.PgPoolConfig = sql.config
      assert.strictEqual(yield* placesOf(20), maxConnections)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("are stored while one waits for a lock", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* commitsOf(sql)
      const tenMore = Effect.repeat(
        ask((own) => own`SELECT 1`),
        { times: 10 },
      )
      yield* whileWaiting(sql, { held: ask, free: (statement) => statement(sql) }, tenMore)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("open what they need and keep it", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const opened = Effect.map(
        sql<{ count: number }>`SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'changes'`,
        ([row]) => row?.count,
      )
      const services = yield* Layer.build(
        PgClient.layer({ ...sql.config, applicationName: "changes", idleTimeout: "1 second" }),
      )
      const { ask } = yield* commitsOf(Context.get(services, PgClient.PgClient))
      yield* Effect.sleep("1500 millis")
      assert.strictEqual(yield* opened, 0)
      yield* ask((own) => own`SELECT 1`)
      yield* Effect.sleep("3 seconds")
      assert.strictEqual(yield* opened, 1)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("belong to the transaction they are made in", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* commitsOf(sql)
      const place = (on: PgClient.PgClient) => on<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      const places = yield* sql.withTransaction(
        Effect.all([
          place(sql),
          Effect.provideService(ask(place), Transaction, { open: true, afterRollback: () => {} }),
        ]),
      )
      assert.strictEqual(places[1][0]?.pid, places[0][0]?.pid)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})
