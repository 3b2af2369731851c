import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { randomUUID } from "node:crypto"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { Sweeper } from "../../src/domains/maintenance/Service.ts"
import { MAX_BATCH, BacklogRemover } from "../../src/domains/webhooks/queue/BacklogRemover.ts"
import { TestService } from "../support/TestService.ts"
import { openWebhookFixture } from "./Hooks.ts"

/** An endpoint that is owed so many deliveries, each tried once; every second time days ago. */
const openBacklog = Effect.fnUntraced(function* (count: number) {
  const hooks = yield* openWebhookFixture
  const sql = yield* PgClient.PgClient
  const { organizationId } = hooks.tenant
  yield* hooks.createPartitions("2026-01-01", "2026-01-05")
  const { id } = yield* hooks.createEndpoint()
  yield* sql`
    WITH owed AS (
      INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
      SELECT ${organizationId}, gen_random_uuid(), ${id}, gen_random_uuid(), 'CUSTOMER_CREATION', 2,
        '2026-01-05T06:00:00Z'::timestamptz + n * interval '1 second'
      FROM generate_series(1, ${count}::int) n RETURNING id, event_id, due_at
    )
    INSERT INTO webhook_attempts
    SELECT ${organizationId}, due_at - CASE WHEN row_number() OVER () % 2 = 0 THEN interval '5 seconds' ELSE interval '4 days' END,
      gen_random_uuid(), id, event_id, 'CUSTOMER_CREATION', ${id}, 'https://example.com/events', 1, 'Failure', 500, '',
      'status: 500', 12, due_at FROM owed`
  yield* sql`INSERT INTO webhook_lanes VALUES (${organizationId}, ${id}, '2026-01-05T06:00:00Z', 'epoch')`

  const states = sql<{ state: string; error: string; next: boolean; count: number }>`
    SELECT state, error, next_attempt_at IS NOT NULL AS next, count(*)::int AS count FROM webhook_attempts
    WHERE organization_id = ${organizationId} GROUP BY 1, 2, 3`
  const left = Effect.map(hooks.queue, (rows) => rows.length)
  const untilLeft = (expected: number) =>
    left.pipe(
      Effect.delay("10 millis"),
      Effect.repeat({ until: (count) => count === expected, times: 1000 }),
      Effect.tap((count) => Effect.sync(() => assert.strictEqual(count, expected))),
    )
  return {
    ...hooks,
    key: { organizationId, endpointId: id as string },
    id: id as string,
    states,
    left,
    untilLeft,
    /** As if the process had died behind the commit of the deletion. */
    deleteAndDie: sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`,
  }
})

const sweep = Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)
const dropped = (why: string, count: number) => [
  { state: "Failed", error: `status: 500; the endpoint was ${why}`, next: false, count },
]

layer(TestService.layer, { excludeTestServices: true })("what an endpoint is owed when it ends", (it) => {
  it.effect("is dropped behind the answer of the deletion, however much it is, and the history tells of each", () =>
    Effect.gen(function* () {
      const { call, id, lanes, states, untilLeft } = yield* openBacklog(3 * MAX_BATCH + 10)
      assert.strictEqual((yield* call("DELETE", `/webhooks/${id}`)).status, 204)
      assert.strictEqual((yield* call("GET", `/webhooks/${id}`)).status, 404)
      yield* untilLeft(0)
      assert.deepStrictEqual(yield* states, dropped("deleted", 3 * MAX_BATCH + 10))
      assert.deepStrictEqual(yield* lanes, [])
    }),
  )

  it.effect("is dropped in one batch in the transaction of the end, while no claim looks at the rest", () =>
    Effect.gen(function* () {
      const { deleteAndDie, key, lanes, left } = yield* openBacklog(MAX_BATCH + 10)
      const sql = yield* PgClient.PgClient
      const pending = yield* BacklogRemover
      const transactions = yield* Transactions
      yield* transactions.run(Effect.andThen(deleteAndDie, pending.deleteBatch(key)))
      assert.strictEqual(yield* left, 10)
      const closed =
        yield* sql`SELECT 1 FROM webhook_lanes WHERE endpoint_id = ${key.endpointId} AND head_due_at = 'infinity'`
      assert.strictEqual(closed.length, 1)
      yield* pending.deleteAll(key)
      assert.strictEqual(yield* left, 0)
      assert.deepStrictEqual(yield* lanes, [])
    }),
  )

  it.effect("is dropped by the sweeper if the process died behind the commit, by several nodes each once", () =>
    Effect.gen(function* () {
      const { deleteAndDie, lanes, left, states } = yield* openBacklog(2 * MAX_BATCH + 10)
      yield* deleteAndDie
      const nodes = yield* Effect.all([sweep, sweep, sweep], { concurrency: 3 })
      yield* sweep
      assert.strictEqual(yield* left, 0)
      assert.isAtMost(
        nodes.reduce((sum, swept) => sum + (swept["dropped_deliveries"] ?? 0), 0),
        2 * MAX_BATCH + 10,
      )
      assert.deepStrictEqual(yield* states, dropped("deleted", 2 * MAX_BATCH + 10))
      yield* sweep
      assert.deepStrictEqual(yield* lanes, [])
    }),
  )

  it.effect("is not waited for where somebody holds it, and goes later", () =>
    Effect.gen(function* () {
      const { call, id, key, left, untilLeft } = yield* openBacklog(5)
      const sql = yield* PgClient.PgClient
      const transactions = yield* Transactions
      const held = yield* Latch.make()
      const done = yield* Latch.make()
      const holder = yield* transactions
        .run(
          Effect.gen(function* () {
            yield* sql`SELECT 1 FROM webhook_queue WHERE endpoint_id = ${id} ORDER BY due_at LIMIT 1 FOR UPDATE`
            yield* held.open
            yield* done.await
          }),
        )
        .pipe(Effect.forkChild)
      yield* held.await
      assert.strictEqual((yield* call("DELETE", `/webhooks/${id}`)).status, 204)
      assert.strictEqual(yield* left, 1)
      yield* done.open
      yield* Fiber.join(holder)
      yield* (yield* BacklogRemover).deleteAll(key)
      // What the deletion drops behind its answer may be the one that holds it now.
      yield* untilLeft(0)
    }),
  )

  it.effect("never reaches an endpoint that is enabled again, whose tests stay", () =>
    Effect.gen(function* () {
      const { call, disable, id, queue, states } = yield* openBacklog(MAX_BATCH + 10)
      yield* disable(id)
      const test = yield* call("POST", `/webhooks/${id}/test`)
      const enabled = yield* call("POST", `/webhooks/${id}/enable`)
      assert.deepStrictEqual([enabled.status, enabled.body.disabledAt], [200, null])
      assert.deepStrictEqual(
        (yield* queue).map((row) => row.id),
        [test.body.deliveryId],
      )
      assert.deepStrictEqual(yield* states, dropped("disabled", MAX_BATCH + 10))
    }),
  )

  it.effect("stays while the endpoint is neither deleted nor disabled", () =>
    Effect.gen(function* () {
      const { key, lanes, left } = yield* openBacklog(3)
      yield* (yield* BacklogRemover).deleteAll(key)
      yield* sweep
      assert.deepStrictEqual([yield* left, (yield* lanes).length], [3, 1])
    }),
  )

  it.effect("is neither in flight nor to come for the history before it is dropped", () =>
    Effect.gen(function* () {
      const { call, deleteAndDie, id, left, enqueue: owed, queue } = yield* openBacklog(1)
      const [delivery] = yield* queue
      const leasedUntil = new Date(Date.now() + 60_000)
      const claim = { endpointId: id, deliveryId: randomUUID(), attempt: 1, leasedUntil, claimedAt: new Date() }
      yield* owed({ ...claim, lease: randomUUID() })
      const sending = call("GET", "/webhooks/history?state=Sending")
      assert.strictEqual((yield* sending).body.items.length, 1)
      yield* deleteAndDie
      assert.deepStrictEqual((yield* sending).body.items, [])
      const retry = yield* call("POST", `/webhooks/history/${delivery!.id}/retry`)
      assert.strictEqual(retry.body.code, "RetryDelivery.EndpointNotActive")
      assert.strictEqual(yield* left, 2)
    }),
  )
})
