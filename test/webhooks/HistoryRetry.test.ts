import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { testServiceForms } from "../support/forms.ts"
import { openWebhookFixture, rejectionOf } from "./WebhookFixture.ts"

/** Creates an endpoint with a failed delivery. */
const failed = Effect.gen(function* () {
  const fixture = yield* openWebhookFixture
  yield* fixture.createPartitions("2026-01-01")
  const endpoint = yield* fixture.createEndpoint()
  const delivery = { endpointId: endpoint.id, deliveryId: randomUUID(), eventId: randomUUID() }
  const at = (attempt: number) => ({ ...delivery, attempt, timestamp: `2026-01-01T0${attempt}:00:00Z` })
  yield* fixture.insertAttempts([
    ...[1, 2, 3, 4, 5].map((attempt) => ({ ...at(attempt), state: "Failure" as const })),
    { ...at(6), state: "Failed" },
  ])
  return {
    ...fixture,
    at,
    delivery,
    retry: fixture.call("POST", `/webhooks/history/${delivery.deliveryId}/retry`),
  }
})

for (const { form, service } of testServiceForms) {
  layer(service, { excludeTestServices: true })(`retrying a delivery, ${form},`, (it) => {
    it.effect("a failed delivery is enqueued for one more attempt of the same delivery and event", () =>
      Effect.gen(function* () {
        const { delivery, lanes, queue, retry } = yield* failed
        const before = Date.now()
        const answer = yield* retry
        assert.strictEqual(answer.status, 202)
        assert.deepStrictEqual(answer.body, { deliveryId: delivery.deliveryId, eventId: delivery.eventId })
        const { deliveryId: id, endpointId, eventId } = delivery
        assert.deepStrictEqual(yield* queue, [{ id, endpointId, eventId, attempt: 7, lease: null }])
        const [lane] = yield* lanes
        assert.strictEqual(lane?.endpointId, endpointId)
        assert.isAtLeast(lane?.headDueAt.getTime() ?? 0, before - 1000)
        assert.isAtMost(lane?.headDueAt.getTime() ?? Infinity, Date.now() + 1000)
      }),
    )

    it.effect("a retry and a test signal the dispatchers immediately", () =>
      Effect.gen(function* () {
        const { call, delivery, retry } = yield* failed
        const webhooks = yield* (yield* Signals).subscribe("webhooks")
        assert.strictEqual((yield* retry).status, 202)
        yield* webhooks
        assert.strictEqual((yield* call("POST", `/webhooks/${delivery.endpointId}/test`)).status, 202)
        yield* webhooks
      }),
    )

    it.effect("a delivery can be retried again after a failed retry, and sent again after a successful one", () =>
      Effect.gen(function* () {
        const { at, insertAttempts, queue, retry, sql, tenant } = yield* failed
        const end = sql`DELETE FROM webhook_queue WHERE organization_id = ${tenant.organizationId}`
        const attempts = Effect.map(queue, (rows) => rows.map(({ attempt }) => attempt))
        yield* retry
        yield* end
        yield* insertAttempts([{ ...at(7), state: "Failed" }])
        assert.strictEqual((yield* retry).status, 202)
        assert.deepStrictEqual(yield* attempts, [8])
        yield* end
        yield* insertAttempts([{ ...at(8), state: "Success" }])
        assert.strictEqual((yield* retry).status, 202)
        assert.deepStrictEqual(yield* attempts, [9])
      }),
    )

    it.effect("a delivery that succeeded at once is sent once more, outside the schedule of retries", () =>
      Effect.gen(function* () {
        const { call, createEndpoint, insertAttempts, queue } = yield* failed
        const { id: endpointId } = yield* createEndpoint()
        const delivery = { endpointId, deliveryId: randomUUID(), eventId: randomUUID() }
        yield* insertAttempts([{ ...delivery, timestamp: "2026-01-01T00:00:00Z" }])
        assert.strictEqual((yield* call("POST", `/webhooks/history/${delivery.deliveryId}/retry`)).status, 202)
        const { deliveryId: id, eventId } = delivery
        assert.deepStrictEqual(yield* queue, [{ id, endpointId, eventId, attempt: 7, lease: null }])
      }),
    )

    it.effect("the id of an attempt is not that of its delivery: the rejection says which one is wanted", () =>
      Effect.gen(function* () {
        const { call, delivery } = yield* failed
        const { body } = yield* call("GET", "/webhooks/history")
        const { id } = body.items.find(({ deliveryId }: { deliveryId: string }) => deliveryId === delivery.deliveryId)
        const answer = yield* call("POST", `/webhooks/history/${id}/retry`)
        assert.strictEqual(answer.status, 404)
        assert.include(answer.body.detail, "Send the `deliveryId` of an attempt in the history, not its `id`.")
      }),
    )

    it.effect("several concurrent retries enqueue one attempt", () =>
      Effect.gen(function* () {
        const { queue, retry } = yield* failed
        const answers = yield* Effect.all(
          Array.from({ length: 6 }, () => retry),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [202])
        assert.deepStrictEqual(
          (yield* queue).map(({ attempt }) => attempt),
          [7],
        )
      }),
    )

    it.effect("a pending delivery is tried at once, unless it is being sent right now", () =>
      Effect.gen(function* () {
        const { call, createEndpoint, enqueue, insertAttempts, lanes, queue, sql, tenant } = yield* failed
        const { id: endpointId } = yield* createEndpoint()
        const [waiting, sending] = [randomUUID(), randomUUID()]
        yield* insertAttempts([
          { endpointId, deliveryId: waiting, timestamp: "2026-01-01T00:00:00Z", state: "Failure" },
        ])
        const inAnHour = new Date(Date.now() + 3_600_000)
        yield* enqueue({ endpointId, deliveryId: waiting, attempt: 2, leasedUntil: inAnHour })
        const claim = { lease: randomUUID(), claimedAt: new Date(), leasedUntil: inAnHour }
        yield* enqueue({ endpointId, deliveryId: sending, attempt: 1, ...claim })
        const before = Date.now() - 1000
        assert.strictEqual((yield* call("POST", `/webhooks/history/${waiting}/retry`)).status, 202)
        const dueAt = (id: string) =>
          Effect.map(
            sql<{ dueAt: Date }>`SELECT due_at AS "dueAt" FROM webhook_queue
            WHERE organization_id = ${tenant.organizationId} AND id = ${id}`,
            ([row]) => row?.dueAt.getTime() ?? 0,
          )
        const due = yield* dueAt(waiting)
        assert.isAtLeast(due, before)
        assert.isAtMost(due, Date.now() + 1000)
        assert.strictEqual((yield* lanes)[0]?.headDueAt.getTime(), due)
        const rejected = yield* call("POST", `/webhooks/history/${sending}/retry`)
        assert.deepStrictEqual(rejectionOf(rejected), { status: 409, code: "RetryDelivery.NotFailed", places: [] })
        assert.strictEqual(yield* dueAt(sending), inAnHour.getTime())
        assert.deepStrictEqual(
          (yield* queue).filter(({ id }) => id === waiting).map(({ attempt }) => attempt),
          [2],
        )
      }),
    )

    it.effect("a delivery to a disabled or deleted endpoint is not retried", () =>
      Effect.gen(function* () {
        const { call, delivery, disable, queue, retry } = yield* failed
        yield* disable(delivery.endpointId)
        assert.strictEqual(rejectionOf(yield* retry).code, "RetryDelivery.EndpointNotActive")
        yield* call("POST", `/webhooks/${delivery.endpointId}/enable`)
        yield* call("DELETE", `/webhooks/${delivery.endpointId}`)
        assert.deepStrictEqual(rejectionOf(yield* retry), {
          status: 409,
          code: "RetryDelivery.EndpointNotActive",
          places: [],
        })
        assert.deepStrictEqual(yield* queue, [])
      }),
    )

    it.effect("a delivery that ended when its endpoint was disabled can be retried after that is enabled", () =>
      Effect.gen(function* () {
        const { at, insertAttempts, retry } = yield* failed
        // It was in flight when the endpoint was disabled, so no attempt follows it.
        yield* insertAttempts([{ ...at(7), state: "Failure" }])
        assert.strictEqual((yield* retry).status, 202)
      }),
    )

    it.effect("an unknown delivery is not found, and an invalid id is rejected", () =>
      Effect.gen(function* () {
        const { call } = yield* openWebhookFixture
        const unknown = yield* call("POST", `/webhooks/history/${randomUUID()}/retry`)
        assert.deepStrictEqual(rejectionOf(unknown), { status: 404, code: "WebhookDelivery.NotFound", places: [] })
        assert.deepStrictEqual(rejectionOf(yield* call("POST", "/webhooks/history/x/retry")).places, [
          "path.deliveryId",
        ])
      }),
    )
  })
}
