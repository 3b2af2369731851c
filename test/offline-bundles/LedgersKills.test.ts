import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { databaseProxy } from "../support/cable.ts"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import { installation, killInTurns } from "../support/Nodes.ts"
import type { ServiceProcess } from "../support/ServiceProcess.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { linesOf, newSource, sha256 } from "./LedgerSite.ts"

const SITES = 4
const KILLS = 3
const LIMIT = 50
const PATH = "/api/instances/prod/offline-usage"

/** An installation with an instance that has an offline bundle. `through` is the database as its first node sees it. */
const openInstallation = Effect.fnUntraced(function* (through: Redacted.Redacted, env: Record<string, string> = {}) {
  const { node, tenant } = installation(through)
  const first = yield* node({ SERVICE_ROLES: "core,platform,internal", ...env })
  const token = yield* tenant(first)
  const make = (path: string, body: object = {}) =>
    Effect.promise(async () => {
      const made = await request("POST", `${first.core}/api${path}`, { token, body })
      if (made.status >= 300) throw new Error(made.text)
      return made.body
    })
  yield* make("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* make("/entitlements", { name: "Calls", slug: "calls", type: "NUMBER" })
  yield* make("/licenses/pro/entitlements", { entitlementSlug: "calls", value: LIMIT })
  yield* make("/customers", { name: "Acme", slug: "acme" })
  yield* make("/instances", {
    name: "Prod",
    slug: "prod",
    customerSlug: "acme",
    licenseSlug: "pro",
    startLicenseDate: "2020-01-01T00:00:00Z",
    endLicenseDate: null,
  })
  const bundle = yield* make("/instances/prod/offline-bundles")
  const defaults = { bundleId: String(bundle.id), time: Date.parse(bundle.issuedAt) }
  const get = (service: ServiceProcess, path: string) =>
    Effect.promise(() => request("GET", `${service.core}/api${path}`, { token }))

  /** A site: it writes lines of 1 to 3 calls, and uploads the last ones until they are taken. */
  const openSite = (send: (body: object) => Promise<HttpResponse | undefined>) => {
    const source = newSource()
    let written: ReadonlyArray<string> = []
    let stored = 0
    return {
      total: () => written.reduce((sum, line) => sum + JSON.parse(line).data.value, 0),
      lines: () => written.length,
      bring: async (count: number) => {
        const position = { lines: written.length, head: sha256(written.at(-1) ?? source) }
        const uses = Array.from({ length: count }, (_, index) => ({ type: "calls", value: 1 + (index % 3) }))
        written = [...written, ...(await Effect.runPromise(linesOf(source, uses, defaults, position)))]
        for (;;) {
          const answer = await send({ source, lines: written.slice(Math.max(0, stored - 2)) })
          if (answer === undefined || answer.status === 503) continue
          if (answer.status !== 200) throw new Error(answer.text)
          stored = answer.body.lines
          return answer.body
        }
      },
    }
  }
  return { node, first, token, get, openSite }
})

const eventsOf = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const rows = yield* sql<{ type: string; count: number; accepted: number }>`
    SELECT type, count(*)::int AS count, coalesce(sum((data ->> 'accepted')::int), 0)::int AS accepted FROM events
    WHERE type IN ('OFFLINE_USAGE_UPLOADED', 'OFFLINE_LEDGER_FORKED', 'ENTITLEMENT_USAGE_CAP_EXCEEDED') GROUP BY type`
  return Object.fromEntries(rows.map(({ accepted, count, type }) => [type, { count, accepted }]))
})

describe("ledgers that are uploaded through nodes that die", { timeout: 180_000 }, () => {
  it.live("count each line once, though the nodes are killed in turns", () =>
    Effect.gen(function* () {
      const { first, get, node, openSite, token } = yield* openInstallation((yield* TestDatabase).url)
      const nodes: Array<ServiceProcess> = [first, yield* node({ SERVICE_ROLES: "core,internal" })]
      let [answered, unanswered, turn] = [0, 0, 0]
      const send = async (body: object) => {
        const service = nodes[turn++ % nodes.length] as ServiceProcess
        try {
          const answer = await request("POST", service.core + PATH, { token, body })
          answered += 1
          return answer
        } catch {
          // The node was killed. Whether it stored the lines is not known.
          unanswered += 1
          await new Promise((resolve) => setTimeout(resolve, 20))
          return undefined
        }
      }
      const run = { stopped: false }
      const sites = Array.from({ length: SITES }, () => openSite(send))
      const work = sites.map(async ({ bring }, number) => {
        for (let round = 0; !run.stopped; round++) await bring(1 + ((round + number) % 4))
      })
      yield* killInTurns({
        nodes,
        kills: KILLS,
        start: node({ SERVICE_ROLES: "core,internal" }),
        progress: () => answered,
        step: 40,
      })
      run.stopped = true
      yield* Effect.promise(() => Promise.all(work))

      assert.isAbove(unanswered, 0)
      const lines = sites.reduce((sum, site) => sum + site.lines(), 0)
      const total = sites.reduce((sum, site) => sum + site.total(), 0)
      assert.isAbove(total, LIMIT)
      const { body } = yield* get(nodes[0] as ServiceProcess, "/instances/prod/entitlements/calls/usage")
      assert.deepStrictEqual([body.usageValue.value, body.usageValue.event_count], [total, lines])
      const events = yield* eventsOf
      assert.strictEqual(events["OFFLINE_USAGE_UPLOADED"]?.accepted, lines)
      assert.strictEqual(events["ENTITLEMENT_USAGE_CAP_EXCEEDED"]?.count, 1)
      assert.isUndefined(events["OFFLINE_LEDGER_FORKED"])
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )

  it.live("count each line once, though the answer to the COMMIT of an upload is lost", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const wire = yield* databaseProxy(Redacted.value(url))
      const { first, get, openSite, token } = yield* openInstallation(Redacted.make(wire.url), {
        // Else the text of COMMIT is sent only once.
        SERVICE_DATABASE_PREPARE: "false",
      })
      const statuses: Array<number> = []
      const site = openSite(async (body) => {
        const answer = await request("POST", first.core + PATH, { token, body })
        statuses.push(answer.status)
        return answer
      })
      let repeated = 0
      // Now and then, another transaction of the node has the COMMIT whose answer is lost.
      for (let round = 0; round < 50 && repeated < 5; round++) {
        const before = statuses.length
        wire.loseAnswer("COMMIT")
        const answer = yield* Effect.promise(() => site.bring(3))
        assert.isFalse(wire.isToLose())
        if (statuses.slice(before).includes(503) && answer.accepted === 0) repeated += 1
      }
      assert.strictEqual(repeated, 5)
      const { body } = yield* get(first, "/instances/prod/entitlements/calls/usage")
      assert.deepStrictEqual([body.usageValue.value, body.usageValue.event_count], [site.total(), site.lines()])
      assert.strictEqual((yield* eventsOf)["OFFLINE_USAGE_UPLOADED"]?.accepted, site.lines())
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
