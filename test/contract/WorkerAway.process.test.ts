/** A worker of a Citus cluster is away, or hangs. Organizations of the other worker are served. */
import { assert, describe, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { distribute } from "../../src/infra/database/Distribution.ts"
import { migrate } from "../../src/infra/database/Migrations.ts"
import { open, tenant } from "../faults/support/Installation.ts"
import { citusCluster, onCluster, whyNoCitus } from "../support/CitusCluster.ts"
import { query } from "../support/Cluster.ts"
import { request } from "../support/http.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { endpoints } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"

// The operator's requests may concern all organizations.
const ofOrganizations = endpoints.filter(({ api }) => api !== "platform")

/** Returns the port of the worker that has an organization's rows. */
const workerOf = (url: string, organizationId: string) =>
  Effect.map(
    query<{ port: number }>(
      url,
      `SELECT nodeport AS port FROM pg_dist_shard_placement
       WHERE shardid = get_shard_id_for_distribution_column('instances', '${organizationId}'::uuid)`,
    ),
    ([row]) => row?.port,
  )

/** A populated organization whose rows are on a worker, and a function that calls its endpoints. */
const organizationOn = Effect.fnUntraced(function* (url: string, port: number) {
  const service = yield* TestService
  const onWorker = Effect.flatMap(service.tenant(), (tenant) =>
    Effect.map(workerOf(url, tenant.organizationId), (found) => ({ tenant, isThere: found === port })),
  )
  const { tenant } = yield* Effect.repeat(onWorker, { until: ({ isThere }) => isThere })
  const fixture = yield* populate({ ...service, ...tenant })
  return (endpoint: Endpoint) => {
    const { body, path } = scenarioOf(endpoint, fixture)
    return Effect.map(
      service.core(endpoint.method, path, { token: tenant.token, ...(body === undefined ? {} : { body }) }),
      ({ status, text }) => ({ id: endpoint.id, status, text }),
    )
  }
})

describe.skipIf(whyNoCitus !== undefined)(onCluster("an organization"), { timeout: 300_000 }, () => {
  it.live("is served at every endpoint while the worker of others is away", () =>
    Effect.gen(function* () {
      const { coordinator, workers } = yield* citusCluster({ durable: false })
      const { url } = coordinator
      yield* Effect.andThen(migrate, distribute).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
      )
      yield* Effect.gen(function* () {
        const [kept, away] = workers
        const port = Number(new URL(kept!.url).port)
        const deleting = ofOrganizations.filter(({ method }) => method === "DELETE")
        const others = ofOrganizations.filter(({ method }) => method !== "DELETE")
        const call = yield* organizationOn(url, port)
        // Each has an organization of its own, so that what it deletes is there.
        const deletions = yield* Effect.forEach(deleting, (endpoint) =>
          Effect.map(organizationOn(url, port), (fresh) => fresh(endpoint)),
        )
        yield* away!.crash
        const answers = [...(yield* Effect.forEach(others, call)), ...(yield* Effect.all(deletions))]
        assert.deepStrictEqual(
          answers.filter(({ status }) => status >= 500),
          [],
        )
        const successes = new Set(answers.filter(({ status }) => status < 300).map(({ id }) => id))
        assert.isAbove(successes.size, 0.9 * ofOrganizations.length)
      }).pipe(
        Effect.provide(
          TestService.separate.pipe(Layer.provide(Layer.succeed(TestDatabase, { url: Redacted.make(url) }))),
        ),
      )
    }).pipe(Effect.scoped),
  )

  it.live("is served while a request of another waits for a worker that hangs", () =>
    Effect.gen(function* () {
      const cluster = yield* citusCluster({ durable: false })
      const installation = yield* open({ url: cluster.coordinator.url, cluster: cluster.urls })
      const node = yield* installation.node("node", { SERVICE_ROLES: "core,platform,internal" })
      yield* node.start
      const [kept, hanging] = cluster.workers
      const organizationAt = Effect.fnUntraced(function* (workerUrl: string) {
        const made = Effect.gen(function* () {
          const organization = yield* tenant(installation, node, "Shop")
          return { organization, port: yield* workerOf(installation.url, organization.organizationId) }
        })
        const port = Number(new URL(workerUrl).port)
        return (yield* Effect.repeat(made, { until: (found) => found.port === port })).organization
      })
      const [mine, theirs] = [yield* organizationAt(kept!.url), yield* organizationAt(hanging!.url)]
      const list = (token: string) => Effect.promise(() => request("GET", `${node.core}/api/customers`, { token }))
      yield* list(mine.token)
      yield* list(theirs.token)
      yield* hanging!.hang
      const waiting = yield* Effect.forkScoped(list(theirs.token))
      yield* until(
        "the list waits for the worker",
        Effect.map(
          query(
            installation.url,
            `SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND state = 'active' AND query LIKE '%FROM customers%'
               AND pid <> pg_backend_pid()`,
          ),
          (rows) => rows.length > 0,
        ),
      )
      const answers = yield* Effect.replicateEffect(list(mine.token), 5).pipe(Effect.timeout("10 seconds"))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200, 200],
      )
      const health = yield* Effect.promise(() => request("GET", `${node.internal}/health/ready`))
      assert.strictEqual(health.status, 200)
      assert.isUndefined(waiting.pollUnsafe(), "the other list still waits")
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.scoped),
  )
})
