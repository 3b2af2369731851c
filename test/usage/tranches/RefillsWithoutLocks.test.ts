import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { parseLines } from "../../../src/domains/offline/ledgers/Rules.ts"
import { optimisticRefills } from "../../../src/domains/offline/tranches/Optimistic.ts"
import type { RefillTranches } from "../../../src/domains/offline/tranches/Model.ts"
import { TestService } from "../../support/TestService.ts"
import { randomIntegers } from "../RandomGenerator.ts"
import { claimOf, openTrancheShop } from "./TrancheShop.ts"

const SLUGS = ["exports", "jobs"]

const openShop = Effect.gen(function* () {
  const shop = yield* openTrancheShop
  yield* shop.metered("exports", 60)
  yield* shop.metered("jobs", 30, { aggregationMethod: "COUNT" })
  return shop
})

type Shop = Effect.Success<typeof openShop>

/** What one holder does in a step: how much it spends of each, and what it asks for. */
interface Step {
  readonly holder: number
  readonly spends: ReadonlyArray<number>
  readonly tranches: ReadonlyArray<{
    readonly entitlement: string
    readonly keep: number
    readonly need: number
    readonly want: number
  }>
  readonly isLost: boolean
}

const randomSteps = (seed: number, count: number): ReadonlyArray<Step> => {
  const pick = randomIntegers(seed)
  return Array.from({ length: count }, () => ({
    holder: pick(3),
    spends: SLUGS.map(() => pick(4)),
    tranches: SLUGS.filter(() => pick(4) > 0).map((entitlement) => {
      const keep = pick(8)
      return { entitlement, keep, need: pick(2) * (keep + pick(5)), want: pick(20) }
    }),
    isLost: pick(6) === 0,
  }))
}

/** Plays steps; under an idempotency key, a refill always takes the locks. Returns what each response said. */
const play = Effect.fnUntraced(function* (
  { holder, path, service, standing, tenant }: Shop,
  steps: ReadonlyArray<Step>,
  headersOf: (index: number) => Record<string, string>,
) {
  const holders = Array.from({ length: 3 }, () => holder())
  const seen = yield* Effect.forEach(steps, ({ holder: place, isLost, spends, tranches }, index) =>
    Effect.gen(function* () {
      const product = holders[place] ?? assert.fail()
      const uses = spends.flatMap((amount, slug) =>
        slug === 0
          ? amount > 0
            ? [{ type: "exports", value: amount }]
            : []
          : Array.from({ length: amount }, () => ({ type: "jobs", value: 1 })),
      )
      yield* product.append(uses)
      const asked = tranches.map(({ entitlement, ...amounts }) => ({
        entitlement,
        ...Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)])),
      }))
      const body = product.body({ tranches: asked })
      const options = { token: tenant.token, body, headers: headersOf(index) }
      const response = yield* service.core("POST", path, options)
      assert.strictEqual(response.status, 200, response.text)
      if (!isLost) product.unsettle(response.body.lines)
      const { accepted, duplicates, lines, results } = response.body
      const refilled = response.body.tranches.map(({ reason, satisfied, unspent }: Record<string, unknown>) => [
        unspent,
        satisfied,
        reason,
      ])
      const spendable = Object.entries(claimOf(response).of).map(([slug, periods]) => [
        slug,
        Object.values(periods as object),
      ])
      return {
        accepted,
        duplicates,
        lines,
        results,
        refilled,
        spendable,
        standing: yield* Effect.forEach(SLUGS, standing),
      }
    }),
  )
  return seen
})

layer(TestService.layer, { excludeTestServices: true })("a refill without locks", (it) => {
  it.effect("says and stores what one under locks does, also where lines, limits and holders meet", () =>
    Effect.gen(function* () {
      for (const seed of [1, 2, 3]) {
        const [free, locked] = [yield* openShop, yield* openShop]
        const steps = randomSteps(seed, 40)
        const expected = yield* play(locked, steps, (index) => ({ "idempotency-key": `${seed}-${index}` }))
        assert.deepStrictEqual(yield* play(free, steps, () => ({})), expected)
        const [of, others] = yield* Effect.forEach([free, locked], ({ eventsOf }) =>
          Effect.map(
            eventsOf("ENTITLEMENT_USAGE_CAP_EXCEEDED", "ENTITLEMENT_USAGE_LIMIT_REACHED"),
            (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type),
          ),
        )
        assert.deepStrictEqual(of, others)
      }
    }),
  )

  it.effect("is one of the present period for a tranche that its holder has; nothing is stored of any other", () =>
    Effect.gen(function* () {
      const { asCaller, holder, standing } = yield* openShop
      const refill = yield* optimisticRefills
      const product = holder()
      const attempt = (input: Omit<RefillTranches, "source">) => {
        const body = { ...product.body(input), ...input } as RefillTranches
        return asCaller(refill("prod", body, parseLines(body.source, body.lines ?? []).lines))
      }
      const need = (entitlement: string, amount: string) => ({
        tranches: [{ entitlement, keep: amount, need: amount }],
      })
      assert.isUndefined(yield* attempt(need("exports", "5")), "a new ledger")
      yield* product.refill(need("exports", "5"))
      assert.isUndefined(yield* attempt(need("jobs", "1")), "a tranche that it does not have")
      assert.isUndefined(yield* attempt(need("exports", "61")), "an event is due")
      assert.isUndefined(yield* attempt(need("nowhere", "1")), "it is rejected")
      assert.isUndefined(yield* attempt({ close: true }), "it closes its ledger")
      assert.deepStrictEqual(yield* standing("exports"), [0, 5])

      yield* product.spend("exports", 2)
      const refilled = yield* attempt(need("exports", "7"))
      assert.deepStrictEqual(
        refilled?.tranches.map(({ satisfied, unspent }) => [unspent, satisfied]),
        [["7", true]],
      )
      assert.deepStrictEqual(yield* standing("exports"), [2, 7])
      assert.strictEqual(refilled?.position.lines, 1)
    }),
  )

  it.effect("of many holders at once is stored as a whole or not at all: the limit holds, and no line is lost", () =>
    Effect.gen(function* () {
      const { holder, standing } = yield* openShop
      const products = Array.from({ length: 10 }, () => holder())
      const amounts = (keep: string, want: string) => SLUGS.map((entitlement) => ({ entitlement, keep, want }))
      for (const product of products) yield* product.refill({ tranches: amounts("0", "1") })
      const spent = yield* Effect.forEach(
        products,
        (product) =>
          Effect.gen(function* () {
            let lines = 0
            for (let turn = 0; turn < 5; turn++) {
              const response = yield* product.refill({ tranches: [{ entitlement: "exports", keep: "0", need: "1" }] })
              assert.strictEqual(response.status, 200, response.text)
              if (response.body.tranches[0].satisfied !== true) continue
              yield* product.spend("exports", 1)
              lines++
            }
            yield* product.refill({ tranches: amounts("0", "0") })
            return lines
          }),
        { concurrency: "unbounded" },
      )
      const sum = spent.reduce((all, one) => all + one, 0)
      assert.deepStrictEqual(yield* standing("exports"), [sum, 0])
      assert.strictEqual(sum, 50)
    }),
  )
})
