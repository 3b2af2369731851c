import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { withReason } from "../support/skipped.ts"
import { testServices } from "../support/TestService.ts"
import {
  createEndpoint,
  createOrganization,
  deliverEverything,
  emitEvent,
  nodeLayer,
  Receiver,
  respondWith,
  START,
  withTestClock,
} from "./EngineFixture.ts"

const whyNoShards = isOnCitus ? undefined : "one server shows an event and its outbox row at once"

layer(testServices, { excludeTestServices: true })("an event that its shard has not committed yet", (it) => {
  it.effect.skipIf(whyNoShards !== undefined)(
    withReason("waits in the outbox, unless its organization is removed", whyNoShards),
    () =>
      withTestClock(
        Effect.gen(function* () {
          const sql = yield* PgClient.PgClient
          const receiver = yield* Receiver
          const provider = yield* WebhookProvider
          receiver.respond = () => Effect.succeed(respondWith(200))
          const [organizationId, removed] = [yield* createOrganization, yield* createOrganization]
          for (const id of [organizationId, removed]) yield* createEndpoint(id)
          const [event, lost] = [yield* newId, yield* newId]
          yield* sql`
            INSERT INTO webhook_outbox (organization_id, event_id, due_at)
            VALUES (${organizationId}, ${event}, ${new Date(START)}), (${removed}, ${lost}, ${new Date(START)})`
          yield* sql`UPDATE organizations SET removed_at = ${new Date(START)} WHERE id = ${removed}`
          const waiting = Effect.map(
            sql<{ id: string }>`
              SELECT event_id AS id FROM webhook_outbox WHERE organization_id IN (${organizationId}, ${removed})`,
            (rows) => rows.map(({ id }) => id),
          )
          assert.strictEqual(yield* provider.publishDue, 1)
          assert.deepStrictEqual(yield* waiting, [event])
          // The events after it are published.
          yield* emitEvent(organizationId)
          assert.strictEqual(yield* deliverEverything, 1)
          assert.deepStrictEqual(yield* waiting, [event])

          yield* sql`
            INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
            SELECT organization_id, ${event}, type, occurred_at, actor, data FROM events
            WHERE organization_id = ${organizationId} AND type = 'COMPONENT_CREATED'`
          yield* TestClock.adjust("1 second")
          assert.strictEqual(yield* deliverEverything, 1)
          assert.deepStrictEqual(yield* waiting, [])
          assert.strictEqual(receiver.received.length, 2)
        }).pipe(Effect.provide(Layer.fresh(nodeLayer))),
      ),
  )
})
