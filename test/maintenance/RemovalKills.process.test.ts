import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { allowInventedEvents } from "../support/recorded.ts"
import { request } from "../support/http.ts"
import { installation } from "../support/Nodes.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

allowInventedEvents()

const EVENTS = 40_000

describe("kill -9 during the removal of an organization", { timeout: 120_000 }, () => {
  it.live("the next process deletes the rest, and leaves other organizations alone", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { node, operator } = installation((yield* TestDatabase).url)
      const serving = yield* node({ SERVICE_ROLES: "core,platform,internal" })
      const organizations = `${serving.platform}/api/platform/organizations`
      const created = yield* Effect.forEach(["removed", "other"], (slug) =>
        Effect.promise(() => request("POST", organizations, { token: operator, body: { name: slug, slug } })),
      )
      const [removed, other] = created.map(({ body }) => String(body.id))
      yield* sql`
        WITH event AS (
          INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
          SELECT organization::uuid, gen_random_uuid(), 'CUSTOMER_UPDATED', '2026-01-01', '{}', '{}'
          FROM unnest(${[removed, other]}::text[]) AS organization, generate_series(1, ${EVENTS}::int)
          RETURNING organization_id, id
        )
        INSERT INTO event_arrivals (organization_id, event_id) SELECT organization_id, id FROM event`
      const eventsOf = (organizationId: string | undefined) =>
        Effect.map(
          sql<{ count: number }>`SELECT count(*)::int AS count FROM events WHERE organization_id = ${organizationId}`,
          ([row]) => row?.count ?? 0,
        )
      const answer = yield* Effect.promise(() =>
        request("DELETE", `${organizations}/${removed}?confirm=removed`, { token: operator }),
      )
      assert.strictEqual(answer.status, 204)
      assert.strictEqual(yield* eventsOf(removed), EVENTS)

      const until = (isReached: (count: number) => boolean) =>
        eventsOf(removed).pipe(
          Effect.repeat({ until: isReached, schedule: Schedule.spaced("5 millis") }),
          Effect.timeout("60 seconds"),
        )
      const sweeping = node({ SERVICE_ROLES: "internal,sweeper" })
      // The locked event keeps the first process from finishing before it is killed.
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT 1 FROM events WHERE organization_id = ${removed} LIMIT 1 FOR UPDATE`
          const first = yield* sweeping
          yield* until((count) => count < EVENTS)
          first.process.kill("SIGKILL")
          yield* first.ended
          assert.isAbove(yield* eventsOf(removed), 0)
        }),
      )
      yield* sweeping
      yield* until((count) => count === 0)
      assert.strictEqual(yield* eventsOf(other), EVENTS)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
