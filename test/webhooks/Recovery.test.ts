import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TestService } from "../support/TestService.ts"
import { openWebhookFixture, rejectionOf } from "./WebhookFixture.ts"
import type { StoredAttempt } from "./WebhookFixture.ts"

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()

const open = Effect.gen(function* () {
  const fixture = yield* openWebhookFixture
  yield* fixture.createPartitions("2026-01-01")
  const { id: endpointId } = yield* fixture.createEndpoint()
  const { organizationId } = fixture.tenant
  return {
    ...fixture,
    endpointId: String(endpointId),
    recover: (body: object) => fixture.call("POST", `/webhooks/${endpointId}/recover`, body),
    /** How many deliveries a recovery of this time would retry. */
    recoverable: (query: Record<string, string>) =>
      fixture.call("GET", `/webhooks/${endpointId}/recoverable?${new URLSearchParams(query).toString()}`),
    /** The ids of the queue in the order in which they are due. */
    due: fixture.sql<{ id: string; attempt: number; dueAt: Date }>`
      SELECT id, attempt, due_at AS "dueAt" FROM webhook_queue
      WHERE organization_id = ${organizationId} AND lease IS NULL ORDER BY due_at, id`,
  }
})

layer(TestService.layer, { excludeTestServices: true })("recovering an endpoint", (it) => {
  it.effect("tries what did not succeed again, oldest first, and nothing else", () =>
    Effect.gen(function* () {
      const { createEndpoint, due, endpointId, enqueue, insertAttempts, lanes, recover, recoverable } = yield* open
      const other = yield* createEndpoint()
      const [failed, orphan, waiting, sending, retried, succeeded, before, after] = Array.from({ length: 8 }, () =>
        randomUUID(),
      ) as [string, string, string, string, string, string, string, string]
      const attempt = (deliveryId: string, minute: number, more: Partial<StoredAttempt> = {}): StoredAttempt => ({
        endpointId,
        deliveryId,
        timestamp: at(minute),
        state: "Failure",
        ...more,
      })
      yield* insertAttempts([
        attempt(orphan, 12),
        attempt(failed, 10),
        attempt(failed, 50, { attempt: 6, state: "Failed" }),
        attempt(waiting, 11),
        attempt(sending, 13),
        attempt(retried, 14),
        attempt(retried, 15, { attempt: 2, state: "Success" }),
        attempt(succeeded, 16, { state: "Success" }),
        attempt(before, 9, { state: "Failed" }),
        attempt(after, 20, { state: "Failed" }),
        attempt(randomUUID(), 12, { endpointId: other.id, state: "Failed" }),
      ])
      const leasedUntil = new Date(Date.now() + 60_000)
      yield* enqueue({ endpointId, deliveryId: waiting, attempt: 2, leasedUntil: new Date(Date.now() + 3_600_000) })
      yield* enqueue({
        endpointId,
        deliveryId: sending,
        attempt: 2,
        lease: randomUUID(),
        claimedAt: new Date(),
        leasedUntil,
      })
      // The number is known before.
      const counted = yield* recoverable({ since: at(10), until: at(20) })
      assert.deepStrictEqual(counted.body, { count: 3, truncated: false })
      assert.strictEqual((yield* due).length, 1)
      const response = yield* recover({ since: at(10), until: at(20) })
      assert.strictEqual(response.status, 202, response.text)
      assert.deepStrictEqual(response.body, { count: 3 })
      const queued = yield* due
      assert.deepStrictEqual(
        queued.map(({ attempt: number, id }) => [id, number]),
        [
          [failed, 7],
          [waiting, 2],
          [orphan, 2],
        ],
      )
      const [lane] = yield* lanes
      assert.deepStrictEqual(lane, { endpointId, headDueAt: queued[0]?.dueAt as Date })
      // The same request changes nothing.
      assert.deepStrictEqual((yield* recover({ since: at(10), until: at(20) })).body, { count: 3 })
      assert.deepStrictEqual(
        (yield* due).map(({ id }) => id),
        [failed, waiting, orphan],
      )
    }),
  )

  it.effect("works in pieces, and leaves room for new deliveries", () =>
    Effect.gen(function* () {
      const { call, due, endpointId, insertAttempts, recover, recoverable } = yield* open
      const ids = Array.from({ length: 2500 }, () => randomUUID())
      yield* insertAttempts(
        ids.map((deliveryId, index) => ({
          endpointId,
          deliveryId,
          // Several at the same time, also where a piece ends.
          timestamp: at(Math.floor(index / 400)),
          id: `0199aaaa-0000-7000-8000-${String(index).padStart(12, "0")}`,
          state: "Failed",
        })),
      )
      assert.deepStrictEqual((yield* recoverable({ since: at(0) })).body, { count: 2500, truncated: false })
      const started = Date.now()
      const response = yield* recover({ since: at(0) })
      assert.deepStrictEqual(response.body, { count: 2500 })
      const queued = yield* due
      assert.deepStrictEqual(
        queued.map(({ id }) => id),
        ids,
      )
      const tested = (yield* call("POST", `/webhooks/${endpointId}/test`)).body
      const position = (yield* due).findIndex(({ id }) => id === tested.deliveryId)
      // Only the recovered ones that are due already stand before it.
      assert.isBelow(position, (Date.now() - started) / 100 + 3)
    }),
  )

  it.effect("the number before is that of an endpoint and of a time that exist", () =>
    Effect.gen(function* () {
      const { call, recoverable } = yield* open
      const unknown = yield* call("GET", `/webhooks/${randomUUID()}/recoverable?since=${at(0)}`)
      assert.strictEqual(rejectionOf(unknown).code, "WebhookEndpoint.NotFound")
      for (const query of [{ since: at(2), until: at(2) }, { since: "yesterday" }]) {
        assert.deepStrictEqual(rejectionOf(yield* recoverable(query)).places, ["query.since"])
      }
    }),
  )

  it.effect("a disabled endpoint, an unknown one and an empty time are rejected", () =>
    Effect.gen(function* () {
      const { call, disable, endpointId, insertAttempts, queue, recover } = yield* open
      yield* insertAttempts([{ endpointId, timestamp: at(1), state: "Failed" }])
      yield* disable(endpointId)
      assert.strictEqual(rejectionOf(yield* recover({ since: at(0) })).code, "RecoverDeliveries.EndpointNotActive")
      const unknown = yield* call("POST", `/webhooks/${randomUUID()}/recover`, { since: at(0) })
      assert.strictEqual(rejectionOf(unknown).code, "WebhookEndpoint.NotFound")
      for (const body of [{ since: at(2), until: at(2) }, { since: new Date(Date.now() + 60_000).toISOString() }]) {
        assert.deepStrictEqual(rejectionOf(yield* recover(body)), {
          status: 422,
          code: "Request.ValidationFailed",
          places: ["body.since"],
        })
      }
      assert.deepStrictEqual(rejectionOf(yield* recover({ since: "yesterday" })).places, ["body.since"])
      assert.deepStrictEqual(yield* queue, [])
    }),
  )
})
