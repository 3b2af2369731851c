import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { openKilledNodes } from "../support/KilledNodes.ts"
import { testSql } from "../support/TestDatabase.ts"

const LIMIT = 5
const CLIENTS = 6
const PATH = "/instances/prod/entitlements/editors/leases"

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
      const { call, isStopped, killInTurns, outcomes } = yield* openKilledNodes("editors", LIMIT, {
        aggregationMethod: "CONCURRENT",
      })

      const known = new Map<string, KnownLease>()
      // Each client has two holders of its own, so that nobody else ends or renews their leases.
      const client = async (number: number) => {
        for (let step = 0; !isStopped(); step++) {
          const answer = await call("take", "POST", PATH, { holder: `${number} ${step % 2}`, ttlSeconds: 10 })
          if (answer === undefined || answer.status >= 300) continue
          const { acquiredAt, expiresAt, id } = answer.body
          const lease = known.get(id) ?? { from: Date.parse(acquiredAt), until: 0 }
          lease.until = Date.parse(expiresAt)
          known.set(id, lease)
          if (step % 3 !== 0) continue
          // From now on, the holder does not know whether it still has it. The clock of the nodes may differ a little.
          lease.until = Math.min(lease.until, Date.now() - 20)
          await call("end", "DELETE", `${PATH}/${id}`)
        }
      }
      const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
      yield* killInTurns(clients, 1_000)

      for (const outcome of ["take 201", "take 200", "take 409"]) {
        assert.isAbove(outcomes.get(outcome) ?? 0, 20, outcome)
      }
      assert.deepStrictEqual(
        [...outcomes.keys()].filter((outcome) => !/ (?:200|201|204|404|409|503)$/.test(outcome)),
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
