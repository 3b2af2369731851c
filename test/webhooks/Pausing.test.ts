/** Endpoints that are paused: what is due for them waits. */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { WebhookEndpoints } from "../../src/domains/webhooks/endpoints/Service.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { bySystem, Caller } from "../../src/kernel/contract/Caller.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { serviceForms } from "../support/forms.ts"
import {
  attemptsOf,
  clearQueues,
  createEndpoint,
  createOrganization,
  deliverEverything,
  emitEvent,
  nodeLayer,
  queueOf,
  Receiver,
  respondWith,
  START,
  withTestClock,
} from "./EngineFixture.ts"

const onNode = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  withTestClock(Effect.andThen(clearQueues, Effect.provide(test, Layer.fresh(nodeLayer))))

const inOrganization = <A, E, R>(organizationId: OrganizationId, work: Effect.Effect<A, E, R>) =>
  Effect.provideService(work, Caller, {
    credentialId: randomUUID(),
    organizationId,
    ...bySystem,
    scopes: ["write:webhooks"],
  })

const pause = (organizationId: OrganizationId, id: string) =>
  inOrganization(
    organizationId,
    Effect.flatMap(WebhookEndpoints, (endpoints) => endpoints.pause(id)),
  )
const resume = (organizationId: OrganizationId, id: string) =>
  inOrganization(
    organizationId,
    Effect.flatMap(WebhookEndpoints, (endpoints) => endpoints.resume(id)),
  )

for (const { form, useCases } of serviceForms) {
  layer(useCases, { excludeTestServices: true })(`a paused endpoint, ${form},`, (it) => {
    it.effect("is sent nothing until it is resumed, then all that waited, oldest first", () =>
      onNode(
        Effect.gen(function* () {
          const receiver = yield* Receiver
          const deliveries = yield* Deliveries
          const organizationId = yield* createOrganization
          const paused = yield* createEndpoint(organizationId, { eventNames: ["COMPONENT_CREATED"] })
          yield* emitEvent(organizationId, "COMPONENT_CREATED", { name: "0" })
          yield* (yield* WebhookProvider).publishDue
          yield* pause(organizationId, paused.id)
          const other = yield* createEndpoint(organizationId, { eventNames: ["COMPONENT_CREATED"] })
          for (const second of [1, 2]) {
            yield* TestClock.setTime(START + second * 1000)
            yield* emitEvent(organizationId, "COMPONENT_CREATED", { name: String(second) })
          }
          yield* deliverEverything
          assert.deepStrictEqual(
            receiver.received.map(({ endpointId }) => endpointId),
            [other.id, other.id],
          )
          assert.strictEqual((yield* queueOf(organizationId)).length, 3)
          // What waits is not due for the node, so it does not look at the lane again and again.
          assert.isAbove((yield* deliveries.nextDue)?.getTime() ?? Infinity, START + 2000)
          receiver.received.length = 0
          yield* resume(organizationId, paused.id)
          yield* deliverEverything
          const names = receiver.received.map(({ body, endpointId }) => [endpointId, JSON.parse(body).data.name])
          assert.deepStrictEqual(names, [
            [paused.id, "0"],
            [paused.id, "1"],
            [paused.id, "2"],
          ])
        }),
      ),
    )

    it.effect("ends its attempt in flight, whose next attempt waits", () =>
      onNode(
        Effect.gen(function* () {
          const receiver = yield* Receiver
          const organizationId = yield* createOrganization
          const { id } = yield* createEndpoint(organizationId, { eventNames: ["COMPONENT_CREATED"] })
          const started = yield* Deferred.make<void>()
          const mayEnd = yield* Deferred.make<void>()
          receiver.respond = () =>
            Deferred.succeed(started, undefined).pipe(
              Effect.andThen(Deferred.await(mayEnd)),
              Effect.as(respondWith(500)),
            )
          yield* emitEvent(organizationId)
          const sending = yield* Effect.forkChild(deliverEverything)
          yield* Deferred.await(started)
          yield* pause(organizationId, id)
          yield* Deferred.succeed(mayEnd, undefined)
          yield* Fiber.join(sending)
          assert.deepStrictEqual(
            (yield* attemptsOf(organizationId)).map(({ state }) => state),
            ["Failure"],
          )
          yield* TestClock.setTime(START + 60_000)
          receiver.respond = () => Effect.succeed(respondWith(200))
          assert.strictEqual(yield* deliverEverything, 0)
          yield* resume(organizationId, id)
          // The second attempt, and the two events about the pause are not subscribed.
          assert.strictEqual(yield* deliverEverything, 1)
          assert.deepStrictEqual(yield* queueOf(organizationId), [])
        }),
      ),
    )

    it.effect("is not disabled for failures before or during the pause", () =>
      onNode(
        Effect.gen(function* () {
          const receiver = yield* Receiver
          const sql = yield* PgClient.PgClient
          const organizationId = yield* createOrganization
          const { id } = yield* createEndpoint(organizationId, { eventNames: ["COMPONENT_CREATED"] })
          receiver.respond = () => Effect.succeed(respondWith(503))
          yield* emitEvent(organizationId)
          yield* deliverEverything
          yield* pause(organizationId, id)
          yield* TestClock.setTime(START + 6 * DAY_MS)
          yield* resume(organizationId, id)
          yield* emitEvent(organizationId)
          yield* deliverEverything
          const health = yield* sql<{ disabled: Date | null; since: Date | null }>`
            SELECT disabled_at AS disabled, failing_since AS since FROM webhook_endpoints WHERE id = ${id}`
          assert.deepStrictEqual(health, [{ disabled: null, since: new Date(START + 6 * DAY_MS) }])
        }),
      ),
    )
  })
}
