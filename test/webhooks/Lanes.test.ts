import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { LaneRepair } from "../../src/domains/webhooks/maintenance/LaneRepair.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { WebhookQueue } from "../../src/domains/webhooks/queue/Queue.ts"
import { testServices } from "../support/TestService.ts"
import {
  clearQueues,
  emitEvent,
  createEndpoint,
  nodeLayer,
  createOrganization,
  Receiver,
  START,
  withTestClock,
  deliverEverything,
} from "./EngineFixture.ts"

const onNode = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  withTestClock(Effect.andThen(clearQueues, Effect.provide(test, Layer.fresh(nodeLayer))))

const headOf = Effect.fnUntraced(function* (endpointId: string) {
  const sql = yield* PgClient.PgClient
  const [lane] = yield* sql<{ at: Date }>`
    SELECT head_due_at AS at FROM webhook_lanes WHERE endpoint_id = ${endpointId}`
  return lane?.at.getTime()
})

/** Enqueues a delivery at each of these times, in milliseconds after the start. */
const enqueueAt = Effect.fnUntraced(function* (
  organizationId: OrganizationId,
  endpointId: string,
  after: ReadonlyArray<number>,
) {
  const queue = yield* WebhookQueue
  const transactions = yield* Transactions
  const delivery = { organizationId, endpointId, eventName: "COMPONENT_CREATED" }
  yield* transactions.run(
    Effect.forEach(after, (millis) =>
      Effect.flatMap(newId, (eventId) => queue.enqueue({ ...delivery, eventId, dueAt: new Date(START + millis) })),
    ),
  )
})

/** How many rows of the queue this transaction has read by index. */
const rowsRead = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const [row] = yield* Effect.orDie(sql<{ count: number }>`
    SELECT idx_tup_fetch::int AS count FROM pg_stat_xact_user_tables WHERE relname = 'webhook_queue'`)
  return row?.count ?? 0
})

layer(testServices, { excludeTestServices: true })("lanes", (it) => {
  it.effect("the head of a lane is the earliest of the events published at once", () =>
    onNode(
      Effect.gen(function* () {
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        yield* emitEvent(organizationId)
        yield* TestClock.setTime(START + 1000)
        yield* emitEvent(organizationId)
        yield* (yield* WebhookProvider).publishDue
        assert.strictEqual(yield* headOf(id), START)
      }),
    ),
  )

  it.effect("the head of a served lane is the first remaining delivery, in flight or not", () =>
    onNode(
      Effect.gen(function* () {
        const deliveries = yield* Deliveries
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        yield* enqueueAt(organizationId, id, [0, 1, 2, 90_000])
        yield* TestClock.setTime(START + 10)
        assert.strictEqual((yield* deliveries.claim(2)).length, 2)
        assert.strictEqual(yield* headOf(id), START + 2)
        assert.strictEqual((yield* deliveries.claim(2)).length, 1)
        assert.strictEqual(yield* headOf(id), START + 10 + 60_000)
        yield* TestClock.setTime(START + 70_010)
        assert.strictEqual((yield* deliveries.claim(4)).length, 3)
        assert.strictEqual(yield* headOf(id), START + 90_000)
      }),
    ),
  )

  it.effect("a delivery due before the head of its lane is found after the repair of heads", () =>
    onNode(
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const receiver = yield* Receiver
        const repair = yield* LaneRepair
        const organizationId = yield* createOrganization
        yield* createEndpoint(organizationId)
        const late = yield* createEndpoint(organizationId)
        yield* emitEvent(organizationId)
        yield* (yield* WebhookProvider).publishDue
        yield* sql`UPDATE webhook_lanes SET head_due_at = ${new Date(START + 1)} WHERE endpoint_id = ${late.id}`
        assert.strictEqual(yield* repair.repairHeads, 1)
        assert.strictEqual(yield* headOf(late.id), START)
        assert.strictEqual(yield* repair.repairHeads, 0)
        assert.strictEqual(yield* deliverEverything, 2)
        assert.strictEqual(receiver.received.length, 2)
        assert.strictEqual(yield* repair.repairHeads, 0)
      }),
    ),
  )

  it.effect("a long exchange counts against the limits, however many claims are made meanwhile", () =>
    onNode(
      Effect.gen(function* () {
        const deliveries = yield* Deliveries
        const organizationId = yield* createOrganization
        const [slow, other] = [yield* createEndpoint(organizationId), yield* createEndpoint(organizationId)]
        yield* enqueueAt(organizationId, slow.id, [0, 1, 2, 3, 4, 5])
        assert.strictEqual((yield* deliveries.claim(128)).length, 1)
        yield* TestClock.setTime(START + 5)
        assert.strictEqual((yield* deliveries.claim(128)).length, 3)
        for (const seconds of [12, 24]) {
          yield* TestClock.setTime(START + seconds * 1000)
          yield* enqueueAt(organizationId, other.id, [0])
          assert.deepStrictEqual(
            (yield* deliveries.claim(128)).map(({ row }) => row.endpointId),
            [other.id],
          )
        }
      }),
    ),
  )

  it.effect("a claim reads only the rows that it takes, even if the queue was short when it was planned", () =>
    onNode(
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const deliveries = yield* Deliveries
        const transactions = yield* Transactions
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        yield* enqueueAt(
          organizationId,
          id,
          Array.from({ length: 3000 }, (_, index) => index % 1000),
        )
        // The rest of three thousand rows makes the index by id look shorter than the index by due time.
        yield* sql`DELETE FROM webhook_queue WHERE due_at > ${new Date(START)}`
        yield* sql`REINDEX INDEX webhook_queue_pkey`
        yield* sql`VACUUM ANALYZE webhook_queue, webhook_lanes`
        yield* TestClock.setTime(START + 10)
        yield* transactions.run(
          Effect.gen(function* () {
            assert.strictEqual((yield* deliveries.claim(1)).length, 1)
            yield* enqueueAt(
              organizationId,
              id,
              Array.from({ length: 300 }, () => 1),
            )
            const before = yield* rowsRead
            assert.strictEqual((yield* deliveries.claim(1)).length, 1)
            assert.isAtMost((yield* rowsRead) - before, 20)
          }),
        )
      }),
    ),
  )
})
