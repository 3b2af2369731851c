import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schedule } from "effect"
import { shell } from "../cli/shell.ts"
import { arriving } from "../support/arriving.ts"
import { installation } from "../support/Nodes.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

allowInventedEvents()

/** `KEYSHELF_TEST_EVENTS=1000000` runs it at a larger size. */
const EVENTS = Number(process.env["KEYSHELF_TEST_EVENTS"] ?? 60_000)
const KILLS = 10
const DAY = 86_400_000

describe("kill -9 while two nodes seal and delete", { timeout: 900_000 }, () => {
  it.live("leaves no gap and no second leaf, and a log without findings", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { node, settings, tenant } = installation((yield* TestDatabase).url)
      const serving = yield* node({ SERVICE_ROLES: "core,platform,internal" })
      yield* tenant(serving)
      // Nothing is deleted behind an event that stays.
      yield* sql`UPDATE events SET occurred_at = ${new Date(Date.now() - 60 * DAY)}`
      const sweeping = node({ SERVICE_ROLES: "internal,sweeper", SERVICE_RETENTION_EVENTS: "40 days" })
      let nodes = yield* Effect.all([sweeping, sweeping], { concurrency: 2 })

      // Small transactions, so that placing and sealing meet events at every moment. A third of them is old enough to be deleted.
      const perInsert = 200
      const writer = yield* Effect.forkScoped(
        Effect.forEach(
          Array.from({ length: EVENTS / perInsert }, (_, number) => number),
          (number) => {
            const at = new Date(Date.now() - (number < EVENTS / perInsert / 3 ? 50 * DAY : 0))
            return arriving(
              sql,
              sql`
                INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
                SELECT organizations.id, gen_random_uuid(), 'COMPONENT_CREATED', ${at}, '{"id":"a","name":"b"}', '{"name":"c"}'
                FROM organizations, generate_series(1, ${perInsert}::int)`,
            )
          },
          { discard: true },
        ),
      )
      const sealed = Effect.map(
        sql<{ count: number }>`SELECT coalesce(sum(sealed_to - base), 0)::int AS count FROM event_streams`,
        ([row]) => row?.count ?? 0,
      )
      const until = (least: number) =>
        sealed.pipe(
          Effect.repeat({ until: (count) => count >= least, schedule: Schedule.spaced("5 millis") }),
          Effect.timeout("300 seconds"),
        )
      for (let kill = 0; kill < KILLS; kill++) {
        yield* until(Math.floor((kill * EVENTS) / (KILLS + 1)) + 1)
        const index = kill % 2
        nodes[index]?.process.kill("SIGKILL")
        const fresh = yield* sweeping
        nodes = index === 0 ? [fresh, nodes[1]] : [nodes[0], fresh]
      }
      yield* Fiber.join(writer)
      yield* until(EVENTS)
      const deleted = sql<{ count: number }>`SELECT count(*)::int AS count FROM events WHERE type = 'EVENTS_PRUNED'`
      yield* deleted.pipe(
        Effect.repeat({ until: ([row]) => (row?.count ?? 0) > 0, schedule: Schedule.spaced("100 millis") }),
        Effect.timeout("120 seconds"),
      )
      const [leaves] = yield* sql<{ count: number; events: number; last: number }>`
        SELECT count(leaf)::int AS count, count(DISTINCT event_id)::int AS events, max(position)::int AS last
        FROM event_positions`
      const [stored] = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM events`
      assert.strictEqual(leaves?.events, stored?.count)
      assert.strictEqual(leaves?.count, leaves?.last)
      const verified = yield* shell("keyshelf audit verify", settings)
      assert.strictEqual(verified.code, 0, verified.stdout + verified.stderr)
      assert.match(verified.stdout, /no findings/)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
