import { PgClient, PgConnection } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Liveness } from "../../src/kernel/ports/Liveness.ts"
import { applicationNameOf } from "../../src/kernel/ports/NodeId.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testServices } from "../support/TestService.ts"
import {
  clearQueues,
  createEndpoint,
  createOrganization,
  emitEvent,
  nodeLayerWith,
  queueOf,
  Receiver,
  respondWith,
  startNodeOn,
  waitUntil,
} from "./EngineFixture.ts"

layer(testServices, { excludeTestServices: true })("the first claims of a node", (it) => {
  it.effect("wait until the database shows the node, and have it as their owner", () =>
    Effect.gen(function* () {
      yield* clearQueues
      const sql = yield* PgClient.PgClient
      const receiver = yield* Receiver
      const { url } = yield* TestDatabase
      const id = yield* newId
      const organizationId = yield* createOrganization
      yield* createEndpoint(organizationId)
      const owners: Array<string | null> = []
      receiver.respond = () =>
        Effect.map(
          Effect.orDie(sql<{ owner: string | null }>`
            SELECT owner FROM webhook_queue WHERE organization_id = ${organizationId}`),
          (rows) => {
            owners.push(...rows.map(({ owner }) => owner))
            return respondWith(200)
          },
        )
      const liveness = Layer.succeed(Liveness, Liveness.of({ id: Effect.succeed(id) }))
      yield* startNodeOn(nodeLayerWith(liveness), { unseenFor: Duration.minutes(1) })
      yield* emitEvent(organizationId)
      yield* waitUntil(
        "the node has published the event",
        Effect.orDie(Effect.map(queueOf(organizationId), (queue) => queue.length === 1)),
      )
      assert.deepStrictEqual(owners, [])
      yield* PgConnection.make({ url, applicationName: applicationNameOf(id) })
      yield* waitUntil(
        "the delivery is made",
        Effect.sync(() => owners.length > 0),
      )
      assert.deepStrictEqual(owners, [id])
    }).pipe(Effect.scoped, Effect.provide(Receiver.layer)),
  )
})
