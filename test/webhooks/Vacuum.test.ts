import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { testServices } from "../support/TestService.ts"
import { emitEvent, createEndpoint, createOrganization, Receiver, startNode, waitUntil } from "./EngineFixture.ts"

/** How many of the engine's tables were vacuumed, other than by autovacuum. */
const vacuumed = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const rows = yield* Effect.orDie(sql`
    SELECT relname FROM pg_stat_user_tables
    WHERE last_vacuum IS NOT NULL AND relname IN ('webhook_lanes', 'webhook_outbox', 'webhook_queue')`)
  return rows.length
})

layer(testServices, { excludeTestServices: true })("dead tuples of the engine", (it) => {
  it.effect("are removed after many events were published and delivered, and not before", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver
      const organizationId = yield* createOrganization
      yield* createEndpoint(organizationId, { eventNames: ["TOKEN_ISSUED"] })
      // Each event counts twice: when it is published, and when its delivery is claimed.
      yield* startNode({ vacuumThreshold: 20 })
      const deliver = Effect.fnUntraced(function* (count: number) {
        const all = receiver.received.length + count
        yield* Effect.replicateEffect(emitEvent(organizationId, "TOKEN_ISSUED"), count)
        yield* waitUntil(
          `${all} deliveries arrive`,
          Effect.sync(() => receiver.received.length === all),
        )
      })
      yield* deliver(9)
      yield* Effect.sleep("100 millis")
      assert.strictEqual(yield* vacuumed, 0)
      yield* deliver(1)
      yield* waitUntil(
        "the tables are vacuumed",
        Effect.map(vacuumed, (count) => count === 3),
      )
    }).pipe(Effect.scoped, Effect.provide(Receiver.layer)),
  )
})
