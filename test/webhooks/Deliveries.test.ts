import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { BigDecimal, Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem } from "../../src/kernel/contract/Caller.ts"
import { amountOf } from "../../src/kernel/values/Decimal.ts"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { BacklogRemover } from "../../src/domains/webhooks/queue/BacklogRemover.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { WebhookQueue } from "../../src/domains/webhooks/queue/Queue.ts"
import { SigningSecrets } from "../../src/domains/webhooks/endpoints/SigningSecrets.ts"
import { serviceForms } from "../support/forms.ts"
import {
  respondWith,
  attemptsOf,
  emitEvent,
  createEndpoint,
  nodeLayer,
  createOrganization,
  queueOf,
  Receiver,
  START,
  withTestClock,
  deliverEverything,
} from "./EngineFixture.ts"

/** Runs work on a node that was just started. */
const onNode = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.provide(work, Layer.fresh(nodeLayer))

const secondsOf = (dates: ReadonlyArray<{ readonly at: Date }>) => dates.map(({ at }) => (at.getTime() - START) / 1000)

const seconds = [0, 5, 305, 2105, 9305, 38_105]

for (const { form, useCases } of serviceForms) {
  layer(useCases, { excludeTestServices: true })(`deliveries, ${form},`, (it) => {
    it.effect("an event reaches the endpoints that subscribed to its name before it occurred", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            const otherOrganization = yield* createOrganization
            const all = yield* createEndpoint(organizationId)
            const named = yield* createEndpoint(organizationId, {
              eventNames: ["RELEASE_CREATED", "COMPONENT_CREATED"],
            })
            yield* createEndpoint(organizationId, { eventNames: ["RELEASE_CREATED"] })
            yield* createEndpoint(organizationId, { createdAt: new Date(START + 1) })
            yield* createEndpoint(otherOrganization)
            yield* emitEvent(organizationId)
            assert.strictEqual(yield* deliverEverything, 2)
            assert.sameMembers(
              receiver.received.map((request) => request.endpointId),
              [all.id, named.id],
            )
            const attempts = yield* attemptsOf(organizationId)
            assert.deepStrictEqual(
              attempts.map(({ attempt, nextAttemptAt, state, statusCode }) => ({
                attempt,
                nextAttemptAt,
                state,
                statusCode,
              })),
              [1, 1].map((attempt) => ({ attempt, nextAttemptAt: null, state: "Success", statusCode: 200 })),
            )
            assert.deepStrictEqual(yield* queueOf(organizationId), [])
            assert.strictEqual(yield* deliverEverything, 0)
          }),
        ),
      ),
    )

    it.effect("a delivery verifies with the public library, with the new and the old secret of a rotation", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            const { id, secret } = yield* createEndpoint(organizationId)
            const secrets = yield* SigningSecrets
            const transactions = yield* Transactions
            yield* TestClock.setTime(Date.now())
            const second = yield* transactions.run(secrets.issue(organizationId, id))
            yield* emitEvent(organizationId, "COMPONENT_CREATED", { name: "Grüße 🔑" })
            yield* deliverEverything
            const [request] = receiver.received
            if (request === undefined) return assert.fail("nothing was sent")
            for (const one of [secret, second]) {
              const event = new Webhook(Redacted.value(one)).verify(request.body, { ...request.headers })
              assert.deepStrictEqual(Object.keys(event as object), [
                "id",
                "type",
                "timestamp",
                "organizationId",
                "actor",
                "data",
              ])
            }
            assert.strictEqual(request.headers["user-agent"], "Keyshelf")
            assert.strictEqual(request.headers["webhook-id"], JSON.parse(request.body).id)
            assert.throws(() =>
              new Webhook(Redacted.value(secret)).verify(request.body.replace("part", "port") + " ", {
                ...request.headers,
              }),
            )
          }),
        ),
      ),
    )

    it.effect("a response that cannot be stored delays no other outcome, and its attempt is repeated", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            const good = yield* createEndpoint(organizationId)
            const rejectedByDatabase = yield* createEndpoint(organizationId)
            const rejectedByClient = yield* createEndpoint(organizationId)
            receiver.respond = ({ endpointId }) => {
              if (endpointId === rejectedByDatabase.id)
                return Effect.succeed({ ...respondWith(200), responseBody: "a\u0000b" })
              return Effect.succeed(respondWith(endpointId === rejectedByClient.id ? 70_000 : 200))
            }
            yield* emitEvent(organizationId)
            yield* deliverEverything
            assert.deepStrictEqual(
              (yield* attemptsOf(organizationId)).map(({ endpointId }) => endpointId),
              [good.id],
            )
            receiver.respond = () => Effect.succeed(respondWith(200))
            yield* TestClock.adjust("1 hour")
            yield* deliverEverything
            assert.sameMembers(
              (yield* attemptsOf(organizationId)).map(({ endpointId }) => endpointId),
              [good.id, rejectedByDatabase.id, rejectedByClient.id],
            )
            assert.deepStrictEqual(yield* queueOf(organizationId), [])
          }),
        ),
      ),
    )

    it.effect("a delivery contains an amount with all its digits", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            const data = { value: amountOf(BigDecimal.fromStringUnsafe("123456789012345678.5")), plain: 1.5 }
            yield* emitEvent(organizationId, "LICENSE_ENTITLEMENT_ASSIGNED", data)
            yield* deliverEverything
            assert.include(receiver.received[0]?.body, `"data":{"value":123456789012345678.5,"plain":1.5}}`)
          }),
        ),
      ),
    )

    it.effect("a delivery of a change contains what was before, with all digits", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            const grant = { licenseSlug: "pro", value: amountOf(BigDecimal.fromStringUnsafe("123456789012345678.5")) }
            const events = yield* Events
            const transactions = yield* Transactions
            yield* transactions.run(
              events.emitChange({ ...bySystem, organizationId }, "LICENSE_ENTITLEMENT_UPDATED", grant, {
                ...grant,
                value: 2,
              }),
            )
            yield* deliverEverything
            const end = `"data":{"licenseSlug":"pro","value":2},"previous":{"value":123456789012345678.5}}`
            assert.isTrue(receiver.received[0]?.body.endsWith(end), receiver.received[0]?.body)
          }),
        ),
      ),
    )

    for (const restarted of [false, true]) {
      it.effect(
        `a failing delivery is attempted six times by the schedule, then is Failed${restarted ? ", even with restarts in between" : ""}`,
        () =>
          withTestClock(
            Effect.gen(function* () {
              const receiver = yield* Receiver
              receiver.respond = () => Effect.succeed(respondWith(500))
              const organizationId = yield* createOrganization
              yield* createEndpoint(organizationId)
              yield* emitEvent(organizationId)
              const live = Effect.gen(function* () {
                for (const second of seconds) {
                  if (second > 0) {
                    yield* TestClock.setTime(START + second * 1000 - 1)
                    assert.strictEqual(yield* restarted ? onNode(deliverEverything) : deliverEverything, 0)
                  }
                  yield* TestClock.setTime(START + second * 1000)
                  assert.strictEqual(yield* restarted ? onNode(deliverEverything) : deliverEverything, 1)
                }
                yield* TestClock.adjust("30 days")
                assert.strictEqual(yield* restarted ? onNode(deliverEverything) : deliverEverything, 0)
              })
              yield* onNode(live)
              assert.deepStrictEqual(secondsOf(receiver.received), seconds)
              assert.strictEqual(new Set(receiver.received.map((request) => request.headers["webhook-id"])).size, 1)
              const attempts = yield* attemptsOf(organizationId)
              assert.deepStrictEqual(
                attempts.map(({ attempt, state }) => `${attempt} ${state}`),
                ["1 Failure", "2 Failure", "3 Failure", "4 Failure", "5 Failure", "6 Failed"],
              )
              assert.deepStrictEqual(
                attempts.map(({ nextAttemptAt }) => nextAttemptAt?.getTime() ?? null),
                [...seconds.slice(1).map((second) => START + second * 1000), null],
              )
              assert.strictEqual(new Set(attempts.map(({ deliveryId }) => deliveryId)).size, 1)
              assert.deepStrictEqual(yield* queueOf(organizationId), [])
            }),
          ),
      )
    }

    it.effect("a requested retry is made once, whatever its number", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const queue = yield* WebhookQueue
            const events = yield* Events
            const transactions = yield* Transactions
            receiver.respond = () => Effect.succeed(respondWith(500))
            const organizationId = yield* createOrganization
            const { id } = yield* createEndpoint(organizationId)
            const source = { ...bySystem, organizationId }
            const deliveryId = yield* transactions.run(
              Effect.gen(function* () {
                const event = yield* events.record(source, "WEBHOOK_ENDPOINT_TESTED", { id })
                const delivery = {
                  organizationId,
                  endpointId: id,
                  eventId: event.id,
                  eventName: event.type,
                  attempt: 7,
                }
                const deliveryId = yield* queue.enqueue({ ...delivery, dueAt: event.timestamp })
                assert.strictEqual(
                  yield* queue.enqueue({ ...delivery, deliveryId, dueAt: event.timestamp }),
                  deliveryId,
                )
                return deliveryId
              }),
            )
            assert.strictEqual(yield* deliverEverything, 1)
            assert.deepStrictEqual(
              (yield* attemptsOf(organizationId)).map(({ attempt, deliveryId, state }) => ({
                attempt,
                deliveryId,
                state,
              })),
              [{ attempt: 7, deliveryId, state: "Failed" }],
            )
            assert.deepStrictEqual(yield* queueOf(organizationId), [])
          }),
        ),
      ),
    )

    it.effect("the event of a change that was rolled back is not delivered", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const transactions = yield* Transactions
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            yield* transactions.run(Effect.andThen(emitEvent(organizationId), Effect.fail("no"))).pipe(Effect.flip)
            assert.strictEqual(yield* deliverEverything, 0)
            assert.deepStrictEqual(receiver.received, [])
          }),
        ),
      ),
    )

    it.effect(
      "a delivery claimed by a node that died is sent after the lease, with the same id and attempt number",
      () =>
        withTestClock(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            yield* emitEvent(organizationId)
            const [claim] = yield* onNode(
              Effect.gen(function* () {
                const deliveries = yield* Deliveries
                yield* (yield* WebhookProvider).publishDue
                return yield* deliveries.claim(10)
              }),
            )
            yield* TestClock.setTime(START + 59_999)
            assert.strictEqual(yield* onNode(deliverEverything), 0)
            yield* TestClock.setTime(START + 60_000)
            assert.strictEqual(yield* onNode(deliverEverything), 1)
            const [attempt] = yield* attemptsOf(organizationId)
            assert.strictEqual(attempt?.attempt, 1)
            assert.strictEqual(attempt?.deliveryId, claim?.row.id)
            assert.notStrictEqual(attempt?.id, claim?.row.lease)
            assert.strictEqual(receiver.received[0]?.headers["webhook-id"], claim?.row.eventId)
          }),
        ),
    )

    it.effect("a claim that committed without a response is released immediately", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const deliveries = yield* Deliveries
            const sql = yield* PgClient.PgClient
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            yield* emitEvent(organizationId)
            yield* (yield* WebhookProvider).publishDue
            // The claim commits, but its events cannot be read.
            yield* sql`ALTER TABLE events RENAME TO events_away`
            const failed = yield* Effect.exit(deliveries.claim(10))
            yield* sql`ALTER TABLE events_away RENAME TO events`
            assert.isTrue(Exit.isFailure(failed))
            assert.isNotNull((yield* queueOf(organizationId))[0]?.lease)
            yield* deliveries.releaseUnconfirmed
            assert.deepStrictEqual(
              (yield* queueOf(organizationId)).map(({ claims, lease }) => ({ claims, lease })),
              [{ claims: 0, lease: null }],
            )
            assert.strictEqual(yield* deliverEverything, 1)
            assert.strictEqual(receiver.received.length, 1)
          }),
        ),
      ),
    )

    it.effect("an outcome after the lease was lost is recorded and changes nothing else", () =>
      withTestClock(
        Effect.gen(function* () {
          const receiver = yield* Receiver
          const sql = yield* PgClient.PgClient
          const organizationId = yield* createOrganization
          yield* createEndpoint(organizationId)
          yield* emitEvent(organizationId)
          const started = yield* Deferred.make<void>()
          const mayEnd = yield* Deferred.make<void>()
          receiver.respond = () =>
            Deferred.succeed(started, undefined).pipe(
              Effect.andThen(Deferred.await(mayEnd)),
              Effect.as(respondWith(500)),
            )
          const slow = yield* Effect.forkChild(onNode(deliverEverything))
          yield* Deferred.await(started)
          yield* TestClock.setTime(START + 60_000)
          receiver.respond = () => Effect.succeed(respondWith(200))
          assert.strictEqual(yield* onNode(deliverEverything), 1)
          yield* Deferred.succeed(mayEnd, undefined)
          yield* Fiber.join(slow)
          assert.deepStrictEqual(
            (yield* attemptsOf(organizationId)).map(({ attempt, nextAttemptAt, state }) => ({
              attempt,
              nextAttemptAt,
              state,
            })),
            [
              { attempt: 1, nextAttemptAt: null, state: "Failure" },
              { attempt: 1, nextAttemptAt: null, state: "Success" },
            ],
          )
          assert.deepStrictEqual(yield* queueOf(organizationId), [])
          const [row] = yield* sql<{ since: Date | null }>`
          SELECT failing_since AS since FROM webhook_endpoints WHERE organization_id = ${organizationId}`
          assert.isNull(row?.since)
        }),
      ),
    )

    it.effect("an attempt that three claims did not end is abandoned, and does not delay other deliveries", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const organizationId = yield* createOrganization
            const poisoned = yield* createEndpoint(organizationId)
            const healthy = yield* createEndpoint(organizationId)
            receiver.respond = ({ endpointId }) =>
              endpointId === poisoned.id
                ? Effect.die(new Error("thrown by the sender"))
                : Effect.succeed(respondWith(200))
            yield* emitEvent(organizationId)
            for (const minute of [0, 1, 2]) {
              yield* TestClock.setTime(START + minute * 60_000)
              yield* deliverEverything
            }
            assert.deepStrictEqual(
              (yield* attemptsOf(organizationId)).map(({ endpointId }) => endpointId),
              [healthy.id],
            )
            yield* TestClock.setTime(START + 180_000)
            const sent = receiver.received.length
            yield* deliverEverything
            assert.strictEqual(receiver.received.length, sent)
            const [, abandoned] = yield* attemptsOf(organizationId)
            assert.strictEqual(abandoned?.state, "Failure")
            assert.match(abandoned?.error ?? "", /^abandoned: /)
            const [row] = yield* queueOf(organizationId)
            assert.deepStrictEqual(
              { attempt: row?.attempt, claims: row?.claims, dueAt: row?.dueAt.getTime(), lease: row?.lease },
              { attempt: 2, claims: 0, dueAt: START + 185_000, lease: null },
            )
          }),
        ),
      ),
    )

    it.effect(
      "an endpoint whose deliveries all failed for five days is disabled with an event and without a backlog",
      () =>
        withTestClock(
          onNode(
            Effect.gen(function* () {
              const receiver = yield* Receiver
              const sql = yield* PgClient.PgClient
              const organizationId = yield* createOrganization
              const failing = yield* createEndpoint(organizationId)
              const flapping = yield* createEndpoint(organizationId)
              let day = 0
              receiver.respond = ({ endpointId }) =>
                Effect.succeed(respondWith(endpointId === flapping.id && day === 3 ? 204 : 503))
              const disabledAfter = Effect.map(
                sql<{ id: string; disabledAt: Date | null; reason: string | null }>`
              SELECT id, disabled_at AS "disabledAt", disabled_reason AS reason FROM webhook_endpoints
              WHERE organization_id = ${organizationId} AND disabled_at IS NOT NULL`,
                (rows) => rows,
              )
              for (; day < 5; day++) {
                yield* TestClock.setTime(START + day * 86_400_000)
                yield* emitEvent(organizationId)
                yield* deliverEverything
                assert.deepStrictEqual(yield* disabledAfter, [])
              }
              yield* TestClock.setTime(START + 5 * 86_400_000)
              yield* emitEvent(organizationId)
              yield* deliverEverything
              const disabled = yield* disabledAfter
              assert.deepStrictEqual(
                disabled.map(({ id }) => id),
                [failing.id],
              )
              assert.match(disabled[0]?.reason ?? "", /5 days/)
              const [{ pending } = { pending: -1 }] = yield* sql<{ pending: number }>`
            SELECT count(*)::int AS pending FROM webhook_queue WHERE endpoint_id = ${failing.id}`
              assert.strictEqual(pending, 0)
              const [event] = yield* sql<{ data: { id: string; disabledAt: string } }>`
            SELECT data FROM events WHERE organization_id = ${organizationId} AND type = 'WEBHOOK_ENDPOINT_DISABLED'`
              assert.strictEqual(event?.data.id, failing.id)
              assert.strictEqual(event?.data.disabledAt, new Date(START + 5 * 86_400_000).toISOString())
              yield* emitEvent(organizationId)
              receiver.received.length = 0
              yield* deliverEverything
              assert.isFalse(receiver.received.some(({ endpointId }) => endpointId === failing.id))
            }),
          ),
        ),
    )

    it.effect("a deleted endpoint is sent nothing, and its attempts in flight end without an effect", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const sql = yield* PgClient.PgClient
            const backlogs = yield* BacklogRemover
            const transactions = yield* Transactions
            const organizationId = yield* createOrganization
            const { id } = yield* createEndpoint(organizationId)
            const started = yield* Deferred.make<void>()
            const mayEnd = yield* Deferred.make<void>()
            receiver.respond = () =>
              Deferred.succeed(started, undefined).pipe(
                Effect.andThen(Deferred.await(mayEnd)),
                Effect.as(respondWith(500)),
              )
            for (let number = 0; number < 6; number++) yield* emitEvent(organizationId)
            const sending = yield* Effect.forkChild(deliverEverything)
            yield* Deferred.await(started)
            yield* transactions.run(
              Effect.gen(function* () {
                yield* sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`
                yield* backlogs.deleteBatch({ organizationId, endpointId: id })
              }),
            )
            yield* backlogs.deleteInBackground({ organizationId, endpointId: id })
            const sent = receiver.received.length
            yield* Deferred.succeed(mayEnd, undefined)
            yield* Fiber.join(sending)
            yield* TestClock.adjust("1 hour")
            yield* deliverEverything
            assert.strictEqual(receiver.received.length, sent)
            assert.strictEqual((yield* attemptsOf(organizationId)).length, sent)
            assert.deepStrictEqual(yield* queueOf(organizationId), [])
          }),
        ),
      ),
    )

    it.effect("a delivery whose endpoint no longer exists is not sent", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const sql = yield* PgClient.PgClient
            const organizationId = yield* createOrganization
            const { id } = yield* createEndpoint(organizationId)
            yield* emitEvent(organizationId)
            yield* (yield* WebhookProvider).publishDue
            yield* sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`
            yield* deliverEverything
            assert.deepStrictEqual(receiver.received, [])
            // The claim deletes the backlog in the background.
            const left = yield* TestClock.withLive(
              queueOf(organizationId).pipe(
                Effect.delay("10 millis"),
                Effect.repeat({ until: (rows) => rows.length === 0, times: 500 }),
              ),
            )
            assert.deepStrictEqual(left, [])
          }),
        ),
      ),
    )

    it.effect("a disabled endpoint is sent test events but not its backlog", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const sql = yield* PgClient.PgClient
            const events = yield* Events
            const queue = yield* WebhookQueue
            const transactions = yield* Transactions
            const organizationId = yield* createOrganization
            const { id } = yield* createEndpoint(organizationId)
            for (let number = 0; number < 3; number++) yield* emitEvent(organizationId)
            yield* (yield* WebhookProvider).publishDue
            yield* sql`UPDATE webhook_endpoints SET disabled_at = ${new Date(START)} WHERE id = ${id}`
            const tested = yield* transactions.run(
              Effect.gen(function* () {
                const source = { ...bySystem, organizationId }
                const event = yield* events.record(source, "WEBHOOK_ENDPOINT_TESTED", { id })
                yield* queue.enqueue({
                  organizationId,
                  endpointId: id,
                  eventId: event.id,
                  eventName: event.type,
                  dueAt: event.timestamp,
                })
                return event.id
              }),
            )
            yield* deliverEverything
            assert.deepStrictEqual(
              receiver.received.map(({ eventId }) => eventId),
              [tested],
            )
          }),
        ),
      ),
    )

    it.effect("a delivery whose event is no longer stored becomes Failed without a request", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const receiver = yield* Receiver
            const sql = yield* PgClient.PgClient
            const organizationId = yield* createOrganization
            yield* createEndpoint(organizationId)
            yield* emitEvent(organizationId)
            yield* (yield* WebhookProvider).publishDue
            yield* sql`DELETE FROM events WHERE organization_id = ${organizationId}`
            yield* deliverEverything
            assert.deepStrictEqual(receiver.received, [])
            const [attempt] = yield* attemptsOf(organizationId)
            assert.strictEqual(attempt?.state, "Failed")
            assert.match(attempt?.error ?? "", /^event_gone: /)
          }),
        ),
      ),
    )

    it.effect("an attempt is stored even if its day has no partition yet", () =>
      withTestClock(
        Effect.gen(function* () {
          yield* TestClock.setTime(0)
          const organizationId = yield* createOrganization
          yield* createEndpoint(organizationId)
          yield* emitEvent(organizationId)
          yield* onNode(deliverEverything)
          assert.strictEqual((yield* attemptsOf(organizationId)).length, 1)
        }),
      ),
    )

    it.effect("an event for 1,000 endpoints and 500 events for one endpoint each become deliveries once", () =>
      withTestClock(
        onNode(
          Effect.gen(function* () {
            const sql = yield* PgClient.PgClient
            const provider = yield* WebhookProvider
            const transactions = yield* Transactions
            const wide = yield* createOrganization
            const long = yield* createOrganization
            yield* transactions.run(
              Effect.gen(function* () {
                yield* sql`
                INSERT INTO webhook_endpoints (organization_id, id, url, event_names, created_at, created_by, updated_at, updated_by)
                SELECT ${wide}, gen_random_uuid(), 'https://wide.example/', '{*}', ${new Date(START)}, '{}', ${new Date(START)}, '{}'
                FROM generate_series(1, 1000)`
                for (let number = 0; number < 5; number++) yield* emitEvent(wide)
              }),
            )
            yield* createEndpoint(long)
            yield* transactions.run(
              Effect.forEach(Array.from({ length: 500 }), () => emitEvent(long), { discard: true }),
            )
            while ((yield* provider.publishDue) > 0) continue
            assert.strictEqual((yield* queueOf(wide)).length, 5000)
            assert.strictEqual((yield* queueOf(long)).length, 500)
            const left = yield* sql`SELECT 1 FROM webhook_outbox WHERE organization_id IN (${wide}, ${long})`
            assert.strictEqual(left.length, 0)
            yield* sql`DELETE FROM webhook_queue WHERE organization_id IN (${wide}, ${long})`
          }),
        ),
      ),
    )
  })
}
