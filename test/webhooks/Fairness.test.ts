import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Scope } from "effect"
import { WebhookQueue } from "../../src/domains/webhooks/queue/Queue.ts"
import { QueueRepo } from "../../src/domains/webhooks/queue/QueueRepo.ts"
import { testServices } from "../support/TestService.ts"
import {
  respondWith,
  attemptsOf,
  clearQueues,
  emitEvent,
  createEndpoint,
  createOrganization,
  Receiver,
  startNode,
  waitUntil,
} from "./EngineFixture.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

/** Enqueues this many deliveries of one event, due now. */
const enqueue = Effect.fnUntraced(function* (organizationId: OrganizationId, endpointId: string, count: number) {
  const sql = yield* PgClient.PgClient
  const queue = yield* QueueRepo
  yield* emitEvent(organizationId, "TOKEN_ISSUED")
  const [event] = yield* sql<{ id: string; at: Date }>`
    SELECT id, occurred_at AS at FROM events WHERE organization_id = ${organizationId} AND type = 'TOKEN_ISSUED' LIMIT 1`
  if (event === undefined) return yield* Effect.die("no event")
  yield* sql`
    INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
    SELECT ${organizationId}, gen_random_uuid(), ${endpointId}, ${event.id}, 'TOKEN_ISSUED', 1, ${event.at}
    FROM generate_series(1, ${count})`
  yield* queue.lowerLaneHeads([{ organizationId, endpointId, dueAt: event.at }])
})

const onNodes = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.andThen(clearQueues, Effect.scoped(test)).pipe(Effect.provide(Receiver.layer))

/** Makes receivers respond immediately to this many requests, and block all later ones until the test continues. */
const blockAfter = Effect.fnUntraced(function* (after: number) {
  const receiver = yield* Receiver
  const blocked = yield* Deferred.make<void>()
  let inFlight = 0
  let maxInFlight = 0
  receiver.respond = () =>
    Effect.gen(function* () {
      maxInFlight = Math.max(maxInFlight, ++inFlight)
      if (receiver.received.length > after) yield* Deferred.await(blocked)
      inFlight--
      return respondWith(200)
    })
  return { inFlight: () => inFlight, maxInFlight: () => maxInFlight, unblock: Deferred.succeed(blocked, undefined) }
})

/** How many deliveries are claimed. */
const leasedCount = Effect.flatMap(PgClient.PgClient, (sql) =>
  Effect.map(
    Effect.orDie(sql<{ leased: number }>`SELECT count(*)::int AS leased FROM webhook_queue WHERE lease IS NOT NULL`),
    ([row]) => row?.leased ?? 0,
  ),
)

layer(testServices, { excludeTestServices: true })("several nodes", (it) => {
  it.effect("two nodes make each delivery once", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const organizationId = yield* createOrganization
        for (let number = 0; number < 10; number++) yield* createEndpoint(organizationId)
        receiver.respond = () => Effect.as(Effect.sleep("2 millis"), respondWith(200))
        yield* startNode()
        yield* startNode()
        yield* Effect.forEach(Array.from({ length: 40 }), () => emitEvent(organizationId), {
          concurrency: 4,
          discard: true,
        })
        yield* waitUntil(
          "400 attempts were stored",
          Effect.map(Effect.orDie(attemptsOf(organizationId)), (attempts) => attempts.length >= 400),
        )
        assert.strictEqual(receiver.received.length, 400)
        assert.strictEqual(new Set(receiver.received.map(({ deliveryId }) => deliveryId)).size, 400)
        assert.isTrue(
          (yield* attemptsOf(organizationId)).every(({ attempt, state }) => attempt === 1 && state === "Success"),
        )
      }),
    ),
  )

  it.effect("an endpoint has at maxInFlight four deliveries in flight, over all nodes", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        let inFlight = 0
        let maxInFlight = 0
        receiver.respond = () =>
          Effect.sync(() => (maxInFlight = Math.max(maxInFlight, ++inFlight))).pipe(
            Effect.andThen(Effect.sleep("3 millis")),
            Effect.andThen(Effect.sync(() => void inFlight--)),
            Effect.as(respondWith(200)),
          )
        yield* enqueue(organizationId, id, 300)
        yield* startNode()
        yield* startNode()
        yield* startNode()
        yield* waitUntil(
          "all 301 were sent",
          Effect.sync(() => receiver.received.length >= 301),
        )
        assert.strictEqual(maxInFlight, 4)
      }),
    ),
  )

  it.effect("a hanging endpoint with thousands of due deliveries does not delay others", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const noisy = yield* createOrganization
        const hanging = yield* createEndpoint(noisy)
        const healthy = new Map<string, OrganizationId>()
        for (let number = 0; number < 50; number++) {
          const organizationId = yield* createOrganization
          healthy.set((yield* createEndpoint(organizationId)).id, organizationId)
        }
        const lags: Array<number> = []
        receiver.respond = (request) =>
          request.endpointId === hanging.id
            ? Effect.never
            : Effect.sync(() => {
                lags.push(Date.now() - Date.parse(JSON.parse(request.body).timestamp))
                return respondWith(200)
              })
        yield* enqueue(noisy, hanging.id, 5000)
        yield* startNode({ concurrency: 32, shutdownTimeout: Duration.millis(50) })
        yield* waitUntil(
          "the hanging endpoint reached its limit",
          Effect.sync(() => receiver.received.length === 4),
        )
        for (let round = 0; round < 4; round++) {
          yield* Effect.forEach(healthy.values(), (organizationId) => emitEvent(organizationId), {
            concurrency: 4,
            discard: true,
          })
        }
        yield* waitUntil(
          "all healthy endpoints received their events",
          Effect.sync(() => lags.length >= 200),
        )
        assert.isBelow(Math.max(...lags), 2000)
        assert.strictEqual(receiver.received.filter(({ endpointId }) => endpointId === hanging.id).length, 4)
      }),
    ),
  )

  it.effect("an organization whose endpoints all hang does not exceed its limit", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const hanging = yield* createOrganization
        for (let number = 0; number < 40; number++) yield* createEndpoint(hanging)
        const other = yield* createOrganization
        yield* createEndpoint(other)
        const answered = yield* Deferred.make<void>()
        receiver.respond = ({ organizationId }) =>
          organizationId === hanging ? Effect.never : Effect.as(Deferred.succeed(answered, undefined), respondWith(200))
        for (let number = 0; number < 3; number++) yield* emitEvent(hanging)
        yield* startNode({ concurrency: 64, perOrganization: 32, shutdownTimeout: Duration.millis(50) })
        const ofHanging = Effect.sync(() =>
          receiver.received.filter(({ organizationId }) => organizationId === hanging),
        )
        yield* waitUntil(
          "the organization reached its limit",
          Effect.map(ofHanging, (requests) => requests.length >= 32),
        )
        yield* emitEvent(other)
        yield* Effect.timeout(Deferred.await(answered), "2 seconds")
        assert.strictEqual((yield* ofHanging).length, 32)
      }),
    ),
  )

  it.effect("an organization with fast endpoints has more deliveries claimed, but not more in flight", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const organizationId = yield* createOrganization
        for (let number = 0; number < 10; number++) yield* createEndpoint(organizationId)
        const responses = yield* blockAfter(60)
        for (let number = 0; number < 20; number++) yield* emitEvent(organizationId)
        yield* startNode({ perOrganization: 8, organizationAhead: 32 })
        yield* waitUntil(
          "more are claimed than are in flight",
          Effect.map(leasedCount, (count) => responses.inFlight() === 8 && count >= 24),
        )
        yield* responses.unblock
        yield* waitUntil(
          "all are stored",
          Effect.map(Effect.orDie(attemptsOf(organizationId)), (attempts) => attempts.length >= 200),
        )
        assert.strictEqual(responses.maxInFlight(), 8)
        assert.strictEqual(new Set(receiver.received.map(({ deliveryId }) => deliveryId)).size, 200)
      }),
    ),
  )

  it.effect("a fast endpoint has more deliveries claimed while others are in flight", () =>
    onNodes(
      Effect.gen(function* () {
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        const responses = yield* blockAfter(6)
        yield* enqueue(organizationId, id, 9)
        yield* startNode()
        yield* waitUntil(
          "four are in flight",
          Effect.sync(() => responses.inFlight() === 4),
        )
        yield* enqueue(organizationId, id, 9)
        yield* waitUntil(
          "more are claimed",
          Effect.map(leasedCount, (count) => responses.inFlight() === 4 && count >= 10),
        )
        yield* responses.unblock
        yield* waitUntil(
          "all are stored",
          Effect.map(Effect.orDie(attemptsOf(organizationId)), (attempts) => attempts.length >= 20),
        )
        assert.strictEqual(responses.maxInFlight(), 4)
      }),
    ),
  )

  it.effect("an attempt that is being recorded does not block other deliveries", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const sql = yield* PgClient.PgClient
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        // The event adds one more.
        yield* enqueue(organizationId, id, 20)
        receiver.respond = () => Effect.succeed(respondWith(200))
        const locked = yield* Deferred.make<void>()
        const unlock = yield* Deferred.make<void>()
        const holder = yield* Effect.forkChild(
          sql.withTransaction(
            sql`LOCK TABLE webhook_attempts IN SHARE MODE`.pipe(
              Effect.andThen(Deferred.succeed(locked, undefined)),
              Effect.andThen(Deferred.await(unlock)),
            ),
          ),
        )
        yield* Deferred.await(locked)
        yield* startNode()
        yield* waitUntil(
          "more were sent than can be in flight",
          Effect.sync(() => receiver.received.length > 12),
        )
        assert.lengthOf(yield* attemptsOf(organizationId), 0)
        yield* Deferred.succeed(unlock, undefined)
        yield* Fiber.join(holder)
        yield* waitUntil(
          "all are stored",
          Effect.map(Effect.orDie(attemptsOf(organizationId)), (attempts) => attempts.length === 21),
        )
        assert.lengthOf(new Set(receiver.received.map(({ deliveryId }) => deliveryId)), 21)
        assert.lengthOf(receiver.received, 21)
      }),
    ),
  )

  it.effect("a node that shuts down ends its attempts in flight and releases its claims", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const sql = yield* PgClient.PgClient
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        yield* enqueue(organizationId, id, 50)
        const started = yield* Deferred.make<void>()
        receiver.respond = () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.sleep("100 millis")),
            Effect.as(respondWith(200)),
          )
        const running = yield* Scope.make()
        yield* startNode().pipe(Scope.provide(running))
        yield* Deferred.await(started)
        yield* Scope.close(running, yield* Effect.exit(Effect.void))
        const sent = receiver.received.length
        assert.strictEqual((yield* attemptsOf(organizationId)).length, sent)
        const [{ leased } = { leased: -1 }] = yield* sql<{ leased: number }>`
          SELECT count(*)::int AS leased FROM webhook_queue WHERE organization_id = ${organizationId} AND lease IS NOT NULL`
        assert.strictEqual(leased, 0)
        yield* Effect.sleep("150 millis")
        assert.strictEqual(receiver.received.length, sent)
      }),
    ),
  )

  it.effect("a delivery that was enqueued without a signal is made by the next poll", () =>
    onNodes(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const organizationId = yield* createOrganization
        const { id } = yield* createEndpoint(organizationId)
        assert.isDefined(yield* WebhookQueue)
        yield* startNode({ poll: Duration.millis(50), pollWithoutSignals: Duration.millis(50) })
        yield* enqueue(organizationId, id, 1)
        yield* waitUntil(
          "it was sent",
          Effect.sync(() => receiver.received.length >= 2),
        )
      }),
    ),
  )
})
