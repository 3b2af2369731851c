import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { months } from "../../src/kernel/database/TimePartitions.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { openCreditedShop } from "./CreditedShop.ts"
import { dropBefore, newMonths } from "./Months.ts"
import { whyNotPartitioned } from "./partitioned.ts"

/** The newest start of a month that is some hours ago: usage of both sides can still be reported. */
const border = months.startOf(months.of(new Date(Date.now() - DAY_MS / 4)))

layer(TestService.separate, { excludeTestServices: true })(
  withReason("months of usage that burned credits", whyNotPartitioned),
  (tests) => {
    const it = { effect: whyNotPartitioned === undefined ? tests.effect : tests.effect.skip }

    it.effect("are summed in their credits when they are dropped, and the credits have paid as much as before", () =>
      Effect.gen(function* () {
        yield* newMonths(months.startOf(months.of(border) - 1), 4)
        const sql = yield* PgClient.PgClient
        const shop = yield* openCreditedShop
        const startsAt = new Date(border.getTime() - DAY_MS).toISOString()
        yield* shop.metered("calls", 0)
        const ids = [
          yield* shop.credit("calls", { amount: 10, startsAt }),
          yield* shop.credit("calls", { amount: 10, startsAt }),
        ]
        const report = (value: number, at: number) =>
          shop.report("calls", { value, timestamp: new Date(border.getTime() + at).toISOString() })
        yield* report(7, -2)
        yield* report(-2, -1)
        yield* report(8, 0)
        const before = yield* shop.usedOf
        assert.deepStrictEqual(new Set(before.values()), new Set([10, 3]))
        assert.strictEqual(yield* dropBefore(border), 1)
        assert.deepStrictEqual(yield* shop.usedOf, before)
        const credits = yield* sql<{ dropped: number; until: Date }>`
          SELECT dropped_used::int AS dropped, dropped_until AS until FROM credits WHERE id = ANY (${ids}::uuid[])
          ORDER BY dropped_used DESC`
        assert.deepStrictEqual(credits, [
          { dropped: 5, until: border },
          { dropped: 0, until: border },
        ])
        const [left] = yield* sql<{
          count: number
        }>`SELECT count(*)::int AS count FROM credit_uses WHERE at < ${border}`
        assert.strictEqual(left?.count, 0)
        // It goes on: 7 of both are left.
        assert.strictEqual((yield* shop.report("calls", { value: 7 })).status, 200)
        assert.strictEqual((yield* shop.report("calls", { value: 1 })).status, 409)
      }),
    )
  },
)
