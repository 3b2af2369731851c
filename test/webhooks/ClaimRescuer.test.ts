import { PgClient, PgConnection } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Liveness } from "../../src/kernel/ports/Liveness.ts"
import { applicationNameOf, NodeId } from "../../src/kernel/ports/NodeId.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { ClaimRescuer } from "../../src/domains/webhooks/maintenance/ClaimRescuer.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testServices } from "../support/TestService.ts"
import {
  attemptsOf,
  clearQueues,
  emitEvent,
  createEndpoint,
  directLiveness,
  nodeLayerWith,
  createOrganization,
  queueOf,
  Receiver,
  withTestClock,
} from "./EngineFixture.ts"

const eventually = Effect.fnUntraced(function* (what: string, holds: Effect.Effect<boolean>) {
  const deadline = performance.now() + 20_000
  while (!(yield* holds)) {
    if (performance.now() > deadline) return yield* Effect.die(new Error(`Timed out: ${what}`))
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 10)))
  }
})

/** A connection by which other nodes see an id. A test can close and open it. */
const connectionOf = Effect.fnUntraced(function* (id: string) {
  const sql = yield* PgClient.PgClient
  const { url } = yield* TestDatabase
  let line: Scope.Closeable | undefined
  const isSeen = Effect.map(
    Effect.orDie(sql`SELECT 1 FROM pg_stat_activity WHERE application_name = ${applicationNameOf(id)}`),
    (rows) => rows.length > 0,
  )
  const connect = Effect.gen(function* () {
    line = yield* Scope.make()
    yield* PgConnection.make({ url, applicationName: applicationNameOf(id) }).pipe(Scope.provide(line))
  })
  const disconnect = Effect.gen(function* () {
    if (line !== undefined) yield* Scope.close(line, Exit.void)
    yield* eventually(
      "the connection is closed",
      Effect.map(isSeen, (seen) => !seen),
    )
  })
  yield* connect
  yield* Effect.addFinalizer(() => disconnect)
  return { connect, disconnect }
})

/** Starts a node with this sign of life. */
const startedNode = Effect.fnUntraced(function* <E, R>(id: string, liveness: Layer.Layer<Liveness, E, R>) {
  const on = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.provideService(work, NodeId, id)
  const built = yield* on(Layer.build(Layer.fresh(nodeLayerWith(liveness))))
  const here = <A, E, R>(work: Effect.Effect<A, E, R>) => on(Effect.provide(work, built))
  const look = here(Effect.flatMap(ClaimRescuer, (nodes) => nodes.rescueClaims))
  yield* look
  return {
    id,
    look,
    fanOut: here(
      Effect.flatMap(WebhookProvider, ({ publishDue }) => Effect.repeat(publishDue, { while: (n) => n > 0 })),
    ),
    adopt: here(Effect.flatMap(Deliveries, ({ adopt }) => adopt)),
    claim: here(Effect.flatMap(Deliveries, ({ claim }) => claim(10))),
    deliver: (claim: Parameters<Deliveries["Service"]["deliver"]>[0]) =>
      here(Effect.flatMap(Deliveries, ({ deliver }) => deliver(claim))),
    deliverDue: here(Effect.flatMap(Deliveries, ({ deliverDue }) => deliverDue)),
    /** Runs once a second for this many seconds. Returns how many claims it released. */
    lookFor: Effect.fnUntraced(function* (seconds: number) {
      let released = (yield* look).rescued
      for (let second = 0; second < seconds; second++) {
        yield* TestClock.adjust("1 second")
        released += (yield* look).rescued
      }
      return released
    }),
  }
})

/** Starts a node whose connections carry its id, like all without a pooler. */
const connected = Effect.gen(function* () {
  const id = yield* newId
  const signals = yield* Signals
  yield* signals.subscribe("webhooks")
  yield* eventually("signals arrive", signals.listening)
  const connection = yield* connectionOf(id)
  return { ...connection, ...(yield* startedNode(id, directLiveness)) }
})

/** Starts a node behind a pooler, with a session as its sign of life. */
const pooled = Effect.gen(function* () {
  const first = yield* newId
  let session: string | null = first
  const connection = yield* connectionOf(first)
  const node = yield* startedNode(
    yield* newId,
    Layer.succeed(Liveness, Liveness.of({ id: Effect.sync(() => session) })),
  )
  return {
    ...node,
    session: first,
    /** The process dies: its session closes, and nothing more happens on it. */
    die: connection.disconnect,
    /** The living process loses its session. */
    loseSession: Effect.andThen(
      connection.disconnect,
      Effect.sync(() => (session = null)),
    ),
    openSession: Effect.gen(function* () {
      session = yield* newId
      yield* connectionOf(session)
      return session
    }),
  }
})

/** Creates an organization with one pending delivery. */
const createDelivery = Effect.fnUntraced(function* (fanOut: Effect.Effect<unknown>) {
  const organizationId = yield* createOrganization
  yield* createEndpoint(organizationId)
  yield* emitEvent(organizationId)
  yield* fanOut
  return organizationId
})

const ownersOf = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* PgClient.PgClient
  const rows = yield* sql<{ owner: string | null }>`
    SELECT owner FROM webhook_queue WHERE organization_id = ${organizationId}`
  return rows.map(({ owner }) => owner)
})

layer(testServices, { excludeTestServices: true })("nodes that share a queue", (it) => {
  it.effect("a claim of a node is taken over five seconds after the node's last connection closed", () =>
    withTestClock(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const dead = yield* connected
        const other = yield* connected
        const organizationId = yield* createDelivery(dead.fanOut)
        assert.strictEqual((yield* dead.claim).length, 1)
        assert.deepStrictEqual(yield* ownersOf(organizationId), [dead.id])
        yield* dead.disconnect
        assert.strictEqual(yield* other.lookFor(4), 0)
        yield* other.deliverDue
        assert.strictEqual(receiver.received.length, 0)
        assert.strictEqual(yield* other.lookFor(1), 1)
        assert.strictEqual(yield* other.deliverDue, 1)
        assert.strictEqual(receiver.received.length, 1)
        assert.deepStrictEqual(
          (yield* attemptsOf(organizationId)).map(({ attempt, state }) => [attempt, state]),
          [[1, "Success"]],
        )
        assert.deepStrictEqual(yield* queueOf(organizationId), [])
      }),
    ),
  )

  it.effect("a suspended node keeps its claims until their leases expire", () =>
    withTestClock(
      Effect.gen(function* () {
        const slow = yield* connected
        const other = yield* connected
        yield* createDelivery(slow.fanOut)
        yield* slow.claim
        assert.strictEqual(yield* other.lookFor(55), 0)
        assert.strictEqual(yield* other.deliverDue, 0)
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* other.deliverDue, 1)
      }),
    ),
  )

  it.effect("a node that reconnects in time, as after a restart of the database, keeps its claims", () =>
    withTestClock(
      Effect.gen(function* () {
        const away = yield* connected
        const other = yield* connected
        yield* createDelivery(away.fanOut)
        yield* away.claim
        for (let time = 0; time < 3; time++) {
          yield* away.disconnect
          assert.strictEqual(yield* other.lookFor(4), 0)
          yield* away.connect
          assert.strictEqual(yield* other.lookFor(1), 0)
        }
        yield* away.disconnect
        assert.strictEqual(yield* other.lookFor(5), 1)
        assert.strictEqual(yield* other.deliverDue, 1)
      }),
    ),
  )

  it.effect("runs with a gap between them release nothing: the rescuing node may have been suspended", () =>
    withTestClock(
      Effect.gen(function* () {
        const dead = yield* connected
        const other = yield* connected
        yield* createDelivery(dead.fanOut)
        yield* dead.claim
        yield* dead.disconnect
        assert.strictEqual(yield* other.lookFor(0), 0)
        yield* TestClock.adjust("8 seconds")
        assert.strictEqual(yield* other.lookFor(4), 0)
        assert.strictEqual(yield* other.lookFor(1), 1)
        assert.strictEqual(yield* other.deliverDue, 1)
      }),
    ),
  )

  it.effect("two nodes that find the same node terminated release its claims once", () =>
    withTestClock(
      Effect.gen(function* () {
        const dead = yield* connected
        const one = yield* connected
        const two = yield* connected
        for (let number = 0; number < 5; number++) yield* createDelivery(dead.fanOut)
        assert.strictEqual((yield* dead.claim).length, 5)
        yield* dead.disconnect
        yield* Effect.all([one.lookFor(0), two.lookFor(0)])
        let released = 0
        for (let second = 0; second < 5; second++) {
          yield* TestClock.adjust("1 second")
          const looks = yield* Effect.all([one.look, two.look], { concurrency: 2 })
          released += looks[0].rescued + looks[1].rescued
        }
        assert.strictEqual(released, 5)
        assert.strictEqual((yield* one.deliverDue) + (yield* two.deliverDue), 5)
      }),
    ),
  )

  it.effect("the outcome of an attempt whose claim was released is recorded and decides nothing", () =>
    withTestClock(
      Effect.gen(function* () {
        const cutOff = yield* connected
        const other = yield* connected
        const organizationId = yield* createDelivery(cutOff.fanOut)
        const [claim] = yield* cutOff.claim
        if (claim === undefined) return assert.fail("nothing was claimed")
        yield* cutOff.disconnect
        assert.strictEqual(yield* other.lookFor(5), 1)
        const [second] = yield* other.claim
        if (second === undefined) return assert.fail("nothing was released")
        // Its exchange began before the release: by its clock less than five seconds ago.
        yield* cutOff.deliver(claim)
        assert.deepStrictEqual(
          (yield* queueOf(organizationId)).map(({ claims, lease }) => [claims, lease]),
          [[2, second.row.lease]],
        )
        yield* other.deliver(second)
        assert.deepStrictEqual(yield* queueOf(organizationId), [])
        const attempts = yield* attemptsOf(organizationId)
        assert.sameMembers(
          attempts.map(({ id }) => id),
          [claim.row.lease, second.row.lease],
        )
        assert.deepStrictEqual([...new Set(attempts.map(({ attempt }) => attempt))], [1])
      }),
    ),
  )

  it.effect("a delivery that terminates every node that claims it is abandoned after three claims", () =>
    withTestClock(
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const last = yield* connected
        const organizationId = yield* createDelivery(last.fanOut)
        for (let number = 0; number < 3; number++) {
          const victim = yield* connected
          assert.strictEqual((yield* victim.claim).length, 1)
          yield* victim.disconnect
          assert.strictEqual(yield* last.lookFor(5), 1)
        }
        yield* last.deliverDue
        assert.strictEqual(receiver.received.length, 0)
        const [abandoned] = yield* attemptsOf(organizationId)
        assert.match(abandoned?.error ?? "", /^abandoned: /)
        assert.deepStrictEqual(
          (yield* queueOf(organizationId)).map(({ attempt }) => attempt),
          [2],
        )
      }),
    ),
  )

  it.effect("behind a pooler, a claim is taken over five seconds after the session of its node closed", () =>
    withTestClock(
      Effect.gen(function* () {
        yield* clearQueues
        const receiver = yield* Receiver
        const dead = yield* pooled
        const other = yield* pooled
        const organizationId = yield* createDelivery(dead.fanOut)
        assert.strictEqual((yield* dead.claim).length, 1)
        assert.deepStrictEqual(yield* ownersOf(organizationId), [dead.session])
        assert.strictEqual(yield* other.lookFor(20), 0)
        yield* dead.die
        assert.strictEqual(yield* other.lookFor(4), 0)
        assert.strictEqual(yield* other.lookFor(1), 1)
        assert.strictEqual(yield* other.deliverDue, 1)
        assert.strictEqual(receiver.received.length, 1)
      }),
    ),
  )

  it.effect("a node without a pooler and a node with one take over from each other", () =>
    withTestClock(
      Effect.gen(function* () {
        yield* clearQueues
        for (const [first, second] of [
          [yield* pooled, yield* connected],
          [yield* connected, yield* pooled],
        ] as const) {
          yield* createDelivery(first.fanOut)
          assert.strictEqual((yield* first.claim).length, 1)
          assert.strictEqual(yield* second.lookFor(10), 0)
          yield* "die" in first ? first.die : first.disconnect
          assert.strictEqual(yield* second.lookFor(5), 1)
          assert.strictEqual(yield* second.deliverDue, 1)
        }
      }),
    ),
  )

  it.effect("a living node that loses its session keeps its claims until their leases expire", () =>
    withTestClock(
      Effect.gen(function* () {
        yield* clearQueues
        const slow = yield* pooled
        const other = yield* pooled
        const organizationId = yield* createDelivery(slow.fanOut)
        yield* slow.claim
        yield* slow.loseSession
        yield* other.lookFor(2)
        yield* slow.look
        assert.deepStrictEqual(yield* ownersOf(organizationId), [null])
        // The commit of a claim can come after the end of its session.
        const sql = yield* PgClient.PgClient
        yield* sql`UPDATE webhook_queue SET owner = ${slow.session} WHERE organization_id = ${organizationId}`
        const session = yield* slow.openSession
        yield* slow.look
        assert.deepStrictEqual(yield* ownersOf(organizationId), [null])
        assert.strictEqual(yield* other.lookFor(50), 0)
        assert.strictEqual(yield* other.deliverDue, 0)
        const later = yield* createDelivery(slow.fanOut)
        yield* slow.claim
        assert.deepStrictEqual(yield* ownersOf(later), [session])
        yield* TestClock.adjust("8 seconds")
        assert.strictEqual(yield* other.deliverDue, 1)
      }),
    ),
  )

  it.effect("a node adopts the claims of the time before its sign of life was seen", () =>
    withTestClock(
      Effect.gen(function* () {
        yield* clearQueues
        const node = yield* pooled
        const other = yield* pooled
        yield* node.loseSession
        yield* node.look
        const organizationId = yield* createDelivery(node.fanOut)
        yield* node.claim
        yield* node.adopt
        assert.deepStrictEqual(yield* ownersOf(organizationId), [null])
        const session = yield* node.openSession
        yield* node.adopt
        assert.deepStrictEqual(yield* ownersOf(organizationId), [null], "its session has not been seen")
        yield* node.look
        yield* node.adopt
        assert.deepStrictEqual(yield* ownersOf(organizationId), [session])
        yield* node.look
        assert.deepStrictEqual(yield* ownersOf(organizationId), [session], "an earlier session ended, this one did not")
        assert.strictEqual(yield* other.lookFor(10), 0)
      }),
    ),
  )

  it.effect("a claim that is in flight when the sign of life is seen gets its owner too", () =>
    withTestClock(
      Effect.gen(function* () {
        yield* clearQueues
        const sql = yield* PgClient.PgClient
        const node = yield* pooled
        yield* node.loseSession
        yield* node.look
        const organizationId = yield* createDelivery(node.fanOut)
        const isLocked = yield* Deferred.make<void>()
        const mayContinue = yield* Deferred.make<void>()
        const locking = yield* Effect.forkChild(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`LOCK TABLE webhook_lanes IN SHARE MODE`
              yield* Deferred.succeed(isLocked, undefined)
              yield* Deferred.await(mayContinue)
            }),
          ),
        )
        yield* Deferred.await(isLocked)
        const claiming = yield* Effect.forkChild(node.claim)
        yield* eventually(
          "the claim waits",
          Effect.map(
            Effect.orDie(sql`
              SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
              WHERE NOT granted AND relation = 'webhook_lanes'::regclass AND datname = current_database()`),
            (rows) => rows.length > 0,
          ),
        )
        const session = yield* node.openSession
        yield* node.look
        yield* node.adopt
        yield* Deferred.succeed(mayContinue, undefined)
        yield* Fiber.join(locking)
        assert.lengthOf(yield* Fiber.join(claiming), 1)
        assert.deepStrictEqual(yield* ownersOf(organizationId), [session])
      }),
    ),
  )

  it.effect("a node without a sign of life claims without an owner, and only the leases end its claims", () =>
    withTestClock(
      Effect.gen(function* () {
        yield* clearQueues
        const silent = yield* pooled
        const other = yield* connected
        yield* silent.loseSession
        yield* silent.look
        const organizationId = yield* createDelivery(other.fanOut)
        assert.strictEqual((yield* silent.claim).length, 1)
        assert.deepStrictEqual(yield* ownersOf(organizationId), [null])
        assert.strictEqual(yield* other.lookFor(59), 0)
        yield* other.deliverDue
        assert.deepStrictEqual(yield* attemptsOf(organizationId), [])
        yield* TestClock.adjust("1 second")
        yield* other.deliverDue
        assert.strictEqual((yield* attemptsOf(organizationId)).length, 1)
      }),
    ),
  )
})
