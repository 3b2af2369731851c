/** Endpoints, events, nodes and a receiver for tests of the delivery engine. */
import { PgClient } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem, platformIdentity } from "../../src/kernel/contract/Caller.ts"
import type { RecordEventName } from "../../src/kernel/contract/Event.ts"
import { Liveness } from "../../src/kernel/ports/Liveness.ts"
import { NodeId } from "../../src/kernel/ports/NodeId.ts"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { layer as queueProvider } from "../../src/domains/webhooks/outbox/QueueProvider.ts"
import { engine } from "../../src/domains/webhooks/Layer.ts"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { DeliveryLimits } from "../../src/domains/webhooks/DeliveryLimits.ts"
import type { Limits } from "../../src/domains/webhooks/DeliveryLimits.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { SigningSecrets } from "../../src/domains/webhooks/endpoints/SigningSecrets.ts"
import { WebhookSender } from "../../src/domains/webhooks/delivery/Sender.ts"
import type { AttemptOutcome, WebhookRequest } from "../../src/domains/webhooks/delivery/Sender.ts"
import { layer as worker } from "../../src/domains/webhooks/delivery/Worker.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

allowInventedEvents()

/** A response with this status. */
export const respondWith = (statusCode: number): AttemptOutcome => ({ statusCode, responseBody: "", error: null })

/** A request that the receiver received. */
type Received = WebhookRequest & { readonly at: Date }

/** A receiver in memory: the requests it received, and how it responds. */
export class Receiver extends Context.Service<
  Receiver,
  {
    readonly received: Array<Received>
    /** How it responds; by default with 200. */
    respond: (request: WebhookRequest) => Effect.Effect<AttemptOutcome>
  }
>()("keyshelf/test/Receiver") {
  static readonly layer = Layer.sync(Receiver, () => ({
    received: [],
    respond: () => Effect.succeed(respondWith(200)),
  }))
}

/** Sends to the receiver in memory. */
export const receiverSender = Layer.effect(
  WebhookSender,
  Effect.gen(function* () {
    const receiver = yield* Receiver
    return WebhookSender.of({
      send: (request) =>
        Effect.gen(function* () {
          receiver.received.push({ ...request, at: yield* now })
          return yield* receiver.respond(request)
        }),
    })
  }),
)

/** The start time of tests with a test clock. */
export const START = Date.UTC(2026, 0, 31, 9)

/** Runs a test with a receiver and a test clock. */
export const withTestClock = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.andThen(TestClock.setTime(START), test).pipe(Effect.provide(Receiver.layer), Effect.provide(TestClock.layer()))

/** Deletes the deliveries of other tests, because a node serves the whole database. */
export const clearQueues = Effect.flatMap(
  PgClient.PgClient,
  (sql) => sql`TRUNCATE webhook_queue, webhook_lanes, webhook_outbox`,
)

/** The sign of life of a node with direct connections. */
export const directLiveness = Layer.effect(
  Liveness,
  Effect.gen(function* () {
    const signals = yield* Signals
    const nodeId = yield* NodeId
    return Liveness.of({ id: Effect.map(signals.listening, (listening) => (listening ? nodeId : null)) })
  }),
)

/** The engine of one node with this sign of life, delivering to the receiver in memory. */
export const nodeLayerWith = <E, R>(liveness: Layer.Layer<Liveness, E, R>) =>
  Layer.mergeAll(engine, queueProvider).pipe(
    Layer.provideMerge(engine),
    Layer.provide(liveness),
    Layer.provide(receiverSender),
  )

/** The engine of one node, delivering to the receiver in memory. */
export const nodeLayer = nodeLayerWith(directLiveness)

/** Starts a node with this engine that works until the scope closes, like a process with the role `dispatcher`. */
export const startNodeOn = <ROut, E, R>(engineOfNode: Layer.Layer<ROut, E, R>, limits: Partial<Limits> = {}) =>
  Effect.gen(function* () {
    const defaults: Limits = yield* DeliveryLimits
    // The connections of tests do not carry the id of a node.
    const all: Limits = { ...defaults, unseenFor: Duration.zero, ...limits }
    yield* Layer.build(
      Layer.fresh(worker.pipe(Layer.provide(engineOfNode), Layer.provide(Layer.succeed(DeliveryLimits, all)))),
    )
  })

/** Starts a node that works until the scope closes. */
export const startNode = (limits: Partial<Limits> = {}) => startNodeOn(nodeLayer, limits)

/** Waits up to 20 s for a condition. */
export const waitUntil = <R>(what: string, condition: Effect.Effect<boolean, never, R>) =>
  Effect.gen(function* () {
    const deadline = Date.now() + 20_000
    while (!(yield* condition)) {
      if (Date.now() > deadline) return yield* Effect.die(new Error(`Timed out: ${what}`))
      yield* Effect.sleep("10 millis")
    }
  })

/** Publishes all events and makes all attempts that are due. Returns how many attempts. */
export const deliverEverything = Effect.gen(function* () {
  const provider = yield* WebhookProvider
  const deliveries = yield* Deliveries
  while ((yield* provider.publishDue) > 0) continue
  return yield* deliveries.deliverDue
})

/** Creates an organization. */
export const createOrganization = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const id = organizationIdOf(yield* newId)
  const at = yield* now
  const by = sql.json(platformIdentity)
  yield* sql`
    INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
    VALUES (${id}, ${id}, ${id}, ${at}, ${by}, ${at}, ${by})`
  return id
})

/** Creates an endpoint with a secret. */
export const createEndpoint = Effect.fnUntraced(function* (
  organizationId: OrganizationId,
  options: { readonly eventNames?: ReadonlyArray<string>; readonly url?: string; readonly createdAt?: Date } = {},
) {
  const sql = yield* PgClient.PgClient
  const secrets = yield* SigningSecrets
  const transactions = yield* Transactions
  const id = yield* newId
  const at = options.createdAt ?? (yield* now)
  const by = sql.json(platformIdentity)
  yield* sql`
    INSERT INTO webhook_endpoints (organization_id, id, url, event_names, created_at, created_by, updated_at, updated_by)
    VALUES (${organizationId}, ${id}, ${options.url ?? `https://${id}.example/`}, ${options.eventNames ?? ["*"]}::text[],
      ${at}, ${by}, ${at}, ${by})`
  const secret = yield* transactions.run(secrets.issue(organizationId, id))
  return { id, secret }
})

/** Emits an event in a transaction. */
export const emitEvent = Effect.fnUntraced(function* (
  organizationId: OrganizationId,
  type: RecordEventName = "COMPONENT_CREATED",
  data: object = { name: "part" },
) {
  const events = yield* Events
  const transactions = yield* Transactions
  yield* transactions.run(events.emit({ ...bySystem, organizationId }, type, data))
})

/** Reads the stored attempts of an organization, oldest first. */
export const attemptsOf = Effect.fnUntraced(function* (organizationId: OrganizationId) {
  const sql = yield* PgClient.PgClient
  return yield* sql<{
    id: string
    deliveryId: string
    endpointId: string
    attempt: number
    state: string
    statusCode: number | null
    error: string | null
    timestamp: Date
    nextAttemptAt: Date | null
    responseBody: string | null
  }>`
    SELECT id, delivery_id AS "deliveryId", endpoint_id AS "endpointId", attempt, state, status_code AS "statusCode",
      error, "timestamp", next_attempt_at AS "nextAttemptAt", response_body AS "responseBody"
    FROM webhook_attempts WHERE organization_id = ${organizationId} ORDER BY "timestamp", id`
})

/** Reads the queue of an organization. */
export const queueOf = Effect.fnUntraced(function* (organizationId: OrganizationId) {
  const sql = yield* PgClient.PgClient
  return yield* sql<{ id: string; attempt: number; dueAt: Date; lease: string | null; claims: number }>`
    SELECT id, attempt, due_at AS "dueAt", lease, claims FROM webhook_queue
    WHERE organization_id = ${organizationId} ORDER BY id`
})
