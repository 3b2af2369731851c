import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { databaseProxy } from "../support/cable.ts"
import type { HttpResponse } from "../support/http.ts"
import { openKilledNodes } from "../support/KilledNodes.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { linesOf, newSource, sha256 } from "./LedgerSite.ts"

const SITES = 4
const LIMIT = 50
const PATH = "/instances/prod/offline-usage"

type Send = (body: object) => Promise<HttpResponse | undefined>

/** A site: it writes lines of 1 to 3 calls, and uploads the last ones until they are taken. */
const openSite = (bundle: { readonly id: string; readonly issuedAt: string }, send: Send) => {
  const source = newSource()
  const defaults = { bundleId: bundle.id, time: Date.parse(bundle.issuedAt) }
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
      const { call, isStopped, killInTurns, send } = yield* openKilledNodes("calls", LIMIT, {})
      const { body: bundle } = yield* Effect.promise(() => send(0, "POST", "/instances/prod/offline-bundles", {}))
      let unanswered = 0
      const sites = Array.from({ length: SITES }, () =>
        openSite(bundle, async (body) => {
          const answer = await call("upload", "POST", PATH, body)
          if (answer === undefined) unanswered += 1
          return answer
        }),
      )
      const clients = sites.map(async ({ bring }, number) => {
        for (let round = 0; !isStopped(); round++) await bring(1 + ((round + number) % 4))
      })
      yield* killInTurns(clients, 40)

      assert.isAbove(unanswered, 0)
      const lines = sites.reduce((sum, site) => sum + site.lines(), 0)
      const total = sites.reduce((sum, site) => sum + site.total(), 0)
      assert.isAbove(total, LIMIT)
      const { body } = yield* Effect.promise(() => send(0, "GET", "/instances/prod/entitlements/calls/usage"))
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
      const { call, send } = yield* openKilledNodes(
        "calls",
        LIMIT,
        {},
        {
          // Else the text of COMMIT is sent only once.
          SERVICE_DATABASE_PREPARE: "false",
        },
      ).pipe(Effect.provideService(TestDatabase, { url: Redacted.make(wire.url) }))
      const { body: bundle } = yield* Effect.promise(() => send(0, "POST", "/instances/prod/offline-bundles", {}))
      const statuses: Array<number | undefined> = []
      const site = openSite(bundle, async (body) => {
        const answer = await call("upload", "POST", PATH, body)
        statuses.push(answer?.status)
        return answer
      })
      let repeated = 0
      // Now and then, another transaction of a node has the COMMIT whose answer is lost.
      for (let round = 0; round < 50 && repeated < 5; round++) {
        const before = statuses.length
        wire.loseAnswer("COMMIT")
        const answer = yield* Effect.promise(() => site.bring(3))
        assert.isFalse(wire.isToLose())
        if (statuses.slice(before).includes(503) && answer.accepted === 0) repeated += 1
      }
      assert.strictEqual(repeated, 5)
      const { body } = yield* Effect.promise(() => send(0, "GET", "/instances/prod/entitlements/calls/usage"))
      assert.deepStrictEqual([body.usageValue.value, body.usageValue.event_count], [site.total(), site.lines()])
      assert.strictEqual((yield* eventsOf)["OFFLINE_USAGE_UPLOADED"]?.accepted, site.lines())
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
