import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { serviceForms } from "../support/forms.ts"
import {
  attemptsOf,
  createEndpoint,
  createOrganization,
  deliverEverything,
  emitEvent,
  nodeLayer,
  queueOf,
  Receiver,
  respondWith,
  waitUntil,
} from "./EngineFixture.ts"

const onNode = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  work.pipe(Effect.provide(Layer.fresh(nodeLayer)), Effect.provide(Receiver.layer))

/** Waits until a statement on the queue waits for a row that another transaction has locked. */
const recordingWaits = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  yield* waitUntil(
    "the outcome waits for the locked delivery",
    sql`
      SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%WITH made%'`.pipe(
      Effect.map((rows) => rows.length > 0),
      Effect.orDie,
    ),
  )
})

for (const { form, useCases } of serviceForms) {
  layer(useCases, { excludeTestServices: true })(`the record of an attempt, ${form},`, (it) => {
    for (const status of [200, 500]) {
      it.effect(`an outcome ${status} that is stored while the claim gets another owner ends the claim`, () =>
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const sql = yield* PgClient.PgClient
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            // With the first statement of a connection, PostgreSQL did not show the conflict.
            yield* emitEvent(organizationId)
            assert.strictEqual(yield* deliverEverything, 1)
            yield* emitEvent(organizationId)
            const sent = yield* Deferred.make<void>()
            const ownerIsChanged = yield* Deferred.make<void>()
            const mayCommit = yield* Deferred.make<void>()
            receiver.respond = () =>
              Deferred.succeed(sent, undefined).pipe(
                Effect.andThen(Deferred.await(ownerIsChanged)),
                Effect.as(respondWith(status)),
              )
            const delivering = yield* Effect.forkChild(deliverEverything)
            yield* Deferred.await(sent)
            const changing = yield* Effect.forkChild(
              sql.withTransaction(
                Effect.gen(function* () {
                  yield* sql`
                  UPDATE webhook_queue SET owner = gen_random_uuid() WHERE organization_id = ${organizationId}`
                  yield* Deferred.succeed(ownerIsChanged, undefined)
                  yield* Deferred.await(mayCommit)
                }),
              ),
            )
            yield* recordingWaits
            yield* Deferred.succeed(mayCommit, undefined)
            yield* Fiber.join(changing)
            assert.strictEqual(yield* Fiber.join(delivering), 1)
            const isSuccess = status === 200
            assert.deepStrictEqual(
              (yield* attemptsOf(organizationId))
                .slice(1)
                .map(({ attempt, nextAttemptAt, state }) => [attempt, state, nextAttemptAt === null]),
              [[1, isSuccess ? "Success" : "Failure", isSuccess]],
            )
            assert.deepStrictEqual(
              (yield* queueOf(organizationId)).map(({ attempt, lease }) => [attempt, lease]),
              isSuccess ? [] : [[2, null]],
            )
          }),
        ),
      )
    }
  })
}
