/** Endpoints, events and receivers of the engine's tests. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Events } from "../../src/domains/events/Service.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import type { EventName } from "../../src/kernel/contract/Event.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { layer as internalProvider } from "../../src/domains/webhooks/outbox/QueueProvider.ts"
import { engine } from "../../src/domains/webhooks/Layer.ts"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { DeliveryLimits } from "../../src/domains/webhooks/DeliveryLimits.ts"
import type { Limits } from "../../src/domains/webhooks/DeliveryLimits.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { SigningSecrets } from "../../src/domains/webhooks/endpoints/SigningSecrets.ts"
import { WebhookSender } from "../../src/domains/webhooks/delivery/Sender.ts"
import type { AttemptOutcome, WebhookRequest } from "../../src/domains/webhooks/delivery/Sender.ts"
import { layer as worker } from "../../src/domains/webhooks/delivery/Worker.ts"

/** An answer with this status. */
export const respondWith = (statusCode: number): AttemptOutcome => ({ statusCode, responseBody: "", error: null })

/** A request as the receiver saw it. */
export type Received = WebhookRequest & { readonly at: Date }

/** A receiver in memory: what it saw, and what it answers. */
export class Receiver extends Context.Service<
  Receiver,
  {
    readonly received: Array<Received>
    /** How it answers from now on; 200 at first. */
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

/** When tests on a clock of their own begin. */
export const START = Date.UTC(2026, 0, 31, 9)

/** A test with a receiver, on a clock of its own. */
export const withTestClock = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.andThen(TestClock.setTime(START), test).pipe(Effect.provide(Receiver.layer), Effect.provide(TestClock.layer()))

/** Takes away what other tests left to do: nodes work for the whole database. */
export const clearQueues = Effect.flatMap(
  PgClient.PgClient,
  (sql) => sql`TRUNCATE webhook_queue, webhook_lanes, webhook_outbox`,
)

/** The engine of one node, delivering to the receiver in memory. */
export const nodeLayer = Layer.mergeAll(engine, internalProvider).pipe(
  Layer.provideMerge(engine),
  Layer.provide(receiverSender),
)

/** A node that works until the scope closes, as a process with the role `dispatcher` does. */
export const startNode = (limits: Partial<Limits> = {}) =>
  Effect.gen(function* () {
    const usual: Limits = yield* DeliveryLimits
    const all: Limits = { ...usual, ...limits }
    yield* Layer.build(
      Layer.fresh(worker.pipe(Layer.provide(nodeLayer), Layer.provide(Layer.succeed(DeliveryLimits, all)))),
    )
  })

/** Waits for something, 20 s at most. */
export const waitUntil = <R>(what: string, condition: Effect.Effect<boolean, never, R>) =>
  Effect.gen(function* () {
    const deadline = Date.now() + 20_000
    while (!(yield* condition)) {
      if (Date.now() > deadline) return yield* Effect.die(new Error(`It never happened that ${what}`))
      yield* Effect.sleep("10 millis")
    }
  })

/** Fans out everything and makes all attempts that are due; answers how many attempts. */
export const deliverEverything = Effect.gen(function* () {
  const provider = yield* WebhookProvider
  const deliveries = yield* Deliveries
  while ((yield* provider.publishDue) > 0) continue
  return yield* deliveries.deliverDue
})

/** A new organization. */
export const createOrganization = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const id = yield* newId
  const at = yield* now
  const by = sql.json(platformIdentity)
  yield* sql`
    INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
    VALUES (${id}, ${id}, ${id}, ${at}, ${by}, ${at}, ${by})`
  return id
})

/** A new endpoint with a secret. */
export const createEndpoint = Effect.fnUntraced(function* (
  organizationId: string,
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

/** Emits an event in a transaction of its own. */
export const emitEvent = Effect.fnUntraced(function* (
  organizationId: string,
  type: EventName = "COMPONENT_CREATED",
  data: object = { name: "part" },
) {
  const events = yield* Events
  const transactions = yield* Transactions
  yield* transactions.run(events.emit({ organizationId, actor: platformIdentity }, type, data))
})

/** Attempts of an organization as they are stored, oldest first. */
export const attemptsOf = Effect.fnUntraced(function* (organizationId: string) {
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

/** Rows of the queue of an organization. */
export const queueOf = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* PgClient.PgClient
  return yield* sql<{ id: string; attempt: number; dueAt: Date; lease: string | null; claims: number }>`
    SELECT id, attempt, due_at AS "dueAt", lease, claims FROM webhook_queue
    WHERE organization_id = ${organizationId} ORDER BY id`
})
