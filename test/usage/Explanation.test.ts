import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CheckResult } from "../../src/domains/usage/check/Model.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const grantedIn = (explanation: Record<string, unknown>): unknown =>
  (explanation["grant"] as { readonly value: unknown } | null)?.value ?? null

layer(TestService.layer, { excludeTestServices: true })("an explanation", (it) => {
  it.effect("contains the license version, the grant, the window, the overage rule and reserved quantities", () =>
    Effect.gen(function* () {
      const { call, grant, instanceOf, license, metered, report } = yield* openMeteredShop
      yield* metered("calls", 3, { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" })
      yield* license("pro-v2", { familySlug: "pro" })
      yield* grant("pro-v2", "calls", 200, 12.5)
      const dates = { startLicenseDate: "2025-01-31T00:00:00.000Z", endLicenseDate: "2099-01-01T00:00:00.000Z" }
      yield* instanceOf("Second", "acme", "pro-v2", dates)
      yield* call("POST", "/instances/second/entitlements/calls/usage", { value: 190 })
      yield* call("POST", "/instances/second/entitlements/calls/reservations", { quantity: 5 })
      yield* call("POST", "/licenses/pro-v2/archive")
      yield* report("calls", { value: 1 })
      const ask = (more: object) =>
        Effect.map(
          call("POST", "/instances/second/check", {
            checks: [{ entitlement: "calls", requested: 20 }],
            explain: true,
            ...more,
          }),
          ({ body }) => body.checks[0],
        )
      const whole = yield* call("POST", "/instances/second/check", {
        checks: [{ entitlement: "calls" }],
        explain: true,
      })
      yield* Schema.decodeUnknownEffect(Schema.toCodecJson(CheckResult), { onExcessProperty: "error" })(whole.body)
      const { explanation, ...answer } = yield* ask({})
      assert.deepStrictEqual([answer.reason, answer.usage, answer.remaining, answer.overage], ["SOFT_LIMIT", 190, 5, 0])
      const { text, ...rest } = explanation
      assert.deepStrictEqual(rest, {
        license: { slug: "pro-v2", version: "2", family: "pro", lifecycleState: "ARCHIVED", ...dates, graceDays: 0 },
        grant: { source: "LICENSE", value: 200, overagePercent: 12.5 },
        sources: [{ source: "LICENSE", value: 200, license: "pro-v2" }],
        window: {
          start: answer.currentPeriodStart,
          end: answer.currentPeriodEnd,
          resetPeriod: "MONTH",
          resetAnchor: "LICENSE_START",
        },
        overageRule: { kind: "SOFT", limit: 200, cap: 225 },
        held: 5,
      })
      assert.strictEqual(
        text,
        `Allowed as overage: with 20 more, the total of "calls" is 215, and license "pro-v2" (version 2) grants 200 and allows overage up to 225. Before this, 190 were used from ${answer.currentPeriodStart} to ${answer.currentPeriodEnd}, and reservations held 5.`,
      )
      const then = yield* ask({ at: "2025-02-28T00:00:00.000Z" })
      assert.deepStrictEqual(
        [then.explanation.window.start, then.explanation.window.end, then.explanation.held],
        ["2025-02-28T00:00:00.000Z", "2025-03-31T00:00:00.000Z", 0],
      )
      const consumed = yield* ask({ consume: true })
      assert.deepStrictEqual([consumed.usage, consumed.remaining, consumed.overage], [210, 0, 10])
      assert.deepStrictEqual({ ...consumed.explanation, text: "" }, { ...explanation, text: "" })
      assert.strictEqual(consumed.explanation.text, `${text} It was used.`)
      const rejected = yield* ask({ consume: true })
      assert.match(
        rejected.explanation.text,
        /^Denied: with 20 more, the total of "calls" would be 235.* Nothing was used\.$/,
      )
      assert.notProperty(yield* ask({ explain: false }), "explanation")
      assert.notProperty(
        yield* ask({ explain: false, consume: true, checks: [{ entitlement: "calls" }] }),
        "explanation",
      )
    }),
  )

  it.effect("exists for every type of entitlement, and for an unknown one", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, instanceOf, metered } = yield* openMeteredShop
      yield* metered("free", -1)
      yield* metered("hard", 2)
      for (const [slug, type] of [
        ["sso", "BOOLEAN"],
        ["audit", "BOOLEAN"],
        ["regions", "CONFIG"],
      ] as const) {
        yield* entitlement(slug, { type })
      }
      yield* grant("pro", "sso", true)
      yield* grant("pro", "audit", false)
      yield* grant("pro", "regions", { list: ["eu"] })
      const slugs = ["free", "hard", "sso", "audit", "regions", "unheard-of"]
      const checks = slugs.map((slug) => ({ entitlement: slug }))
      for (const consume of [false, true]) {
        const { body } = yield* call("POST", "/instances/prod/check", { checks, explain: true, consume })
        const explained = body.checks.map(({ explanation }: { explanation: Record<string, unknown> }) => [
          grantedIn(explanation),
          explanation["overageRule"],
          explanation["held"],
          explanation["window"] === null,
          String(explanation["text"]).split(":")[0],
        ])
        assert.deepStrictEqual(explained, [
          [-1, { kind: "UNLIMITED", limit: -1, cap: -1 }, 0, false, "Allowed"],
          [2, { kind: "HARD", limit: 2, cap: 2 }, 0, false, "Allowed"],
          [true, null, null, true, "Allowed"],
          [false, null, null, true, "Denied"],
          [{ list: ["eu"] }, null, null, true, "Allowed"],
          [null, null, null, true, "Denied"],
        ])
        const [free] = body.checks
        const end = " Nothing was used, because another check of the request was denied."
        assert.strictEqual(free.explanation.text.endsWith(end), consume)
      }
      const alone = { checks: [{ entitlement: "unheard-of" }], explain: true, consume: true }
      const { body } = yield* call("POST", "/instances/prod/check", alone)
      assert.strictEqual(body.checks[0].explanation.license.slug, "pro")
      yield* instanceOf("Old", "acme", "pro", {
        startLicenseDate: "2020-01-01T00:00:00Z",
        endLicenseDate: "2021-01-01T00:00:00Z",
      })
      const old = yield* call("POST", "/instances/old/check", { checks: [{ entitlement: "hard" }], explain: true })
      assert.include(old.body.checks[0].explanation.text, 'the license of "old" ended on 2021-01-01T00:00:00.000Z')
    }),
  )
})
