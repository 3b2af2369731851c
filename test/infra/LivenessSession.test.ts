import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Option, Redacted, References, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { layerFrom } from "../../src/infra/database/LivenessSession.ts"
import type { LivenessOptions } from "../../src/infra/database/LivenessSession.ts"
import { Liveness } from "../../src/kernel/ports/Liveness.ts"
import { applicationNameOf, NodeId } from "../../src/kernel/ports/NodeId.ts"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { databaseProxy } from "../support/cable.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

/** A node, and whether it receives signals. */
const node = Effect.fnUntraced(function* (options: Partial<LivenessOptions> = {}) {
  const nodeId = randomUUID()
  const state = { listening: false }
  const signals = Signals.of({
    notify: () => Effect.void,
    subscribe: () => Effect.succeed(Effect.never),
    listening: Effect.sync(() => state.listening),
  })
  const built = yield* Layer.build(
    layerFrom({
      directUrl: Option.none(),
      isPooled: true,
      checkInterval: Duration.millis(20),
      renewalInterval: Duration.millis(100),
      ...options,
    }),
  ).pipe(Effect.provideService(Signals, signals), Effect.provideService(NodeId, nodeId))
  const { id } = Context.get(built, Liveness)
  const idWhere = (accepts: (id: string | null) => boolean) =>
    id.pipe(
      Effect.flatMap((current) => (accepts(current) ? Effect.succeed(current) : Effect.fail("not yet"))),
      Effect.retry(Schedule.spaced("5 millis")),
      Effect.timeout("20 seconds"),
    )
  const opened = Effect.map(
    idWhere((current) => current !== null),
    String,
  )
  return { nodeId, state, id, idWhere, opened }
})

const backendsOf = Effect.fnUntraced(function* (id: string) {
  const sql = yield* PgClient.PgClient
  return yield* sql<{ pid: number; state: string; hasSnapshot: boolean; began: Date }>`
    SELECT pid, state, (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AS "hasSnapshot", xact_start AS began
    FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${applicationNameOf(id)}`
})

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(
    Effect.flatMap((holds) => (holds ? Effect.void : Effect.fail("not yet"))),
    Effect.retry(Schedule.spaced("5 millis")),
    Effect.timeout("20 seconds"),
  )

const isIdle = (id: string) => Effect.map(backendsOf(id), ([backend]) => backend?.state === "idle in transaction")

layer(testSql.pipe(Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error"))), {
  excludeTestServices: true,
})("the liveness session of a node behind a pooler", (it) => {
  it.effect("is one connection in a transaction that the database shows under its id, and that holds no snapshot", () =>
    Effect.gen(function* () {
      const { nodeId, opened } = yield* node()
      const id = yield* opened
      assert.notStrictEqual(id, nodeId)
      // It is sampled between two checks.
      yield* until(
        Effect.map(
          backendsOf(id),
          (backends) =>
            backends.length === 1 &&
            backends.every(({ hasSnapshot, state }) => state === "idle in transaction" && !hasSnapshot),
        ),
      )
    }),
  )

  it.effect("renews its transaction and keeps its id, because a pooler waits for transactions to end", () =>
    Effect.gen(function* () {
      const { id: current, opened } = yield* node()
      const id = yield* opened
      yield* until(isIdle(id))
      const [first] = yield* backendsOf(id)
      yield* until(
        Effect.map(
          backendsOf(id),
          ([backend]) => backend !== undefined && backend.began > (first?.began ?? backend.began),
        ),
      )
      const [later] = yield* backendsOf(id)
      assert.strictEqual(later?.pid, first?.pid)
      assert.strictEqual(yield* current, id)
    }),
  )

  it.effect("a session that the database ends is no sign of life any more, and the next has another id", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { idWhere, opened } = yield* node()
      const id = yield* opened
      yield* until(isIdle(id))
      yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ${applicationNameOf(id)}`
      const next = String(yield* idWhere((current) => current !== null && current !== id))
      assert.deepStrictEqual(yield* backendsOf(id), [])
      assert.strictEqual((yield* backendsOf(next)).length, 1)
    }),
  )

  it.effect("connects to the direct address, and through the pool while that is unreachable", () =>
    Effect.gen(function* () {
      const wire = yield* databaseProxy(Redacted.value((yield* TestDatabase).url))
      const direct = yield* node({ directUrl: Option.some(Redacted.make(wire.url)) })
      const id = yield* direct.opened
      yield* Effect.sync(wire.cut)
      const next = String(yield* direct.idWhere((current) => current !== null && current !== id))
      assert.strictEqual((yield* backendsOf(next)).length, 1)
    }).pipe(Effect.scoped),
  )

  it.effect(
    "without a pooler it opens only while LISTEN receives nothing; else the node's id is the sign of life",
    () =>
      Effect.gen(function* () {
        const { id: current, idWhere, nodeId, opened, state } = yield* node({ isPooled: false })
        state.listening = true
        assert.strictEqual(yield* current, nodeId)
        state.listening = false
        assert.isNull(yield* current)
        const id = yield* opened
        state.listening = true
        yield* idWhere((shown) => shown === nodeId)
        yield* until(Effect.map(backendsOf(id), (backends) => backends.length === 0))
        state.listening = false
        yield* idWhere((shown) => shown !== null && shown !== id && shown !== nodeId)
      }),
  )
})
