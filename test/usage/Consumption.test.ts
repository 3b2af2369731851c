import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CheckResult } from "../../src/domains/usage/check/Model.ts"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const answersOf = ({ body }: HttpResponse) =>
  body.checks.map((answer: Record<string, unknown>) => [
    answer["allowed"],
    answer["reason"],
    answer["usage"],
    answer["remaining"],
    answer["overage"],
  ])

layer(TestService.layer, { excludeTestServices: true })("a check that consumes", (it) => {
  it.effect("uses what it allows, and returns the figures after it", () =>
    Effect.gen(function* () {
      const { check, entitlement, grant, metered, used } = yield* openMeteredShop
      yield* metered("calls", 10)
      yield* metered("soft", 2, {}, 50)
      yield* metered("free", -1)
      yield* metered("hits", 5, { aggregationMethod: "COUNT" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", true)
      const answer = yield* check([
        { entitlement: "calls", requested: 4 },
        { entitlement: "sso" },
        { entitlement: "soft", requested: 3 },
        { entitlement: "free", requested: 0.5 },
        { entitlement: "hits", requested: 3 },
      ])
      assert.strictEqual(answer.status, 200)
      yield* Schema.decodeUnknownEffect(Schema.toCodecJson(CheckResult), { onExcessProperty: "error" })(answer.body)
      assert.deepStrictEqual(answersOf(answer), [
        [true, "GRANTED", 4, 6, 0],
        [true, "GRANTED", null, null, null],
        [true, "SOFT_LIMIT", 3, 0, 1],
        [true, "UNLIMITED", 0.5, -1, 0],
        [true, "GRANTED", 1, 4, 0],
      ])
      assert.deepStrictEqual([yield* used("calls"), yield* used("hits")], [4, 1])
    }),
  )

  it.effect("uses nothing unless all items are allowed", () =>
    Effect.gen(function* () {
      const { check, metered, thresholds, used } = yield* openMeteredShop
      yield* metered("calls", 10)
      yield* metered("seats", 1)
      const answer = yield* check([
        { entitlement: "calls", requested: 4 },
        { entitlement: "seats", requested: 2 },
      ])
      assert.deepStrictEqual(answersOf(answer), [
        [true, "GRANTED", 0, 10, 0],
        [false, "LIMIT_REACHED", 0, 1, 0],
      ])
      assert.deepStrictEqual([yield* used("calls"), yield* used("seats")], [0, 0])
      assert.deepStrictEqual(yield* thresholds, ["CAP_EXCEEDED"])
      const unknown = yield* check([{ entitlement: "calls" }, { entitlement: "unheard-of" }])
      assert.deepStrictEqual(answersOf(unknown)[1], [false, "ENTITLEMENT_NOT_FOUND", null, null, null])
      assert.strictEqual(yield* used("calls"), 0)
    }),
  )

  it.effect("counts an entitlement twice that is requested twice", () =>
    Effect.gen(function* () {
      const { check, metered, used } = yield* openMeteredShop
      yield* metered("calls", 10)
      const six = { entitlement: "calls", requested: 6 }
      assert.deepStrictEqual(
        answersOf(yield* check([six, six])).map(([allowed]: [boolean]) => allowed),
        [true, false],
      )
      assert.strictEqual(yield* used("calls"), 0)
      yield* check([six, { entitlement: "calls", requested: 4 }])
      assert.strictEqual(yield* used("calls"), 10)
      assert.isTrue((yield* check([{ entitlement: "calls", requested: 0 }])).body.checks[0].allowed)
    }),
  )

  it.effect("counts once under an idempotency key, and replays its response", () =>
    Effect.gen(function* () {
      const { metered, tenant, used } = yield* openMeteredShop
      const { core } = yield* TestService
      yield* metered("calls", 10)
      const options = {
        token: tenant.token,
        body: { checks: [{ entitlement: "calls", requested: 3 }], consume: true },
        headers: { "idempotency-key": "k" },
      }
      const first = yield* core("POST", "/instances/prod/check", options)
      const second = yield* core("POST", "/instances/prod/check", options)
      assert.deepStrictEqual(answersOf(first), [[true, "GRANTED", 3, 7, 0]])
      assert.deepStrictEqual(second.body, first.body)
      assert.strictEqual(yield* used("calls"), 3)
    }),
  )

  it.effect("counts once if the retry spells the same body in another way, and rejects another amount or order", () =>
    Effect.gen(function* () {
      const { metered, tenant, used } = yield* openMeteredShop
      const { core } = yield* TestService
      yield* metered("calls", -1)
      yield* metered("jobs", -1)
      const send = (key: string, rawBody: string) =>
        core("POST", "/instances/prod/check", { token: tenant.token, rawBody, headers: { "idempotency-key": key } })
      const amount = (requested: string) =>
        `{"consume":true,"checks":[{"entitlement":"calls","requested":${requested}},{"entitlement":"jobs"}]}`
      const first = yield* send("a", amount("2"))
      for (const same of [
        '{"checks":[{"requested":2,"entitlement":"calls"},{"entitlement":"jobs"}],"consume":true}',
        amount("2.0"),
        amount("2e0"),
        amount(" 0.2E1"),
        amount("2").replaceAll("c", String.raw`\u0063`),
      ]) {
        const replayed = yield* send("a", same)
        assert.strictEqual(replayed.headers.get("idempotent-replayed"), "true", same)
        assert.strictEqual(replayed.text, first.text)
      }
      for (const other of [
        amount("3"),
        amount('"2"'),
        '{"consume":true,"checks":[{"entitlement":"jobs"},{"entitlement":"calls","requested":2}]}',
      ]) {
        assert.include(["IdempotencyKey.Reused", "Request.ValidationFailed"], (yield* send("a", other)).body.code)
      }
      // Doubles would make these two equal.
      assert.strictEqual((yield* send("b", amount("123456789012345678"))).status, 200)
      assert.strictEqual((yield* send("b", amount("123456789012345679"))).body.code, "IdempotencyKey.Reused")
      assert.deepStrictEqual([yield* used("calls"), yield* used("jobs")], [123456789012345680, 2])
    }),
  )

  it.effect("has its own response when many run at the same time", () =>
    Effect.gen(function* () {
      const { call, check, metered, tenant, used } = yield* openMeteredShop
      const { core, tokenWith } = yield* TestService
      yield* metered("calls", 10)
      yield* metered("peak", 10, { aggregationMethod: "MAX" })
      const other = yield* tokenWith(tenant, ["write:instances"])
      const four = { checks: [{ entitlement: "calls", requested: 4 }], consume: true }
      const answers = yield* Effect.all(
        [
          check([{ entitlement: "calls", requested: 4 }]),
          check([{ entitlement: "peak" }]),
          call("POST", "/instances/none/check", four),
          core("POST", "/instances/prod/check", { token: other, body: four }),
          check([{ entitlement: "calls", requested: 4 }]),
          check([{ entitlement: "calls", requested: 1 }]),
        ],
        { concurrency: 6 },
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 422, 404, 200, 200, 200],
      )
      const allowed = answers.map(({ body }) => body.checks?.[0].allowed === true)
      assert.strictEqual(allowed.filter(Boolean).length, 3)
      assert.strictEqual(yield* used("calls"), 9)
    }),
  )

  it.effect("is rejected for other aggregations, another instant, and without the write scope", () =>
    Effect.gen(function* () {
      const { call, check, metered, tenant } = yield* openMeteredShop
      const { core, tokenWith } = yield* TestService
      yield* metered("peak", 10, { aggregationMethod: "MAX" })
      yield* metered("calls", 10)
      const one = { entitlement: "calls" }
      assert.deepStrictEqual(rejection(yield* check([one, { entitlement: "peak" }])).places, [
        "body.checks[1].entitlement",
      ])
      assert.deepStrictEqual(rejection(yield* check([{ ...one, requested: 1e300 }])).places, [
        "body.checks[0].requested",
      ])
      assert.deepStrictEqual(rejection(yield* check([one], { at: "2026-06-01T00:00:00Z" })).places, ["body.at"])
      const nobody = yield* call("POST", "/instances/none/check", { checks: [one], consume: true })
      assert.strictEqual(nobody.body.code, "Instance.NotFound")
      const token = yield* tokenWith(tenant, ["read:instances"])
      const ask = (consume: boolean) =>
        core("POST", "/instances/prod/check", { token, body: { checks: [one], consume } })
      assert.strictEqual((yield* ask(true)).body.code, "Auth.MissingScope")
      assert.strictEqual((yield* ask(false)).status, 200)
    }),
  )

  it.effect(
    "never exceeds a cap and never fails when many run at the same time",
    () =>
      Effect.gen(function* () {
        const { check, metered, used } = yield* openMeteredShop
        yield* metered("calls", 500)
        yield* metered("other", -1)
        const calls = { entitlement: "calls" }
        const other = { entitlement: "other" }
        const answers = yield* Effect.all(
          Array.from({ length: 1000 }, (_, index) => check(index % 2 === 0 ? [calls, other] : [other, calls])),
          { concurrency: 100 },
        )
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
        const allowed = answers.filter(({ body }) =>
          body.checks.every((answer: { allowed: boolean }) => answer.allowed),
        )
        assert.strictEqual(allowed.length, 500)
        assert.deepStrictEqual([yield* used("calls"), yield* used("other")], [500, 500])
      }),
    120_000,
  )
})
