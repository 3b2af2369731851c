import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { request } from "../support/http.ts"
import { installation } from "../support/Nodes.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const INSTANCES = 1_500
const KILLS = 3

describe("kill -9 while licenses end", { timeout: 120_000 }, () => {
  it.live("each event about an end is emitted once, also by two nodes", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { node, tenant } = installation((yield* TestDatabase).url)
      const serving = yield* node({ SERVICE_ROLES: "core,platform,internal" })
      const token = yield* tenant(serving)
      const make = (path: string, body: object) =>
        Effect.promise(async () => {
          const made = await request("POST", `${serving.core}/api${path}`, { token, body })
          if (made.status !== 201) throw new Error(made.text)
        })
      yield* make("/licenses", { name: "Pro", slug: "pro", type: "PAID", graceDays: 1 })
      yield* make("/customers", { name: "Globex", slug: "globex" })
      // The first ends now, by way of its lead time of three seconds. The others end together, by SQL.
      const soon = new Date(Date.now() + 4_000).toISOString()
      yield* make("/instances", {
        name: "first",
        slug: "first",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: "2020-01-01T00:00:00Z",
        endLicenseDate: soon,
      })
      yield* sql`
        INSERT INTO instances (organization_id, id, name, slug, customer_id, license_id, start_license_date, end_license_date,
          metadata, created_at, created_by, updated_at, updated_by)
        SELECT organization_id, gen_random_uuid(), 'many', 'many-' || number, customer_id, license_id, start_license_date,
          now() - interval '2 days', '{}', created_at, created_by, now() - interval '3 days', updated_by
        FROM instances, generate_series(1, ${INSTANCES}::int) AS number`
      const counts = sql<{ type: string; count: number; instances: number }>`
        SELECT type, count(*)::int AS count, count(DISTINCT resource)::int AS instances FROM events
        WHERE type ~ 'TERM_END|GRACE_END' GROUP BY type ORDER BY type`
      const emitted = Effect.map(counts, (rows) => rows.reduce((sum, { count }) => sum + count, 0))
      const until = (least: number) =>
        emitted.pipe(
          Effect.repeat({ until: (count) => count >= least, schedule: Schedule.spaced("5 millis") }),
          Effect.timeout("60 seconds"),
        )

      const sweeping = node({ SERVICE_ROLES: "internal,sweeper", SERVICE_TERM_NOTICES: "30d,3s" })
      for (let kill = 0; kill < KILLS; kill++) {
        const before = yield* emitted
        const [one, two] = yield* Effect.all([sweeping, sweeping], { concurrency: 2 })
        yield* until(before + 1)
        one?.process.kill("SIGKILL")
        two?.process.kill("SIGKILL")
        yield* one.ended
        yield* two.ended
      }
      yield* Effect.all([sweeping, sweeping], { concurrency: 2 })
      // Two announcements and one end of the first; three and two of each of the others.
      yield* until(INSTANCES * 4 + 3)
      assert.deepStrictEqual(yield* counts, [
        { type: "INSTANCE_GRACE_ENDED", count: INSTANCES, instances: INSTANCES },
        { type: "INSTANCE_TERM_ENDED", count: INSTANCES + 1, instances: INSTANCES + 1 },
        { type: "INSTANCE_TERM_ENDING", count: 2 * (INSTANCES + 1), instances: INSTANCES + 1 },
      ])
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
