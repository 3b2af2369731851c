import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem } from "../../src/kernel/contract/Caller.ts"
import { Signals } from "../../src/kernel/ports/Signals.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { waitUntil } from "../webhooks/EngineFixture.ts"

allowInventedEvents()

/** An organization with a webhook endpoint, its outbox and its stream. */
const stage = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const sql = yield* PgClient.PgClient
  const events = yield* Events
  const transactions = yield* Transactions
  const { organizationId, token } = yield* tenant()
  yield* core("POST", "/webhooks", { token, body: { url: "https://receiver.example/", eventNames: ["*"] } })
  // Remove the event of the endpoint itself.
  yield* sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId}`
  const source = { ...bySystem, organizationId }
  return {
    sql,
    events,
    transactions,
    source,
    stream: (cursor?: string) =>
      Effect.map(
        core("GET", `/events?type=COMPONENT_CREATED${cursor === undefined ? "" : `&cursor=${cursor}`}`, { token }),
        ({ body }) => body as { nextCursor: string; items: ReadonlyArray<{ id: string; data: { name: string } }> },
      ),
    pending: Effect.map(
      sql<{ id: string; isDue: boolean }>`
        SELECT event_id AS id, due_at = occurred_at AS "isDue" FROM webhook_outbox
        JOIN events ON events.organization_id = webhook_outbox.organization_id AND events.id = event_id
        WHERE webhook_outbox.organization_id = ${organizationId} ORDER BY event_id`,
      (rows) => [...rows],
    ),
    emit: (name: string) => transactions.run(events.emit(source, "COMPONENT_CREATED", { name })),
  }
})

layer(TestService.layer, { excludeTestServices: true })("the webhook outbox", (it) => {
  it.effect("contains an event once its change commits, due at once", () =>
    Effect.gen(function* () {
      const { emit, events, source, stream, transactions, pending } = yield* stage
      yield* emit("sent")
      yield* Effect.flip(
        transactions.run(
          Effect.andThen(events.emit(source, "COMPONENT_CREATED", { name: "ghost" }), Effect.fail("no")),
        ),
      )
      const { items } = yield* stream()
      assert.deepStrictEqual(
        yield* pending,
        items.map(({ id }) => ({ id, isDue: true })),
      )
      assert.deepStrictEqual(
        items.map(({ data }) => data.name),
        ["sent"],
      )
    }),
  )

  it.effect("omits events of an organization without an enabled endpoint, which are still in the stream", () =>
    Effect.gen(function* () {
      const { emit, source, sql, stream, pending } = yield* stage
      const disabled = sql`
        UPDATE webhook_endpoints SET disabled_at = created_at WHERE organization_id = ${source.organizationId}`
      const enabled = sql`
        UPDATE webhook_endpoints SET disabled_at = NULL WHERE organization_id = ${source.organizationId}`
      yield* disabled
      yield* emit("without endpoint")
      assert.deepStrictEqual(yield* pending, [])
      yield* enabled
      yield* emit("with endpoint")
      const { items } = yield* stream()
      assert.deepStrictEqual(
        items.map(({ data }) => data.name),
        ["without endpoint", "with endpoint"],
      )
      assert.deepStrictEqual(
        (yield* pending).map(({ id }) => id),
        items.slice(1).map(({ id }) => id),
      )
    }),
  )

  it.effect("omits recorded events, which are still in the stream", () =>
    Effect.gen(function* () {
      const { events, source, stream, transactions, pending } = yield* stage
      const recorded = yield* transactions.run(events.record(source, "COMPONENT_CREATED", { name: "recorded" }))
      const { items } = yield* stream()
      assert.deepStrictEqual(items[0], JSON.parse(JSON.stringify(recorded)))
      assert.deepStrictEqual(yield* pending, [])
    }),
  )

  it.effect("wakes deliveries and stream readers after the commit", () =>
    Effect.gen(function* () {
      const { emit, events, source, transactions } = yield* stage
      const signals = yield* Signals
      const [webhooks, readers] = [yield* signals.subscribe("webhooks"), yield* signals.subscribe("events")]
      yield* emit("one")
      yield* webhooks
      yield* readers
      yield* transactions.run(events.record(source, "COMPONENT_CREATED", { name: "two" }))
      yield* readers
    }),
  )

  it.effect("does not wake deliveries if no outbox row is stored", () =>
    Effect.gen(function* () {
      const { emit, source, sql, events } = yield* stage
      yield* sql`UPDATE webhook_endpoints SET disabled_at = created_at WHERE organization_id = ${source.organizationId}`
      const signals = yield* Signals
      const readers = yield* signals.subscribe("events")
      // Connecting for signals of other nodes wakes every subscriber once, so that is done first.
      yield* waitUntil("signals of other nodes are received", signals.listening)
      const webhooks = yield* Effect.forkChild(yield* signals.subscribe("webhooks"))
      yield* emit("in a transaction")
      yield* readers
      const change = sql`SELECT 1 AS id`
      assert.isTrue(yield* events.emitWith(change, source, "COMPONENT_CREATED", { name: "with its change" }))
      yield* readers
      assert.isFalse(
        yield* events.emitWith(sql`SELECT 1 AS id WHERE false`, source, "COMPONENT_CREATED", { name: "without one" }),
      )
      assert.isUndefined(webhooks.pollUnsafe())
      yield* sql`UPDATE webhook_endpoints SET disabled_at = NULL WHERE organization_id = ${source.organizationId}`
      assert.isTrue(yield* events.emitWith(change, source, "COMPONENT_CREATED", { name: "with endpoint" }))
      yield* Fiber.join(webhooks)
    }),
  )
})
