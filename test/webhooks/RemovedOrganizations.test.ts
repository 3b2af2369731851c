import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Outbox } from "../../src/domains/events/Outbox.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { testServices } from "../support/TestService.ts"
import {
  createEndpoint,
  createOrganization,
  deliverEverything,
  emitEvent,
  nodeLayer,
  queueOf,
  Receiver,
  respondWith,
  START,
  waitUntil,
  withTestClock,
} from "./EngineFixture.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

layer(testServices, { excludeTestServices: true })("a removed organization", (it) => {
  it.effect("gets no delivery: neither retries, nor queued ones, nor those of stored events", () =>
    withTestClock(
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const receiver = yield* Receiver
        const provider = yield* WebhookProvider
        const [removed, other] = [yield* createOrganization, yield* createOrganization]
        const emitInBoth = Effect.forEach([removed, other], (organizationId) => emitEvent(organizationId))
        for (const organizationId of [removed, other]) yield* createEndpoint(organizationId)
        receiver.respond = () => Effect.succeed(respondWith(500))
        yield* emitInBoth
        assert.strictEqual(yield* deliverEverything, 2)
        yield* emitInBoth
        while ((yield* provider.publishDue) > 0) continue
        yield* emitInBoth

        yield* sql`UPDATE organizations SET removed_at = ${new Date(START)} WHERE id = ${removed}`
        receiver.received.length = 0
        receiver.respond = () => Effect.succeed(respondWith(200))
        yield* TestClock.adjust("1 hour")
        yield* deliverEverything
        assert.deepStrictEqual(
          receiver.received.map(({ organizationId }) => organizationId),
          [other, other, other],
        )
        yield* TestClock.withLive(
          waitUntil("the backlog is deleted", Effect.orDie(Effect.map(queueOf(removed), (rows) => rows.length === 0))),
        )
        assert.deepStrictEqual(yield* sql`SELECT 1 FROM webhook_outbox WHERE organization_id = ${removed}`, [])
      }).pipe(Effect.provide(Layer.fresh(nodeLayer))),
    ),
  )

  it.effect("has no events for an external provider", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const outbox = yield* Outbox
      const [removed, other] = [yield* createOrganization, yield* createOrganization]
      for (const organizationId of [removed, other]) yield* emitEvent(organizationId)
      const keys = yield* sql<{ organizationId: OrganizationId; eventId: string }>`
        SELECT organization_id AS "organizationId", id AS "eventId" FROM events
        WHERE organization_id IN (${removed}, ${other})`
      assert.strictEqual((yield* outbox.findEvents(keys)).length, 2)
      yield* sql`UPDATE organizations SET removed_at = ${new Date(START)} WHERE id = ${removed}`
      assert.deepStrictEqual(
        (yield* outbox.findEvents(keys)).map(({ organizationId }) => organizationId),
        [other],
      )
    }),
  )
})
