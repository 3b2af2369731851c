import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"

// From the third time on, an unchanged check has a cached answer.
const OFTEN = 3

interface Checked {
  readonly graceEndsAt: string | null
  readonly checks: ReadonlyArray<{ readonly reason: string; readonly limit: number; readonly usage: number }>
}

/** A shop with an instance whose license ended a day ago. */
const openEnded = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  yield* shop.metered("calls", 10, { resetPeriod: "YEAR" })
  const end = daysAgo(1)
  yield* shop.call("PATCH", "/instances/prod", { endLicenseDate: end })
  const ask = (body: object = {}, slug = "calls") =>
    Effect.map(
      shop.call("POST", "/instances/prod/check", { checks: [{ entitlement: slug }], ...body }),
      (response): Checked => response.body,
    )
  const reason = (body: object = {}, slug = "calls") =>
    Effect.map(ask(body, slug), ({ checks, graceEndsAt }) => [checks[0]?.reason, graceEndsAt])
  /** The end of so many days of grace. */
  const graceEnd = (days: number) => new Date(Date.parse(end) + days * DAY_MS).toISOString()
  return { ...shop, ask, end, graceEnd, reason }
})

layer(TestService.layer, { excludeTestServices: true })("the grace period of a license", (it) => {
  it.effect("allows what the license allowed, in every answer, until it ends", () =>
    Effect.gen(function* () {
      const { ask, call, entitlement, grant, graceEnd, reason, report } = yield* openEnded
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", true)
      assert.deepStrictEqual(yield* reason(), ["LICENSE_EXPIRED", null])
      assert.strictEqual((yield* report("calls", { value: 1 })).status, 422)

      yield* call("PUT", "/licenses/pro", { graceDays: 3 })
      const end = graceEnd(3)
      for (let times = 0; times < OFTEN; times++) assert.deepStrictEqual(yield* reason(), ["IN_GRACE", end])
      assert.deepStrictEqual(yield* reason({}, "sso"), ["IN_GRACE", end])
      assert.deepStrictEqual(yield* reason({ consume: true }), ["IN_GRACE", end])
      assert.strictEqual((yield* report("calls", { value: 2 })).status, 200)
      const events = yield* call("POST", "/usage-events", {
        specversion: "1.0",
        id: "1",
        source: "test",
        type: "calls",
        subject: "prod",
        data: { value: 3 },
      })
      assert.strictEqual(events.body.results[0].status, "accepted", events.text)
      const reservation = yield* call("POST", "/instances/prod/entitlements/calls/reservations", { quantity: 2 })
      assert.strictEqual(reservation.status, 201, reservation.text)
      const evaluated = yield* call("POST", "/ofrep/v1/evaluate/flags/entitlement.calls", {
        context: { targetingKey: "prod" },
      })
      assert.deepStrictEqual([evaluated.body.value, evaluated.body.metadata.checkReason], [2, "IN_GRACE"])

      const { checks } = yield* ask()
      assert.deepStrictEqual([checks[0]?.limit, checks[0]?.usage], [10, 6])
      // Limits hold as before.
      assert.deepStrictEqual(yield* reason({ checks: [{ entitlement: "calls", requested: 3 }] }), [
        "LIMIT_REACHED",
        end,
      ])
      const explained = yield* call("POST", "/instances/prod/check", {
        checks: [{ entitlement: "sso" }],
        explain: true,
      })
      const { license, text } = explained.body.checks[0].explanation
      assert.strictEqual(license.graceDays, 3)
      assert.match(text, /^Allowed until .*, in the grace period: the license of "prod" ended on /)

      const lastMoment = new Date(Date.parse(end) - 1).toISOString()
      for (let times = 0; times < OFTEN; times++) {
        assert.deepStrictEqual(yield* reason({ at: lastMoment }), ["IN_GRACE", end])
        assert.deepStrictEqual(yield* reason({ at: end }), ["LICENSE_EXPIRED", null])
      }
    }),
  )

  it.effect(
    "is that of the instance, otherwise that of its license version, and a change of either counts at once",
    () =>
      Effect.gen(function* () {
        const { call, graceEnd, reason } = yield* openEnded
        const often = Effect.fnUntraced(function* (expected: Array<string | null>) {
          for (let times = 0; times < OFTEN; times++) assert.deepStrictEqual(yield* reason(), expected)
        })
        yield* often(["LICENSE_EXPIRED", null])
        yield* call("PUT", "/licenses/pro", { graceDays: 3 })
        yield* often(["IN_GRACE", graceEnd(3)])
        const own = yield* call("PATCH", "/instances/prod", { graceDays: 10 })
        assert.strictEqual(own.body.graceDays, 10)
        yield* often(["IN_GRACE", graceEnd(10)])
        yield* call("PUT", "/licenses/pro", { graceDays: 20 })
        yield* often(["IN_GRACE", graceEnd(10)])
        yield* call("PATCH", "/instances/prod", { graceDays: 0 })
        yield* often(["LICENSE_EXPIRED", null])
        yield* call("PATCH", "/instances/prod", { graceDays: null })
        yield* often(["IN_GRACE", graceEnd(20)])
        yield* call("PATCH", "/instances/prod", { endLicenseDate: null })
        yield* often(["GRANTED", null])
      }),
  )

  it.effect("of the past is the one that was true then", () =>
    Effect.gen(function* () {
      const { call, graceEnd, reason } = yield* openEnded
      const instant = Effect.promise(async () => {
        const at = new Date().toISOString()
        // The next change is later than this instant.
        while (new Date().toISOString() === at) await new Promise((resolve) => setImmediate(resolve))
        return at
      })
      const none = yield* instant
      yield* call("PUT", "/licenses/pro", { graceDays: 3 })
      const three = yield* instant
      yield* call("PATCH", "/instances/prod", { graceDays: 5 })
      const five = yield* instant
      yield* call("PUT", "/licenses/pro", { graceDays: 4, name: "Pro 4" })
      yield* call("PATCH", "/instances/prod", { graceDays: null })
      const four = yield* instant
      yield* call("PUT", "/licenses/pro", { graceDays: 0 })
      assert.deepStrictEqual(yield* reason({ at: none }), ["LICENSE_EXPIRED", null])
      assert.deepStrictEqual(yield* reason({ at: three }), ["IN_GRACE", graceEnd(3)])
      assert.deepStrictEqual(yield* reason({ at: five }), ["IN_GRACE", graceEnd(5)])
      assert.deepStrictEqual(yield* reason({ at: four }), ["IN_GRACE", graceEnd(4)])
      assert.deepStrictEqual(yield* reason(), ["LICENSE_EXPIRED", null])
    }),
  )

  it.effect(
    "has 0 to 365 whole days, 0 unless a version says otherwise, and is part of the records and their events",
    () =>
      Effect.gen(function* () {
        const { call, instance, license } = yield* openEnded
        assert.isNull(instance.graceDays)
        const created = yield* license("gold", { graceDays: 365 })
        assert.strictEqual(created.graceDays, 365)
        assert.strictEqual((yield* call("GET", "/licenses/pro")).body.graceDays, 0)
        for (const graceDays of [-1, 366, 1.5, "3", null]) {
          const response = yield* call("PUT", "/licenses/pro", { graceDays })
          assert.deepStrictEqual([response.status, response.body.errors[0].location], [422, "body.graceDays"])
        }
        const invalid = yield* call("PATCH", "/instances/prod", { graceDays: 366 })
        assert.strictEqual(invalid.status, 422)
        yield* call("PATCH", "/instances/prod", { graceDays: 7 })
        const { items } = (yield* call("GET", "/events?type=INSTANCE_UPDATED&limit=200")).body
        assert.deepStrictEqual([items.at(-1).data.graceDays, items.at(-1).previous], [7, { graceDays: null }])
      }),
  )
})
