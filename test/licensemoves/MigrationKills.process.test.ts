import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { request } from "../support/http.ts"
import { installation } from "../support/Nodes.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

/** `KEYSHELF_TEST_INSTANCES=100000` runs it at full size, which takes some minutes. */
const INSTANCES = Number(process.env["KEYSHELF_TEST_INSTANCES"] ?? 5_500)
const KILLS = 10

describe("kill -9 during a license migration", { timeout: 900_000 }, () => {
  it.live("ten times, through two nodes, moves each instance once, with one event", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { node, tenant } = installation((yield* TestDatabase).url)
      const serving = yield* node({ SERVICE_ROLES: "core,platform,internal" })
      const token = yield* tenant(serving)
      const call = (method: string, path: string, body?: object) =>
        Effect.promise(async () => {
          const answer = await request(method, `${serving.core}/api${path}`, {
            token,
            ...(body === undefined ? {} : { body }),
          })
          if (answer.status >= 300) throw new Error(answer.text)
          return answer.body
        })
      for (const slug of ["pro", "pro-2"]) yield* call("POST", "/licenses", { name: slug, slug, type: "PAID" })
      yield* call("POST", "/customers", { name: "Globex", slug: "globex" })
      yield* call("POST", "/instances", {
        name: "first",
        slug: "first",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: "2020-01-01T00:00:00Z",
        endLicenseDate: null,
      })
      yield* sql`
        INSERT INTO instances (organization_id, id, name, slug, customer_id, license_id, start_license_date, metadata, created_at,
          created_by, updated_at, updated_by)
        SELECT organization_id, gen_random_uuid(), 'many', 'many-' || number, customer_id, license_id, start_license_date, '{}',
          created_at, created_by, updated_at, updated_by
        FROM instances, generate_series(2, ${INSTANCES}::int) AS number`
      const migration = yield* call("POST", "/licenses/pro/migrations", { toLicenseSlug: "pro-2" })
      const moved = Effect.map(
        sql<{ moved: number }>`SELECT moved FROM license_migrations WHERE id = ${migration.id}`,
        ([row]) => row?.moved ?? 0,
      )
      const until = (least: number) =>
        moved.pipe(
          Effect.repeat({ until: (count) => count >= least, schedule: Schedule.spaced("5 millis") }),
          Effect.timeout("300 seconds"),
        )
      const sweeping = node({ SERVICE_ROLES: "internal,sweeper" })
      let nodes = yield* Effect.all([sweeping, sweeping], { concurrency: 2 })
      for (let kill = 0; kill < KILLS; kill++) {
        yield* until(Math.floor((kill * INSTANCES) / (KILLS + 1)) + 1)
        const index = kill % 2
        nodes[index]?.process.kill("SIGKILL")
        const fresh = yield* sweeping
        nodes = index === 0 ? [fresh, nodes[1]] : [nodes[0], fresh]
      }
      const done = yield* call("GET", `/license-migrations/${migration.id}`).pipe(
        Effect.repeat({ until: ({ state }) => state === "DONE", schedule: Schedule.spaced("50 millis") }),
        Effect.timeout("300 seconds"),
      )
      assert.deepStrictEqual(
        [done.state, done.counts],
        ["DONE", { total: INSTANCES, moved: INSTANCES, skipped: 0, failed: 0 }],
      )
      const [events] = yield* sql<{ count: number; instances: number }>`
        SELECT count(*)::int AS count, count(DISTINCT resource)::int AS instances FROM events WHERE type = 'INSTANCE_UPDATED'`
      assert.deepStrictEqual(events, { count: INSTANCES, instances: INSTANCES })
      const told = yield* sql<{ type: string; count: number }>`
        SELECT type, count(*)::int AS count FROM events WHERE type LIKE 'LICENSE_MIGRATION%' GROUP BY type ORDER BY type`
      assert.deepStrictEqual(told, [
        { type: "LICENSE_MIGRATION_FINISHED", count: 1 },
        { type: "LICENSE_MIGRATION_STARTED", count: 1 },
      ])
      const [left] = yield* sql<{ count: number }>`
        SELECT count(*)::int AS count FROM instances JOIN licenses
          ON licenses.organization_id = instances.organization_id AND licenses.id = instances.license_id WHERE licenses.slug = 'pro'`
      assert.strictEqual(left?.count, 0)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
