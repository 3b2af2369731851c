/**
 * The coordinator of a Citus cluster stops while changes on the workers and rows on the coordinator are being committed. An
 * organization with an endpoint stores outbox rows, and each writer stores its answer under an idempotency key.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { query } from "../support/Cluster.ts"
import { citusCluster, onCluster, whyNoCitus } from "../support/CitusCluster.ts"
import type { CitusCluster } from "../support/CitusCluster.ts"
import { databaseUrl } from "../support/databaseUrl.ts"
import { request } from "../support/http.ts"
import { until } from "../support/until.ts"
import { call, open, tenant } from "./support/Installation.ts"

const WRITERS = 16

/** The transactions that are prepared on the workers, and neither committed nor rolled back. */
const prepared = ({ workers }: CitusCluster, database: string) =>
  Effect.map(
    Effect.forEach(workers, ({ url }) =>
      query<{ gid: string }>(
        databaseUrl(url, database),
        "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()",
      ),
    ),
    (rows) => rows.flat().length,
  )

describe.skipIf(whyNoCitus !== undefined)(onCluster("a coordinator that stops"), { timeout: 180_000 }, () => {
  it.live("leaves no change without its outbox row and its stored answer, and none of these without their change", () =>
    Effect.gen(function* () {
      const cluster = yield* citusCluster({ durable: true })
      const installation = yield* open({ url: cluster.coordinator.url, cluster: cluster.urls })
      const database = new URL(installation.url).pathname.slice(1)
      // The coordinator writes its log only a moment after the workers are prepared: it is stopped in that moment.
      yield* query(cluster.coordinator.url, "ALTER SYSTEM SET commit_delay = 100000")
      yield* query(cluster.coordinator.url, "ALTER SYSTEM SET commit_siblings = 0")
      yield* query(cluster.coordinator.url, "SELECT pg_reload_conf()")
      const node = yield* installation.node("node", { SERVICE_ROLES: "core,platform,internal" })
      yield* node.start
      const shop = yield* tenant(installation, node, "Shop")
      const quiet = yield* tenant(installation, node, "Quiet")
      yield* call("POST", `${node.core}/api/webhooks`, shop.token, {
        url: "http://127.0.0.1:9999/",
        eventNames: ["*"],
      })
      // The event of the endpoint itself is in the outbox, too.
      const [{ firstId } = { firstId: "" }] = yield* query<{ firstId: string }>(
        installation.url,
        `SELECT max(event_id::text) AS "firstId" FROM webhook_outbox`,
      )

      const created: Array<string> = []
      const writer = (number: number) => {
        const { token } = number % 2 === 0 ? shop : quiet
        let tried = 0
        return Effect.forever(
          Effect.promise(async () => {
            const name = `c-${number}-${tried++}`
            const body = { name, slug: name, version: "1" }
            const headers = { "idempotency-key": name }
            const response = await request("POST", `${node.core}/api/components`, { token, body, headers }).catch(
              () => undefined,
            )
            if (response?.status === 201) created.push(name)
          }),
        )
      }
      const writers = yield* Effect.forkScoped(
        Effect.forEach(
          Array.from({ length: WRITERS }, (_, number) => number),
          writer,
          {
            concurrency: "unbounded",
            discard: true,
          },
        ),
      )

      const crash = Effect.gen(function* () {
        const before = created.length
        yield* until(
          "components are created, and others are being committed",
          Effect.map(prepared(cluster, database), (count) => count > 0 && created.length > before + WRITERS),
        )
        yield* cluster.coordinator.crash
        const between = yield* prepared(cluster, database)
        yield* cluster.coordinator.restart
        return between
      })
      const between = yield* Effect.repeat(crash, { until: (count) => count > 0, schedule: Schedule.recurs(10) })
      assert.isAbove(between, 0, "transactions were prepared on the workers when the coordinator stopped")
      yield* Fiber.interrupt(writers)
      yield* node.terminate
      yield* until(
        "the workers have ended what was prepared",
        Effect.map(prepared(cluster, database), (count) => count === 0),
      )

      const slugs = Effect.fnUntraced(function* (text: string) {
        const rows = yield* query<{ slug: string }>(installation.url, text)
        return new Set(rows.map(({ slug }) => slug))
      })
      const components = yield* slugs("SELECT slug FROM components")
      const event = "FROM events WHERE type = 'COMPONENT_CREATED'"
      assert.deepStrictEqual(
        created.filter((slug) => !components.has(slug)),
        [],
      )
      assert.deepStrictEqual(yield* slugs(`SELECT data->>'slug' AS slug ${event}`), components)
      assert.deepStrictEqual(
        yield* slugs("SELECT substring(location from '[^/]+$') AS slug FROM idempotency_keys"),
        components,
      )
      const ofShop = `AND organization_id = '${shop.organizationId}'`
      assert.deepStrictEqual(
        yield* slugs(`SELECT event_id::text AS slug FROM webhook_outbox WHERE event_id > '${firstId}'`),
        yield* slugs(`SELECT id::text AS slug ${event} ${ofShop}`),
      )
    }).pipe(Effect.scoped),
  )
})
