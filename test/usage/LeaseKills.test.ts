import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import { installation, killInTurns } from "../support/Nodes.ts"
import type { ServiceProcess } from "../support/ServiceProcess.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"

const LIMIT = 5
const CLIENTS = 6
const KILLS = 3
const PATH = "/api/instances/prod/entitlements/editors/leases"

/** A lease as its holder knows it: from its acquisition to its last known end. */
interface KnownLease {
  readonly from: number
  until: number
}

/** The most leases that were live at one time. */
const mostAtOnce = (leases: ReadonlyArray<KnownLease>): number =>
  Math.max(0, ...leases.map(({ from: at }) => leases.filter(({ from, until }) => from <= at && at < until).length))

describe("seats through two nodes that are killed in turns", { timeout: 180_000 }, () => {
  it.live("are never given to more holders than the limit allows", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { node, tenant } = installation((yield* TestDatabase).url)
      const nodes: Array<ServiceProcess> = [yield* node(), yield* node({ SERVICE_ROLES: "core,internal" })]
      const token = yield* tenant(nodes[0] as ServiceProcess)
      const make = (path: string, body: object) =>
        Effect.promise(async () => {
          const made = await request("POST", `${nodes[0]?.core}/api${path}`, { token, body })
          if (made.status >= 300) throw new Error(made.text)
        })
      yield* make("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
      yield* make("/entitlements", { name: "E", slug: "editors", type: "NUMBER", aggregationMethod: "CONCURRENT" })
      yield* make("/licenses/pro/entitlements", { entitlementSlug: "editors", value: LIMIT })
      yield* make("/customers", { name: "Globex", slug: "globex" })
      yield* make("/instances", {
        name: "prod",
        slug: "prod",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: "2020-01-01T00:00:00Z",
        endLicenseDate: null,
      })

      const known = new Map<string, KnownLease>()
      const statuses = new Map<number, number>()
      const run = { stopped: false }
      let turn = 0
      const call = async (method: string, path: string, body?: object): Promise<HttpResponse | undefined> => {
        try {
          const service = nodes[turn++ % nodes.length] as ServiceProcess
          const answer = await request(method, service.core + path, { token, ...(body === undefined ? {} : { body }) })
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          return answer
        } catch {
          // The node was killed. Whether it did what was asked is not known.
          await new Promise((resolve) => setTimeout(resolve, 20))
          return undefined
        }
      }
      // Each client has two holders of its own, so that nobody else ends or renews their leases.
      const client = async (number: number) => {
        for (let step = 0; !run.stopped; step++) {
          const answer = await call("POST", PATH, { holder: `${number} ${step % 2}`, ttlSeconds: 10 })
          if (answer === undefined || answer.status >= 300) continue
          const { acquiredAt, expiresAt, id } = answer.body
          const lease = known.get(id) ?? { from: Date.parse(acquiredAt), until: 0 }
          lease.until = Date.parse(expiresAt)
          known.set(id, lease)
          if (step % 3 !== 0) continue
          // From now on, the holder does not know whether it still has it. The clock of the nodes may differ a little.
          lease.until = Math.min(lease.until, Date.now() - 20)
          await call("DELETE", `${PATH}/${id}`)
        }
      }
      const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
      const answered = () => [...statuses.values()].reduce((sum, count) => sum + count, 0)
      yield* killInTurns({
        nodes,
        kills: KILLS,
        start: node({ SERVICE_ROLES: "core,internal" }),
        progress: answered,
        step: 1_000,
      })
      run.stopped = true
      yield* Effect.promise(() => Promise.all(clients))

      assert.isAbove(statuses.get(201) ?? 0, 20)
      assert.isAbove(statuses.get(200) ?? 0, 20)
      assert.isAbove(statuses.get(409) ?? 0, 20)
      assert.deepStrictEqual(
        [...statuses.keys()].filter((status) => ![200, 201, 204, 404, 409, 503].includes(status)),
        [],
      )
      assert.isAtMost(mostAtOnce([...known.values()]), LIMIT)
      const [held] = yield* sql<{
        count: number
      }>`SELECT count(*)::int AS count FROM usage_leases WHERE expires_at > now()`
      assert.isAtMost(held?.count ?? 0, LIMIT)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
