import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newSource, openLedgerSite } from "../offline-bundles/LedgerSite.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { openTrancheShop } from "./tranches/TrancheShop.ts"

type Call = (method: string, path: string, body?: unknown) => Effect.Effect<HttpResponse>

/** Sells a credit of exports that began a day ago, and returns how to read what it has paid. */
const sell = Effect.fnUntraced(function* (call: Call, amount: number) {
  const startsAt = new Date(Date.now() - DAY_MS).toISOString()
  const sold = yield* call("POST", "/instances/prod/entitlements/exports/credits", { amount, startsAt })
  assert.strictEqual(sold.status, 201, sold.text)
  return Effect.map(call("GET", `/credits/${sold.body.id}`), ({ body }) => body.used as number)
})

layer(TestService.layer, { excludeTestServices: true })("usage without a request", (it) => {
  it.effect("burns no credit while its tranche holds units of the limit, then it does", () =>
    Effect.gen(function* () {
      const { call, consume, holder, metered } = yield* openTrancheShop
      yield* metered("exports", 10)
      const used = yield* sell(call, 5)
      const product = holder()
      yield* product.refill({ tranches: [{ entitlement: "exports", need: "6" }] })
      assert.isTrue(yield* consume("exports", 4))
      yield* product.spend("exports", 6)
      yield* product.refill({ tranches: [{ entitlement: "exports" }] })
      assert.strictEqual(yield* used, 0)
      // What its product spends beyond the tranche has happened.
      yield* product.spend("exports", 3)
      yield* product.refill()
      assert.strictEqual(yield* used, 3)
      yield* product.spend("exports", 4)
      yield* product.refill()
      assert.strictEqual(yield* used, 5)
      const { body } = yield* call("POST", "/instances/prod/check", {
        checks: [{ entitlement: "exports", requested: 0 }],
      })
      assert.deepStrictEqual([body.checks[0].usage, body.checks[0].overage], [17, 2])
    }),
  )

  it.effect("that a site brings burns credits of its time, after what its bundle holds of the limit", () =>
    Effect.gen(function* () {
      const { allow, call, lines, metered, upload } = yield* openLedgerSite
      const { id } = yield* metered("exports", 10)
      yield* allow(String(id), 1, 6)
      const used = yield* sell(call, 5)
      yield* call("POST", "/instances/prod/entitlements/exports/usage", { value: 4 })
      const source = newSource()
      const written = yield* lines(source, [
        { type: "exports", value: 5 },
        { type: "exports", value: 3 },
        { type: "exports", value: 4 },
      ])
      yield* upload(source, written.slice(0, 2))
      assert.strictEqual(yield* used, 2)
      yield* upload(source, written)
      assert.strictEqual(yield* used, 5)
      yield* upload(source, written)
      assert.strictEqual(yield* used, 5)
    }),
  )
})
