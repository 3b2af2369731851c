import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { openMeteredShop } from "./MeteredShop.ts"

/** Keeps everybody from counting usage until `end`. */
const holdUsage = Effect.gen(function* () {
  const [sql, transactions] = [yield* PgClient.PgClient, yield* Transactions]
  const [isHeld, mayEnd] = [yield* Latch.make(), yield* Latch.make()]
  const holding = yield* transactions
    .run(
      Effect.gen(function* () {
        yield* sql`LOCK TABLE usage_totals IN SHARE MODE`
        yield* isHeld.open
        yield* mayEnd.await
      }),
    )
    .pipe(Effect.forkChild)
  yield* isHeld.await
  return { end: Effect.andThen(mayEnd.open, Fiber.join(holding)) }
})

/** How many statements of this database wait for a lock. */
const waiting = Effect.map(
  Effect.flatMap(
    PgClient.PgClient,
    (sql) => sql<{ count: number }>`
      SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  ),
  ([row]) => row?.count ?? 0,
)

layer(TestService.layer, { excludeTestServices: true })("what is deleted while usage of it is reported", (it) => {
  it.effect.each([
    { what: "an entitlement waits for the first report, and stays", path: "/entitlements/calls", deletion: 409 },
    { what: "an instance waits for the first report, and goes with it", path: "/instances/prod", deletion: 204 },
  ])("$what", ({ deletion, path }) =>
    Effect.gen(function* () {
      const { call, metered, report } = yield* openMeteredShop
      yield* metered("calls", 10)
      const usage = yield* holdUsage
      const reporting = yield* Effect.forkChild(report("calls", { value: 3 }))
      yield* until(
        "the report waits to count",
        Effect.map(waiting, (count) => count >= 1),
      )
      const deleting = yield* Effect.forkChild(call("DELETE", path))
      yield* until(
        "the deletion waits for the report, or is through",
        Effect.map(waiting, (count) => count >= 2 || deleting.pollUnsafe() !== undefined),
      )
      yield* usage.end
      const reported = yield* Fiber.join(reporting)
      const deleted = yield* Fiber.join(deleting)
      assert.deepStrictEqual([reported.status, deleted.status], [200, deletion])
      assert.strictEqual(reported.body.usageValue.value, 3)
    }),
  )
})
