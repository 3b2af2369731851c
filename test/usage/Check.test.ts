import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { HotPath } from "../../src/kernel/database/Connections.ts"
import { createShop, rejection, term } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

const IN_JUNE = "2025-06-15T12:00:00.000Z"

/** A shop with the license "pro", its instance "prod", and functions that check it. */
const runningInstance = Effect.fnUntraced(function* (dates: object = {}) {
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.customer("Acme")
  const instance = yield* shop.instance("Prod", "acme", "pro", dates)
  const check = (checks: ReadonlyArray<object>, at: string | undefined = IN_JUNE) =>
    shop.call("POST", "/instances/prod/check", { checks, at })
  /** The answer to a single check. */
  const ask = (entitlement: string, more: object = {}, at?: string) =>
    Effect.map(check([{ entitlement, ...more }], at), ({ body }) => body.checks[0])
  return { ...shop, instance, check, ask }
})

const figures = (answer: Record<string, unknown>) => [
  answer["reason"],
  answer["limit"],
  answer["usage"],
  answer["remaining"],
  answer["overage"],
]
const period = (answer: Record<string, unknown>) => [answer["currentPeriodStart"], answer["currentPeriodEnd"]]

layer(TestService.layer, { excludeTestServices: true })("checks", (it) => {
  it.effect("checks, customers and instances respond while another request waits for a lock", () =>
    Effect.gen(function* () {
      const { call, entitlement } = yield* runningInstance()
      yield* entitlement("sso", { type: "BOOLEAN" })
      const sql = yield* PgClient.PgClient
      const locked = yield* Deferred.make<void>()
      const hold = Effect.andThen(Deferred.succeed(locked, undefined), Effect.never)
      const holder = yield* Effect.forkScoped(sql.withTransaction(Effect.andThen(sql`LOCK TABLE feature_flags`, hold)))
      yield* Deferred.await(locked)
      const listing = yield* Effect.forkScoped(call("GET", "/feature-flags"))
      const hotPath = yield* HotPath
      const waits = hotPath.ask(
        (own) => own`SELECT 1 FROM pg_locks WHERE relation = 'feature_flags'::regclass AND NOT granted`,
      )
      yield* Effect.repeat(waits, { until: (rows) => rows.length > 0 })
      const checks = [{ entitlement: "sso" }]
      assert.strictEqual((yield* call("POST", "/instances/prod/check", { checks })).status, 200)
      assert.strictEqual((yield* call("GET", "/customers/acme")).status, 200)
      assert.strictEqual((yield* call("GET", "/instances/prod")).status, 200)
      assert.isUndefined(listing.pollUnsafe())
      yield* Fiber.interrupt(holder)
      assert.strictEqual((yield* Fiber.join(listing)).status, 200)
    }),
  )

  it.effect("answers are in the order of the request, with the slugs of instance and license", () =>
    Effect.gen(function* () {
      const { check, entitlement, grant } = yield* runningInstance()
      yield* entitlement("calls", { resetPeriod: "MONTH" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("regions", { type: "CONFIG" })
      yield* grant("pro", "calls", 10)
      yield* grant("pro", "sso", true)
      yield* grant("pro", "regions", { list: ["eu"] })
      const none = { limit: null, usage: null, remaining: null, overage: null }
      const unmeasured = { ...none, currentPeriodStart: null, currentPeriodEnd: null }
      const month = { currentPeriodStart: "2025-06-01T00:00:00.000Z", currentPeriodEnd: "2025-07-01T00:00:00.000Z" }
      const calls = { entitlement: "calls", limit: 10, usage: 0, remaining: 10, overage: 0, ...month }
      const answer = yield* check([
        { entitlement: "sso" },
        { entitlement: "calls", requested: 10 },
        { entitlement: "unheard-of" },
        { entitlement: "calls", requested: 10.5 },
        { entitlement: "regions" },
      ])
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.body, {
        instance: "prod",
        license: "pro",
        at: IN_JUNE,
        graceEndsAt: null,
        checks: [
          { entitlement: "sso", allowed: true, reason: "GRANTED", ...unmeasured },
          { ...calls, allowed: true, reason: "GRANTED" },
          { entitlement: "unheard-of", allowed: false, reason: "ENTITLEMENT_NOT_FOUND", ...unmeasured },
          { ...calls, allowed: false, reason: "LIMIT_REACHED" },
          { entitlement: "regions", allowed: true, reason: "GRANTED", ...unmeasured },
        ],
      })
    }),
  )

  it.effect("a hard limit allows usage up to exactly the limit", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant, instance, used } = yield* runningInstance()
      const { id } = yield* entitlement("storage", { resetPeriod: "MONTH" })
      yield* grant("pro", "storage", 0.3)
      yield* used(instance.id, id, "2025-06-01T00:00:00Z", "0.1")
      assert.deepStrictEqual(figures(yield* ask("storage", { requested: 0.2 })), ["GRANTED", 0.3, 0.1, 0.2, 0])
      const over = yield* ask("storage", { requested: 0.2000001 })
      assert.deepStrictEqual([over.allowed, ...figures(over)], [false, "LIMIT_REACHED", 0.3, 0.1, 0.2, 0])
      assert.strictEqual((yield* ask("storage")).reason, "LIMIT_REACHED")
    }),
  )

  it.effect("a soft limit allows its overage and denies more", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant, instance, used } = yield* runningInstance()
      const { id } = yield* entitlement("calls", { resetPeriod: "MONTH" })
      yield* grant("pro", "calls", 100, 10)
      yield* used(instance.id, id, "2025-06-01T00:00:00Z", "105")
      const tolerated = yield* ask("calls", { requested: 5 })
      assert.deepStrictEqual([tolerated.allowed, ...figures(tolerated)], [true, "SOFT_LIMIT", 100, 105, 0, 5])
      assert.deepStrictEqual(figures(yield* ask("calls", { requested: 6 })), ["LIMIT_REACHED", 100, 105, 0, 5])
      assert.strictEqual((yield* ask("calls", { requested: 0 })).reason, "SOFT_LIMIT")
    }),
  )

  it.effect("an unlimited grant allows any amount", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant, instance, used } = yield* runningInstance()
      const { id } = yield* entitlement("calls")
      yield* grant("pro", "calls", -1)
      yield* used(instance.id, id, term.startLicenseDate, "123456789012")
      const answer = yield* ask("calls", { requested: 999_999_999_999_999 })
      assert.deepStrictEqual([answer.allowed, ...figures(answer)], [true, "UNLIMITED", -1, 123456789012, -1, 0])
    }),
  )

  it.effect("an entitlement without a grant, or with a grant of false, is denied", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant } = yield* runningInstance()
      yield* entitlement("calls")
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", false)
      assert.deepStrictEqual(figures(yield* ask("calls")), ["NOT_GRANTED", null, 0, null, null])
      assert.deepStrictEqual(figures(yield* ask("sso")), ["NOT_GRANTED", null, null, null, null])
    }),
  )

  it.effect("usage is zero again when a new period starts", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant, instance, used } = yield* runningInstance()
      for (const resetPeriod of ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"]) {
        yield* entitlement(resetPeriod.toLowerCase(), { resetPeriod })
        yield* grant("pro", resetPeriod.toLowerCase(), 5)
      }
      const { id } = yield* entitlement("monthly", { resetPeriod: "MONTH" })
      yield* grant("pro", "monthly", 5)
      yield* used(instance.id, id, "2025-05-01T00:00:00Z", "4")
      yield* used(instance.id, id, "2025-06-01T00:00:00Z", "5")
      const usageAt = (at: string) => Effect.map(ask("monthly", {}, at), ({ usage, reason }) => [usage, reason])
      assert.deepStrictEqual(yield* usageAt("2025-05-31T23:59:59.999Z"), [4, "GRANTED"])
      assert.deepStrictEqual(yield* usageAt("2025-06-01T00:00:00.000Z"), [5, "LIMIT_REACHED"])
      assert.deepStrictEqual(yield* usageAt("2025-06-30T23:59:59.999Z"), [5, "LIMIT_REACHED"])
      assert.deepStrictEqual(yield* usageAt("2025-07-01T00:00:00.000Z"), [0, "GRANTED"])
      assert.deepStrictEqual(period(yield* ask("hour")), ["2025-06-15T12:00:00.000Z", "2025-06-15T13:00:00.000Z"])
      assert.deepStrictEqual(period(yield* ask("week")), ["2025-06-09T00:00:00.000Z", "2025-06-16T00:00:00.000Z"])
    }),
  )

  it.effect("the total of every kind of period is found from its first to its last millisecond", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant, instance, used } = yield* runningInstance()
      const periods = [
        ["HOUR", "2025-06-15T12:00:00.000Z", "2025-06-15T12:59:59.999Z"],
        ["DAY", "2025-06-15T00:00:00.000Z", "2025-06-15T23:59:59.999Z"],
        ["WEEK", "2025-06-09T00:00:00.000Z", "2025-06-15T23:59:59.999Z"],
        ["MONTH", "2025-07-01T00:00:00.000Z", "2025-07-31T23:59:59.999Z"],
        ["YEAR", "2025-01-01T00:00:00.000Z", "2025-12-31T23:59:59.999Z"],
      ] as const
      for (const [resetPeriod, first, last] of periods) {
        const slug = `per-${resetPeriod.toLowerCase()}`
        const { id } = yield* entitlement(slug, { resetPeriod })
        yield* grant("pro", slug, 5)
        yield* used(instance.id, id, first, "3")
        assert.strictEqual((yield* ask(slug, {}, first)).usage, 3)
        assert.strictEqual((yield* ask(slug, {}, last)).usage, 3)
      }
    }),
  )

  it.effect("lifetime usage counts from the license start and never resets", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant, instance, used } = yield* runningInstance()
      const { id } = yield* entitlement("seats")
      yield* grant("pro", "seats", 3)
      yield* used(instance.id, id, term.startLicenseDate, "2")
      for (const at of [term.startLicenseDate, IN_JUNE, "2025-12-31T23:59:59.999Z"]) {
        const answer = yield* ask("seats", {}, at)
        assert.deepStrictEqual(figures(answer), ["GRANTED", 3, 2, 1, 0])
        assert.deepStrictEqual(period(answer), [term.startLicenseDate, null])
      }
    }),
  )

  it.effect("periods anchored at the license start end with short months and return to their day", () =>
    Effect.gen(function* () {
      const start = "2025-01-31T10:00:00.000Z"
      const { ask, entitlement, grant, instance, used } = yield* runningInstance({ startLicenseDate: start })
      const { id } = yield* entitlement("calls", { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" })
      yield* grant("pro", "calls", 10)
      yield* used(instance.id, id, start, "1")
      yield* used(instance.id, id, "2025-02-28T10:00:00Z", "2")
      yield* used(instance.id, id, "2025-03-31T10:00:00Z", "3")
      const at = (instant: string) =>
        Effect.map(ask("calls", {}, instant), (answer) => [answer.usage, ...period(answer)])
      const february = "2025-02-28T10:00:00.000Z"
      const march = "2025-03-31T10:00:00.000Z"
      assert.deepStrictEqual(yield* at("2025-02-28T09:59:59.999Z"), [1, start, february])
      assert.deepStrictEqual(yield* at(february), [2, february, march])
      assert.deepStrictEqual(yield* at("2025-03-31T09:59:59.999Z"), [2, february, march])
      assert.deepStrictEqual(yield* at(march), [3, march, "2025-04-30T10:00:00.000Z"])
    }),
  )

  it.effect("totals of a previous license start do not hide the usage of the new periods", () =>
    Effect.gen(function* () {
      const { ask, call, entitlement, grant, instance, used } = yield* runningInstance()
      const { id } = yield* entitlement("calls", { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" })
      yield* grant("pro", "calls", 10)
      yield* used(instance.id, id, "2025-06-10T00:00:00Z", "7")
      yield* used(instance.id, id, "2025-06-01T00:00:00Z", "4")
      assert.strictEqual((yield* ask("calls")).usage, 4)
      yield* call("PATCH", "/instances/prod", { startLicenseDate: "2025-01-10T00:00:00Z" })
      assert.strictEqual((yield* ask("calls")).usage, 7)
    }),
  )

  it.effect("the license is running from its start to the instant before its end", () =>
    Effect.gen(function* () {
      const { ask, entitlement, grant } = yield* runningInstance()
      yield* entitlement("calls")
      yield* grant("pro", "calls", -1)
      const at = (instant: string) => Effect.map(ask("calls", {}, instant), ({ allowed, reason }) => [allowed, reason])
      assert.deepStrictEqual(yield* at("2024-12-31T23:59:59.999Z"), [false, "LICENSE_NOT_STARTED"])
      assert.deepStrictEqual(yield* at("2025-01-01T00:00:00.000Z"), [true, "UNLIMITED"])
      assert.deepStrictEqual(yield* at("2025-12-31T23:59:59.999Z"), [true, "UNLIMITED"])
      assert.deepStrictEqual(yield* at("2026-01-01T00:00:00.000Z"), [false, "LICENSE_EXPIRED"])
      assert.deepStrictEqual(yield* at("2026-01-01T00:59:59.999+01:00"), [true, "UNLIMITED"])
    }),
  )

  it.effect("a check without an instant is about now", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant } = yield* runningInstance({ endLicenseDate: "9999-01-01T00:00:00Z" })
      yield* entitlement("calls", { resetPeriod: "DAY" })
      yield* grant("pro", "calls", 1)
      const before = Date.now()
      const { body } = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] })
      assert.isAtLeast(Date.parse(body.at), before - 1000)
      assert.isAtMost(Date.parse(body.at), Date.now() + 1000)
      assert.strictEqual(body.checks[0].reason, "GRANTED")
    }),
  )

  it.effect("instances have separate usage, and an archived license version can be checked", () =>
    Effect.gen(function* () {
      const { archive, ask, entitlement, grant, instance: runInstance, used } = yield* runningInstance()
      const shop = yield* runningInstance()
      const { id } = yield* entitlement("calls")
      yield* grant("pro", "calls", 5)
      yield* used(runInstance.id, id, term.startLicenseDate, "5")
      yield* archive("pro")
      assert.strictEqual((yield* ask("calls")).reason, "LIMIT_REACHED")
      assert.strictEqual((yield* shop.ask("calls")).reason, "ENTITLEMENT_NOT_FOUND")
    }),
  )

  it.effect("an invalid check is rejected with the location of the error", () =>
    Effect.gen(function* () {
      const { call, check } = yield* runningInstance()
      const one = { entitlement: "calls" }
      const places = (checks: ReadonlyArray<object>) => Effect.map(check(checks), (answer) => rejection(answer).places)
      assert.deepStrictEqual(yield* places([]), ["body.checks"])
      assert.deepStrictEqual(yield* places(Array.from({ length: 101 }, () => one)), ["body.checks"])
      assert.strictEqual((yield* check(Array.from({ length: 100 }, () => one))).body.checks.length, 100)
      assert.deepStrictEqual(yield* places([one, { ...one, requested: -1 }]), ["body.checks[1].requested"])
      const nobody = yield* call("POST", "/instances/none/check", { checks: [one] })
      assert.deepStrictEqual(rejection(nobody), { status: 404, code: "Instance.NotFound", places: [] })
    }),
  )
})
