import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { openMetered } from "./Metered.ts"

const limits = [5, 100, 1000]

/** Shops that name everything alike, and differ in the limit alone. */
const openAlike = Effect.forEach(limits, (limit) => Effect.tap(openMetered, (shop) => shop.metered("calls", limit)))

const turns = Array.from({ length: 60 }, (_, turn) => turn)

layer(TestService.layer, { excludeTestServices: true })("organizations that ask at the same moment", (it) => {
  it.effect("are each told of their own limits and usage", () =>
    Effect.gen(function* () {
      const shops = yield* openAlike
      const told = yield* Effect.forEach(
        turns,
        (turn) => {
          const number = turn % limits.length
          const asked = shops[number]?.call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] })
          return Effect.map(asked ?? Effect.die("no shop"), ({ body }) => [body.checks[0].limit, limits[number]])
        },
        { concurrency: "unbounded" },
      )
      for (const [limit, own] of told) assert.strictEqual(limit, own)
    }),
  )

  it.effect("are each told of what they asked, in their order, however much all ask together", () =>
    Effect.gen(function* () {
      const shop = yield* openMetered
      const slugs = Array.from({ length: 45 }, (_, n) => `meter-${n}`)
      yield* Effect.forEach(slugs, (slug, n) => shop.metered(slug, n), { concurrency: 4 })
      const asked = turns.map((turn) =>
        slugs
          .slice(0, turn === 0 ? 45 : turn % 12)
          .toReversed()
          .concat("unknown"),
      )
      const told = yield* Effect.forEach(
        asked,
        (some) => shop.call("POST", "/instances/prod/check", { checks: some.map((entitlement) => ({ entitlement })) }),
        { concurrency: "unbounded" },
      )
      for (const [turn, { body }] of told.entries()) {
        const answers: ReadonlyArray<{ readonly entitlement: string; readonly limit: number | null }> = body.checks
        assert.deepStrictEqual(
          answers.map(({ entitlement, limit }) => [entitlement, limit]),
          asked[turn]?.map((slug) => [slug, slug === "unknown" ? null : slugs.indexOf(slug)]),
        )
      }
    }),
  )

  it.effect("use up their own limits, by checks and by reports, and nobody else's", () =>
    Effect.gen(function* () {
      const shops = yield* openAlike
      const answers = yield* Effect.forEach(
        turns,
        (turn) => {
          const shop = shops[turn % limits.length]
          if (shop === undefined) return Effect.die("no shop")
          return turn % 2 === 0
            ? Effect.map(shop.check([{ entitlement: "calls" }]), ({ body }) => body.checks[0].allowed === true)
            : Effect.map(shop.report("calls", { value: 1 }), ({ status }) => status === 200)
        },
        { concurrency: "unbounded" },
      )
      const taken = limits.map(
        (_, number) => answers.filter((ok, turn) => ok && turn % limits.length === number).length,
      )
      assert.deepStrictEqual(taken, [5, 20, 20])
      assert.deepStrictEqual(yield* Effect.forEach(shops, ({ used }) => used("calls")), [5, 20, 20])
    }),
  )
})
