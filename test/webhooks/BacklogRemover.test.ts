import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { randomUUID } from "node:crypto"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { Sweeper } from "../../src/domains/maintenance/Service.ts"
import { MAX_BATCH, BacklogRemover } from "../../src/domains/webhooks/queue/BacklogRemover.ts"
import { testServiceForms } from "../support/forms.ts"
import { openWebhookFixture } from "./WebhookFixture.ts"

/** Creates an endpoint with this many pending deliveries, each attempted once; half of them days ago. */
const openBacklog = Effect.fnUntraced(function* (count: number) {
  const fixture = yield* openWebhookFixture
  const sql = yield* PgClient.PgClient
  const { organizationId } = fixture.tenant
  yield* fixture.createPartitions("2026-01-01", "2026-01-05")
  const { id } = yield* fixture.createEndpoint()
  yield* sql`
    WITH pending AS (
      INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
      SELECT ${organizationId}, gen_random_uuid(), ${id}, gen_random_uuid(), 'CUSTOMER_CREATION', 2,
        '2026-01-05T06:00:00Z'::timestamptz + n * interval '1 second'
      FROM generate_series(1, ${count}::int) n RETURNING id, event_id, due_at
    )
    INSERT INTO webhook_attempts
    SELECT ${organizationId}, due_at - CASE WHEN row_number() OVER () % 2 = 0 THEN interval '5 seconds' ELSE interval '4 days' END,
      gen_random_uuid(), id, event_id, 'CUSTOMER_CREATION', ${id}, 'https://example.com/events', 1, 'Failure', 500, '',
      'status: 500', 12, due_at FROM pending`
  yield* sql`INSERT INTO webhook_lanes VALUES (${organizationId}, ${id}, '2026-01-05T06:00:00Z', 'epoch')`

  const states = sql<{ state: string; error: string; next: boolean; count: number }>`
    SELECT state, error, next_attempt_at IS NOT NULL AS next, count(*)::int AS count FROM webhook_attempts
    WHERE organization_id = ${organizationId} GROUP BY 1, 2, 3`
  const left = Effect.map(fixture.queue, (rows) => rows.length)
  const untilLeft = (expected: number) =>
    left.pipe(
      Effect.delay("10 millis"),
      Effect.repeat({ until: (count) => count === expected, times: 1000 }),
      Effect.tap((count) => Effect.sync(() => assert.strictEqual(count, expected))),
    )
  return {
    ...fixture,
    key: { organizationId, endpointId: id as string },
    id: id as string,
    states,
    left,
    untilLeft,
    /** Deletes the endpoint like a process that dies right after the commit. */
    deleteAndDie: sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`,
  }
})

const sweep = Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)
const failedAll = (why: string, count: number) => [
  { state: "Failed", error: `status: 500; the endpoint was ${why}`, next: false, count },
]

for (const { form, service } of testServiceForms) {
  layer(service, { excludeTestServices: true })(`the backlog of an endpoint that ends, ${form},`, (it) => {
    it.effect("is deleted after the response to the deletion, and each delivery's last attempt becomes Failed", () =>
      Effect.gen(function* () {
        const { call, id, lanes, states, untilLeft } = yield* openBacklog(3 * MAX_BATCH + 10)
        assert.strictEqual((yield* call("DELETE", `/webhooks/${id}`)).status, 204)
        assert.strictEqual((yield* call("GET", `/webhooks/${id}`)).status, 404)
        yield* untilLeft(0)
        assert.deepStrictEqual(yield* states, failedAll("deleted", 3 * MAX_BATCH + 10))
        assert.deepStrictEqual(yield* lanes, [])
      }),
    )

    it.effect("is deleted by one batch in the transaction, and the rest is hidden from claims", () =>
      Effect.gen(function* () {
        const { deleteAndDie, key, lanes, left } = yield* openBacklog(MAX_BATCH + 10)
        const sql = yield* PgClient.PgClient
        const backlogs = yield* BacklogRemover
        const transactions = yield* Transactions
        yield* transactions.run(Effect.andThen(deleteAndDie, backlogs.deleteBatch(key)))
        assert.strictEqual(yield* left, 10)
        const closed =
          yield* sql`SELECT 1 FROM webhook_lanes WHERE endpoint_id = ${key.endpointId} AND head_due_at = 'infinity'`
        assert.strictEqual(closed.length, 1)
        yield* backlogs.deleteAll(key)
        assert.strictEqual(yield* left, 0)
        assert.deepStrictEqual(yield* lanes, [])
      }),
    )

    it.effect("is deleted once by several sweepers if the process died after the commit", () =>
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
        assert.deepStrictEqual(yield* states, failedAll("deleted", 2 * MAX_BATCH + 10))
        yield* sweep
        assert.deepStrictEqual(yield* lanes, [])
      }),
    )

    it.effect("is deleted without waiting for a locked row, which is deleted later", () =>
      Effect.gen(function* () {
        const { call, id, key, left, untilLeft } = yield* openBacklog(5)
        const sql = yield* PgClient.PgClient
        const transactions = yield* Transactions
        const locked = yield* Latch.make()
        const done = yield* Latch.make()
        const holder = yield* transactions
          .run(
            Effect.gen(function* () {
              yield* sql`SELECT 1 FROM webhook_queue WHERE endpoint_id = ${id} ORDER BY due_at LIMIT 1 FOR UPDATE`
              yield* locked.open
              yield* done.await
            }),
          )
          .pipe(Effect.forkChild)
        yield* locked.await
        assert.strictEqual((yield* call("DELETE", `/webhooks/${id}`)).status, 204)
        assert.strictEqual(yield* left, 1)
        yield* done.open
        yield* Fiber.join(holder)
        yield* (yield* BacklogRemover).deleteAll(key)
        // The background deletion of the request may have locked the row by now.
        yield* untilLeft(0)
      }),
    )

    it.effect("is not delivered to an endpoint that is enabled again, but its test events are kept", () =>
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
        assert.deepStrictEqual(yield* states, failedAll("disabled", MAX_BATCH + 10))
      }),
    )

    it.effect("is not deleted while the endpoint is enabled", () =>
      Effect.gen(function* () {
        const { key, lanes, left } = yield* openBacklog(3)
        yield* (yield* BacklogRemover).deleteAll(key)
        yield* sweep
        assert.deepStrictEqual([yield* left, (yield* lanes).length], [3, 1])
      }),
    )

    it.effect("is neither in flight nor pending in the history before it is deleted", () =>
      Effect.gen(function* () {
        const { call, deleteAndDie, id, left, enqueue, queue } = yield* openBacklog(1)
        const [delivery] = yield* queue
        const leasedUntil = new Date(Date.now() + 60_000)
        const claim = { endpointId: id, deliveryId: randomUUID(), attempt: 1, leasedUntil, claimedAt: new Date() }
        yield* enqueue({ ...claim, lease: randomUUID() })
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
}
