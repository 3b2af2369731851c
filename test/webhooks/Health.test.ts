import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { testServiceForms } from "../support/forms.ts"
import { openWebhookFixture } from "./WebhookFixture.ts"

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()

for (const { form, service } of testServiceForms) {
  layer(service, { excludeTestServices: true })(`the health of endpoints, ${form},`, (it) => {
    it.effect("is read with them: the last success, and what waits for each", () =>
      Effect.gen(function* () {
        const { call, createEndpoint, createPartitions, enqueue, insertAttempts, sql } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01")
        const failing = yield* createEndpoint()
        const healthy = yield* createEndpoint()
        const fresh = yield* createEndpoint()
        yield* insertAttempts([
          { endpointId: failing.id, timestamp: at(1) },
          { endpointId: failing.id, timestamp: at(2) },
          { endpointId: failing.id, timestamp: at(3), state: "Failure" },
          { endpointId: healthy.id, timestamp: at(4), state: "Failed" },
          { endpointId: healthy.id, timestamp: at(5) },
        ])
        yield* sql`UPDATE webhook_endpoints SET failing_since = ${new Date(at(3))} WHERE id = ${failing.id}`
        for (const attempt of [1, 2]) yield* enqueue({ endpointId: failing.id, deliveryId: randomUUID(), attempt })
        const { items } = (yield* call("GET", "/webhooks?include=health")).body
        const healths = items.map(({ health, id }: { id: string; health: unknown }) => [id, health])
        const none = { count: 0, truncated: false }
        assert.deepStrictEqual(healths, [
          [fresh.id, { lastSuccessAt: null, waiting: none }],
          [healthy.id, { lastSuccessAt: at(5), waiting: none }],
          [failing.id, { lastSuccessAt: at(2), waiting: { count: 2, truncated: false } }],
        ])
        const one = (yield* call("GET", `/webhooks/${failing.id}?include=health`)).body
        assert.deepStrictEqual(one, items[2])
        assert.notProperty((yield* call("GET", `/webhooks/${failing.id}`)).body, "health")
        assert.notProperty((yield* call("GET", "/webhooks")).body.items[0], "health")
      }),
    )

    it.effect("counts up to 10,000 deliveries, and says that there are more", () =>
      Effect.gen(function* () {
        const { call, createEndpoint, sql, tenant } = yield* openWebhookFixture
        const { id } = yield* createEndpoint()
        yield* sql`INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
          SELECT ${tenant.organizationId}, gen_random_uuid(), ${id}, gen_random_uuid(), 'CUSTOMER_CREATION', 1, now()
          FROM generate_series(1, 10001)`
        const { health } = (yield* call("GET", `/webhooks/${id}?include=health`)).body
        assert.deepStrictEqual(health.waiting, { count: 10_000, truncated: true })
        yield* sql`DELETE FROM webhook_queue WHERE organization_id = ${tenant.organizationId}`
      }),
    )
  })
}
