import { PgClient, PgConnection } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer, Option, Queue, Redacted, References, Schedule } from "effect"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import * as DatabaseTransactions from "../../src/infra/database/Transactions.ts"
import { layerFrom } from "../../src/infra/database/ListenNotify.ts"
import type { SignalOptions } from "../../src/infra/database/ListenNotify.ts"
import { databaseProxy } from "../support/cable.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

/** Creates the signals of a new node on the same database. */
const node = (options: Partial<SignalOptions> = {}) =>
  Effect.map(Layer.build(layerFrom({ listenUrl: Option.none(), ...options })), (built) => Context.get(built, Signals))

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(
    Effect.flatMap((holds) => (holds ? Effect.void : Effect.fail("not yet"))),
    Effect.retry(Schedule.spaced("5 millis")),
    Effect.timeout("20 seconds"),
  )

/** Creates a listening node that waits for events. */
const listeningNode = Effect.fnUntraced(function* (options: Partial<SignalOptions> = {}) {
  const signals = yield* node(options)
  const next = yield* signals.subscribe("events")
  yield* until(signals.listening)
  // Connecting wakes all waiters once.
  yield* next
  return { signals, next }
})

layer(
  DatabaseTransactions.layer.pipe(
    Layer.provideMerge(testSql),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error")),
  ),
  { excludeTestServices: true },
)("signals between nodes", (it) => {
  it.effect("a signal wakes the waiters of its topic on all nodes", () =>
    Effect.gen(function* () {
      const { next, signals } = yield* listeningNode()
      const webhooks = yield* (yield* signals.subscribe("webhooks")).pipe(Effect.forkChild)
      const other = yield* node()
      yield* other.notify("events")
      yield* next
      yield* signals.notify("events")
      yield* next
      assert.isUndefined(webhooks.pollUnsafe())
    }),
  )

  it.effect("a signal between two waits is not lost, and several signals wake once", () =>
    Effect.gen(function* () {
      const signals = yield* node()
      const next = yield* signals.subscribe("events")
      yield* signals.notify("events")
      yield* signals.notify("events")
      yield* next
      const second = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      assert.isUndefined(second.pollUnsafe())
      yield* signals.notify("events")
      yield* Fiber.join(second)
    }),
  )

  it.effect("a signal within a transaction is sent on commit and dropped on rollback", () =>
    Effect.gen(function* () {
      const signals = yield* node()
      const transactions = yield* Transactions
      const waiting = yield* Effect.forkChild(yield* signals.subscribe("events"))
      yield* Effect.flip(transactions.run(Effect.andThen(signals.notify("events"), Effect.fail("no"))))
      yield* transactions.run(
        Effect.gen(function* () {
          yield* signals.notify("events")
          yield* Effect.yieldNow
          assert.isUndefined(waiting.pollUnsafe())
        }),
      )
      yield* Fiber.join(waiting)
    }),
  )

  it.effect("signals are coalesced to one notification per 20 ms", () =>
    Effect.gen(function* () {
      const signals = yield* node()
      const { url } = yield* TestDatabase
      const connection = yield* PgConnection.make({ url })
      const heard = yield* connection.listen("keyshelf_signals")
      const begin = performance.now()
      for (let round = 0; round < 200; round++) {
        yield* Effect.replicateEffect(signals.notify("events"), 50)
        yield* Effect.sleep("1 millis")
      }
      const elapsed = performance.now() - begin
      yield* Queue.take(heard)
      const more = yield* Queue.clear(heard)
      assert.isAtMost(more.length, Math.ceil(elapsed / 20))
      assert.isAbove(more.length, 0)
    }),
  )

  it.effect("a terminated listener reconnects and then wakes all waiters", () =>
    Effect.gen(function* () {
      const { next, signals } = yield* listeningNode()
      const sql = yield* PgClient.PgClient
      const listeners = sql<{ pid: number }>`
        SELECT pid FROM pg_stat_activity WHERE application_name = 'keyshelf listener' AND datname = current_database()`
      const before = yield* listeners
      assert.isAbove(before.length, 0)
      for (const { pid } of before) yield* sql`SELECT pg_terminate_backend(${pid})`
      yield* next
      yield* until(signals.listening)
      const after = (yield* listeners).map(({ pid }) => pid)
      assert.notIncludeMembers(
        after,
        before.map(({ pid }) => pid),
      )
      const other = yield* node()
      yield* Effect.forkChild(Effect.repeat(other.notify("events"), Schedule.spaced("50 millis")))
      yield* next
    }),
  )

  it.effect("a silent listening connection is detected and replaced", () =>
    Effect.gen(function* () {
      const wire = yield* databaseProxy(Redacted.value((yield* TestDatabase).url))
      const { next, signals } = yield* listeningNode({
        listenUrl: Option.some(Redacted.make(wire.url)),
        checkInterval: Duration.millis(50),
        checkLimit: Duration.millis(500),
      })
      wire.silence()
      // The silent connection stays silent; new ones work.
      wire.mend()
      yield* until(Effect.map(signals.listening, (arriving) => !arriving))
      yield* until(signals.listening)
      yield* next
    }),
  )

  it.effect("signals wake local waiters even if the listener cannot connect", () =>
    Effect.gen(function* () {
      const signals = yield* node({ listenUrl: Option.some(Redacted.make("postgres://nobody@127.0.0.1:1/none")) })
      const next = yield* signals.subscribe("webhooks")
      yield* signals.notify("webhooks")
      yield* next
      assert.isFalse(yield* signals.listening)
    }),
  )
})
