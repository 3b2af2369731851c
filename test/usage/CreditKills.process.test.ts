import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { openKilledNodes } from "../support/KilledNodes.ts"
import { testSql } from "../support/TestDatabase.ts"
import { randomIntegers } from "./RandomGenerator.ts"

const LIMIT = 20
const CLIENTS = 8
const PATH = "/instances/prod/entitlements/calls"

describe("credits through two nodes that are killed in turns", { timeout: 180_000 }, () => {
  it.live("pay what was acknowledged, each up to its amount, and nothing twice", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { call, isStopped, killInTurns, outcomes, send } = yield* openKilledNodes("calls", LIMIT, {})
      const sell = (amount: number) =>
        Effect.promise(() => send(0, "POST", `${PATH}/credits`, { amount }).then(({ body }) => String(body.id)))
      const ids = yield* Effect.forEach([700, 100, 1], sell)

      /** What the clients know: acknowledged is counted, and what is unknown was counted or not. */
      const known = new Map<string, { value: number; isCounted: boolean }>()
      const client = async (number: number) => {
        const random = randomIntegers(number + 1)
        for (let step = 0; !isStopped(); step++) {
          const transactionId = `${number}-${step}`
          const value = 1 + random(3)
          const body = { value, transactionId }
          // A retry of what is not known, on the other node.
          const answer =
            (await call("use", "POST", `${PATH}/usage`, body)) ?? (await call("again", "POST", `${PATH}/usage`, body))
          if (answer === undefined || answer.status === 503) known.set(transactionId, { value, isCounted: false })
          if (answer?.status === 200) known.set(transactionId, { value, isCounted: true })
          if (step % 4 === 3) {
            await call("consume", "POST", "/instances/prod/check", {
              consume: true,
              checks: [{ entitlement: "calls" }],
            })
            // Something returns, so that the credits do not end.
            await call("correct", "POST", `${PATH}/usage`, { value: -4 })
          }
        }
      }
      const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
      yield* killInTurns(clients, 300)

      assert.isAbove(outcomes.get("use 200") ?? 0, 100)
      assert.deepStrictEqual(
        [...outcomes.keys()].filter((outcome) => !/ (?:200|409|422|503)$/.test(outcome)),
        [],
      )
      const counted = yield* sql<{ transactionId: string; count: number }>`
        SELECT transaction_id AS "transactionId", count(*)::int AS count FROM usage_events
        WHERE transaction_id IS NOT NULL GROUP BY 1`
      const counts = new Map(counted.map(({ count, transactionId }) => [transactionId, count]))
      assert.deepStrictEqual(
        counted.filter(({ count }) => count !== 1),
        [],
      )
      for (const [id, { isCounted }] of known) if (isCounted) assert.strictEqual(counts.get(id), 1, id)

      const credits = yield* sql<{ id: string; used: number; uses: number; amount: number }>`
        SELECT c.id, c.used::float8 AS used, c.amount::float8 AS amount, coalesce(sum(u.quantity), 0)::float8 AS uses FROM credits c
        LEFT JOIN credit_uses u ON u.credit_id = c.id GROUP BY c.organization_id, c.id`
      assert.strictEqual(credits.length, ids.length)
      for (const { amount, id, used, uses } of credits) {
        assert.strictEqual(uses, used, id)
        assert.isAtMost(used, amount, id)
      }
      const [total] = yield* sql<{ value: number; burned: number; events: number }>`
        SELECT value::float8 AS value, burned::float8 AS burned,
          (SELECT sum(value)::float8 FROM usage_events) AS events FROM usage_totals`
      assert.strictEqual(total?.events, total?.value)
      assert.strictEqual(
        total?.burned,
        credits.reduce((sum, { used }) => sum + used, 0),
      )
      assert.isAtMost((total?.value ?? 0) - (total?.burned ?? 0), LIMIT)
      assert.isAbove(total?.burned ?? 0, 50)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )

  it.live("pay exactly 400 of 400 uses through two nodes, and no more", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { send } = yield* openKilledNodes("calls", 0, {})
      for (const amount of [250, 100, 50]) {
        const sold = yield* Effect.promise(() => send(0, "POST", `${PATH}/credits`, { amount }))
        assert.strictEqual(sold.status, 201, sold.text)
      }
      const use = (number: number) =>
        number % 3 === 0
          ? send(number % 2, "POST", "/instances/prod/check", { consume: true, checks: [{ entitlement: "calls" }] })
          : number % 3 === 1
            ? send(number % 2, "POST", `${PATH}/usage`, { value: 1 })
            : send(number % 2, "POST", "/usage-events", [
                {
                  specversion: "1.0",
                  id: `${number}`,
                  source: "/t",
                  subject: "prod",
                  type: "calls",
                  data: { value: 1 },
                },
              ])
      const answers = yield* Effect.forEach(
        Array.from({ length: 440 }, (_, number) => number),
        (number) => Effect.promise(() => use(number)),
        { concurrency: 32 },
      )
      const isCounted = answers.map(
        ({ body, status }) =>
          status === 200 &&
          (body.checks === undefined
            ? body.results === undefined || body.results[0].status === "accepted"
            : body.checks[0].allowed === true),
      )
      assert.strictEqual(isCounted.filter((is) => is).length, 400)
      const credits = yield* sql<{ used: number; isSpent: boolean }>`
        SELECT used::int AS used, is_spent AS "isSpent" FROM credits ORDER BY id`
      assert.deepStrictEqual(
        credits,
        [250, 100, 50].map((used) => ({ used, isSpent: true })),
      )
      const [total] = yield* sql<{ value: number; burned: number }>`
        SELECT value::int AS value, burned::int AS burned FROM usage_totals`
      assert.deepStrictEqual(total, { value: 400, burned: 400 })
      const [emitted] = yield* sql<{
        count: number
      }>`SELECT count(*)::int AS count FROM events WHERE type = 'CREDIT_USED_UP'`
      assert.strictEqual(emitted?.count, 3)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
