/** Distributing the tables, and what `doctor` and the health checks say of a cluster. */
import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Redacted } from "effect"
import { cluster as clusterChecks } from "../../src/cli/doctor/ClusterChecks.ts"
import { clusterPart } from "../../src/infra/database/DatabaseHealth.ts"
import { distribute, NotDistributable } from "../../src/infra/database/Distribution.ts"
import { migrate } from "../../src/infra/database/Migrations.ts"
import { joinNodes, onEachServer } from "../support/Cluster.ts"
import { citusCluster, onCluster, whyNoCitus } from "../support/CitusCluster.ts"
import type { CitusCluster } from "../support/CitusCluster.ts"
import { databaseUrl } from "../support/databaseUrl.ts"

const connectedTo = ({ coordinator }: CitusCluster, name: string) =>
  PgClient.layer({ url: Redacted.make(databaseUrl(coordinator.url, name)), maxConnections: 2 })

const newDatabase = Effect.fnUntraced(function* ({ urls }: CitusCluster, name: string) {
  yield* onEachServer(urls, `CREATE DATABASE ${name}`)
  yield* joinNodes(urls, name)
})

const storeOrganization = Effect.flatMap(
  PgClient.PgClient,
  (sql) => sql`
    INSERT INTO organizations (id, name, slug, created_at, created_by, updated_at, updated_by)
    VALUES (gen_random_uuid(), 'Acme', 'acme', now(), '{}', now(), '{}')`,
)

const texts = Effect.map(clusterChecks, (findings) => findings.map(({ state, text }) => `${state}: ${text}`))

describe.skipIf(whyNoCitus !== undefined)(onCluster("a Citus cluster"), { timeout: 120_000 }, () => {
  it.live("distributes the tables of an empty database, and refuses one with organizations", () =>
    Effect.gen(function* () {
      const cluster = yield* citusCluster({ durable: false })
      yield* newDatabase(cluster, "empty")
      yield* Effect.gen(function* () {
        yield* migrate
        assert.isAbove((yield* distribute).length, 50)
        assert.deepStrictEqual(yield* distribute, [])
        assert.match(
          (yield* texts).join(),
          /^ok: Citus 1\d\.\S+: 3 nodes respond, and all tables are distributed as planned$/,
        )
      }).pipe(Effect.provide(connectedTo(cluster, "empty")))

      yield* newDatabase(cluster, "used")
      yield* Effect.gen(function* () {
        yield* migrate
        yield* storeOrganization
        const refused = yield* Effect.flip(distribute)
        assert.instanceOf(refused, NotDistributable)
        assert.include(refused.message, "organization export")
        assert.match((yield* texts).join(), /FAILED: \d+ tables \(.+\) are not distributed\. Stop the service and run/)
      }).pipe(Effect.provide(connectedTo(cluster, "used")))
    }).pipe(Effect.scoped),
  )

  it.live("tells doctor and the health checks of a table that was undistributed, and of a worker that is away", () =>
    Effect.gen(function* () {
      const cluster = yield* citusCluster({ durable: false })
      yield* newDatabase(cluster, "keyshelf")
      yield* Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* migrate
        yield* distribute
        const health = Effect.flatten(clusterPart(sql))
        assert.deepStrictEqual(yield* health, Option.some({ status: "up" }))

        yield* sql`SELECT undistribute_table('usage_days')`
        yield* sql`DROP TRIGGER commits_in_two_phases ON webhook_outbox`
        const found = (yield* texts).join("\n")
        assert.include(found, "FAILED: 1 tables (usage_days) are not distributed.")
        assert.include(found, "FAILED: 1 tables (webhook_outbox) are without the trigger commits_in_two_phases")
        assert.deepStrictEqual(
          yield* health,
          Option.some({ status: "down", reason: "undistributed: 2 tables, such as usage_days" }),
        )

        const [worker] = cluster.workers
        const address = new URL(worker?.url ?? "").host
        yield* worker?.crash ?? Effect.void
        assert.include((yield* texts).join("\n"), `FAILED: ${address} does not respond`)
        assert.deepStrictEqual(yield* health, Option.some({ status: "down", reason: `no response from ${address}` }))
      }).pipe(Effect.provide(connectedTo(cluster, "keyshelf")))
    }).pipe(Effect.scoped),
  )
})
