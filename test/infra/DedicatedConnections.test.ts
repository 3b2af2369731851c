import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { AttemptEnds, Commits, HotPath } from "../../src/kernel/database/Connections.ts"
import { attemptEnds, commits, hotPath } from "../../src/infra/database/DedicatedConnections.ts"
import { releaseResults } from "../../src/infra/database/Upkeep.ts"
import { hasCitus } from "../../src/kernel/database/Statements.ts"
import { Transaction } from "../../src/kernel/database/Transactions.ts"
import { collectGarbage } from "../../src/app/StartupGc.ts"
import { nameCitus } from "../support/Cluster.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const CONCURRENCY = 5

/**
 * Keeps a connection busy with overlapping statements. `kept` counts how many of the first results are still in memory.
 */
const neverIdle = Effect.fnUntraced(function* (statement: Effect.Effect<ReadonlyArray<object>, unknown>) {
  const results: Array<WeakRef<object>> = []
  const run = Effect.map(statement, (rows) => void results.push(new WeakRef(rows)))
  yield* Effect.forEach(Array.from({ length: CONCURRENCY }), () => Effect.forever(run), {
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

const serviceOn =
  <I, S extends { readonly ask: Ask }>(key: Context.Key<I, S>, connections: Layer.Layer<I, never, PgClient.PgClient>) =>
  (sql: PgClient.PgClient) =>
    Effect.map(Layer.build(Layer.fresh(connections)), (services) => Context.get(services, key)).pipe(
      Effect.provideService(PgClient.PgClient, sql),
    )
const hotPathOf = serviceOn(HotPath, hotPath)
const commitsOf = serviceOn(Commits, commits)
const attemptEndsOf = serviceOn(AttemptEnds, attemptEnds)

/** Runs `work` while a statement of `blocked` waits for a lock. `free` observes the wait on other connections. */
const whileWaiting = Effect.fnUntraced(function* (
  sql: PgClient.PgClient,
  { blocked, free }: { readonly blocked: Ask; readonly free: Ask },
  work: Effect.Effect<unknown, unknown>,
) {
  const locked = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const lock: Parameters<Ask>[0] = (client) => client`SELECT pg_advisory_xact_lock(7)`
  const hold = Effect.andThen(Deferred.succeed(locked, undefined), Deferred.await(release))
  const holder = yield* Effect.forkScoped(sql.withTransaction(Effect.andThen(lock(sql), hold)))
  yield* Deferred.await(locked)
  const waiter = yield* Effect.forkScoped(blocked(lock))
  const waits = free((client) => client`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
  yield* Effect.repeat(waits, { until: (rows) => rows.length > 0 })
  yield* work
  assert.isUndefined(waiter.pollUnsafe())
  yield* Deferred.succeed(release, undefined)
  yield* Fiber.joinAll([holder, waiter])
})

/** Returns a function that counts the connections which this many statements use at a time. */
const connectionsOf = (ask: Ask) => (statements: number) =>
  Effect.map(
    Effect.all(
      Array.from({ length: statements }, () =>
        ask((client) => client<{ pid: number }>`SELECT pg_backend_pid() AS pid, pg_sleep(0.05)`),
      ),
      { concurrency: "unbounded" },
    ),
    (responses) => new Set(responses.map(([response]) => response?.pid)).size,
  )

/** Another pool of a database that has Citus, or says so from now on. */
const onCitusAs = Effect.fnUntraced(function* (sql: PgClient.PgClient) {
  if (!(yield* hasCitus(sql))) yield* sql.unsafe(nameCitus("13.2-1"))
  const services = yield* Layer.build(Layer.fresh(PgClient.layer(sql.config)))
  return Context.get(services, PgClient.PgClient)
})

describe("a shared connection that is never idle", () => {
  it.live("releases the results of its statements", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { kept, more } = yield* neverIdle(sql`SELECT pg_sleep(0.002)`)
      // If this fails, the client releases results itself, and `releaseResults` is no longer needed.
      assert.isAbove(yield* kept, 0)
      yield* releaseResults(sql)
      yield* more(20)
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("the connection of frequent requests", () => {
  it.live("runs a statement while the pool waits for a lock", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* hotPathOf(sql)
      const answered = Effect.map(
        ask((client) => client<{ answer: number }>`SELECT 42 AS answer`),
        ([response]) => assert.strictEqual(response?.answer, 42),
      )
      yield* whileWaiting(sql, { blocked: (statement) => statement(sql), free: ask }, answered)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("is one; on Citus they are several, because each statement waits for a worker", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const onCitus = yield* hasCitus(sql)
      const { ask } = yield* hotPathOf(sql)
      assert.strictEqual(yield* connectionsOf(ask)(3), onCitus ? 3 : 1)
      const sharded = yield* hotPathOf(yield* onCitusAs(sql))
      assert.strictEqual(yield* connectionsOf(sharded.ask)(3), 3)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("releases its results within about a second", () =>
    Effect.gen(function* () {
      const { ask } = yield* hotPathOf(yield* PgClient.PgClient)
      const { kept, more } = yield* neverIdle(ask((client) => client`SELECT pg_sleep(0.002)`))
      yield* Effect.sleep("1100 millis")
      yield* more(20)
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("does not retry a failed statement on the pool", () =>
    Effect.gen(function* () {
      const { ask } = yield* hotPathOf(yield* PgClient.PgClient)
      let times = 0
      const failing = ask((client) => {
        times++
        return client`SELECT 1 / 0`
      })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(failing)))
      assert.strictEqual(times, 1)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("falls back to the pool if the database accepts no further connection", () =>
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
      const [response] = yield* ask((client) => client<{ role: string }>`SELECT current_user AS role`)
      assert.strictEqual(response?.role, role)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("connections that several organizations share on Citus", () => {
  it.live("do not delay one whose neighbour has more statements waiting than there are connections", () =>
    Effect.gen(function* () {
      const sql = yield* onCitusAs(yield* PgClient.PgClient)
      for (const { askFor } of [yield* hotPathOf(sql), yield* commitsOf(sql)]) {
        const many: Ask = (statement) =>
          Effect.map(
            Effect.all(
              Array.from({ length: 20 }, () => askFor(organizationIdOf("busy"))(statement)),
              { concurrency: "unbounded" },
            ),
            ([first]) => first!,
          )
        const answered = askFor(organizationIdOf("quiet"))((client) => client`SELECT 1`)
        yield* whileWaiting(sql, { blocked: many, free: (statement) => statement(sql) }, answered)
      }
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("the connection of webhook attempts", () => {
  it.live("does not delay other connections while it waits for a lock", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const ends = yield* attemptEndsOf(sql)
      const others = [yield* hotPathOf(sql), yield* commitsOf(sql), { ask: ((statement) => statement(sql)) as Ask }]
      const answered = Effect.forEach(others, ({ ask }) => ask((client) => client`SELECT 1`))
      yield* whileWaiting(sql, { blocked: ends.ask, free: (statement) => statement(sql) }, answered)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})

describe("the connections of single-statement changes", () => {
  it.live("are as many as the concurrent changes, up to the size of the pool", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* commitsOf(sql)
      const connectionsFor = connectionsOf(ask)
      assert.strictEqual(yield* connectionsFor(1), 1)
      assert.strictEqual(yield* connectionsFor(3), 3)
      const { maxConnections }: PgClient.PgPoolConfig = sql.config
      assert.strictEqual(yield* connectionsFor(20), maxConnections)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("run other changes while one waits for a lock", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* commitsOf(sql)
      const tenMore = Effect.repeat(
        ask((client) => client`SELECT 1`),
        { times: 10 },
      )
      yield* whileWaiting(sql, { blocked: ask, free: (statement) => statement(sql) }, tenMore)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("open at their first use and then stay open", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const openFor = (seconds: number) =>
        Effect.map(
          sql<{ count: number }>`
            SELECT count(*)::int AS count FROM pg_stat_activity
            WHERE application_name = 'changes' AND datname = current_database()
              AND backend_start <= clock_timestamp() - make_interval(secs => ${seconds})`,
          ([row]) => row?.count,
        )
      const services = yield* Layer.build(
        PgClient.layer({ ...sql.config, applicationName: "changes", idleTimeout: "1 second" }),
      )
      const { ask } = yield* commitsOf(Context.get(services, PgClient.PgClient))
      // The pool is asked whether the database has Citus, and then closes its connection.
      yield* Effect.repeat(openFor(0), { until: (count) => count === 0 })
      yield* ask((client) => client`SELECT 1`)
      // Where the machine is busy, a connection may be closed once and opened again.
      yield* Effect.repeat(openFor(3), { until: (count) => count === 1 })
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )

  it.live("are not used inside a transaction, whose connection runs the change", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { ask } = yield* commitsOf(sql)
      const backend = (client: PgClient.PgClient) => client<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      const backends = yield* sql.withTransaction(
        Effect.all([
          backend(sql),
          Effect.provideService(ask(backend), Transaction, { open: true, afterRollback: () => {} }),
        ]),
      )
      assert.strictEqual(backends[1][0]?.pid, backends[0][0]?.pid)
    }).pipe(Effect.scoped, Effect.provide(testSql)),
  )
})
