import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { assertGranted, OFTEN } from "./GrantReaders.ts"
import type { Terms } from "./GrantReaders.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const HOUR = 3_600_000

const openShop = Effect.gen(function* () {
  const clock = yield* MovableClock
  const inHours = (hours: number) => new Date(clock.now() + hours * HOUR).toISOString()
  /** Lets the clock pass an instant. */
  const pass = (instant: string) => clock.pass(Math.max(0, Date.parse(instant) - clock.now()) + 1)
  const shop = yield* openMeteredShop
  const path = (slug: string) => `/instances/prod/entitlements/${slug}/override`
  const override = (slug: string, body: object) => shop.call("PUT", path(slug), body)
  const ask = (slug: string, more: object = {}, requested?: number) =>
    Effect.map(
      shop.call("POST", "/instances/prod/check", {
        checks: [{ entitlement: slug, ...(requested === undefined ? {} : { requested }) }],
        ...more,
      }),
      ({ body }) => body.checks[0],
    )
  const limit = (slug: string, more: object = {}) => Effect.map(ask(slug, more), (answer) => answer.limit)
  return { ...shop, clock, inHours, pass, path, override, ask, limit }
})

const amount = Schema.Union([Schema.Literal(-1), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))])
const overage = Schema.Literals([0, 10, 50])
const licensed = Schema.NullOr(Schema.Struct({ value: amount, overagePercent: overage }))
const overridden = Schema.NullOr(
  Schema.Struct({
    mode: Schema.Literals(["SET", "ADD"]),
    value: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 })),
    overagePercent: Schema.NullOr(overage),
    when: Schema.Literals(["now", "later", "over"]),
  }),
)

/** The terms, told in other words than the service's. */
const expectedTerms = (license: Terms | null, override: typeof overridden.Type): Terms | null => {
  if (override === null || override.when !== "now") return license
  const overagePercent = override.overagePercent ?? (license === null ? 0 : license.overagePercent)
  if (override.mode === "SET") return { value: override.value, overagePercent }
  if (license === null) return { value: override.value, overagePercent }
  return { value: license.value === -1 ? -1 : license.value + override.value, overagePercent }
}

// Overrides end by time. Only the clock of this service moves.
const service = TestService.separate.pipe(Layer.provideMerge(MovableClock.layer))

layer(service, { excludeTestServices: true })("an override of an entitlement", (it) => {
  it.effect.prop(
    "gives the same terms in every answer and every count",
    { license: licensed, override: overridden },
    ({ license, override }) =>
      Effect.gen(function* () {
        const shop = yield* openShop
        const { clock, entitlement, grant, inHours, override: put } = shop
        yield* entitlement("calls", { resetPeriod: "YEAR" })
        if (license !== null) yield* grant("pro", "calls", license.value, license.overagePercent)
        if (override !== null) {
          const { when, ...terms } = override
          const times = when === "later" ? { startsAt: inHours(1) } : when === "over" ? { endsAt: inHours(1) } : {}
          const made = yield* put("calls", { ...terms, ...times, reason: "a deal" })
          assert.strictEqual(made.status, 200, made.text)
          if (when === "over") yield* clock.pass(HOUR)
        }
        const source = override !== null && override.when === "now" ? "OVERRIDE" : "LICENSE"
        yield* assertGranted(shop, { terms: expectedTerms(license, override), source, later: inHours(0.5) })
      }),
    { arbitrary: { runs: 30 }, timeout: 120_000 },
  )

  it.effect("is in force from its start to its end, to the millisecond, without any job", () =>
    Effect.gen(function* () {
      const { clock, inHours, limit, metered, override } = yield* openShop
      yield* metered("calls", 10)
      const [startsAt, endsAt] = [inHours(1), inHours(3)]
      yield* override("calls", { mode: "ADD", value: 5, startsAt, endsAt })
      const before = (instant: string) => new Date(Date.parse(instant) - 1).toISOString()
      for (let times = 0; times < OFTEN; times++) {
        assert.strictEqual(yield* limit("calls"), 10)
        assert.strictEqual(yield* limit("calls", { at: before(startsAt) }), 10)
        assert.strictEqual(yield* limit("calls", { at: startsAt }), 15)
        assert.strictEqual(yield* limit("calls", { at: before(endsAt) }), 15)
        assert.strictEqual(yield* limit("calls", { at: endsAt }), 10)
      }
      // The answers that were cached while it was in force end with it.
      yield* override("calls", { mode: "SET", value: 99, endsAt: inHours(1) })
      for (let times = 0; times < OFTEN; times++) assert.strictEqual(yield* limit("calls"), 99)
      yield* clock.pass(HOUR)
      for (let times = 0; times < OFTEN; times++) assert.strictEqual(yield* limit("calls"), 10)
    }),
  )

  it.effect("grants and denies booleans and configurations, which flags follow", () =>
    Effect.gen(function* () {
      const { ask, call, entitlement, grant, override } = yield* openShop
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("audit", { type: "BOOLEAN" })
      yield* grant("pro", "audit", true)
      yield* entitlement("support", { type: "CONFIG" })
      yield* grant("pro", "support", { level: "basic" })
      const support = () =>
        Effect.map(
          call("POST", "/ofrep/v1/evaluate/flags/entitlement.support", { context: { targetingKey: "prod" } }),
          ({ body }) => body.value,
        )
      assert.strictEqual((yield* ask("sso")).reason, "NOT_GRANTED")
      assert.deepStrictEqual(yield* support(), { level: "basic" })
      yield* override("sso", { mode: "SET", value: true })
      yield* override("audit", { mode: "SET", value: false })
      yield* override("support", { mode: "SET", value: { level: "gold" }, reason: "a partner" })
      assert.strictEqual((yield* ask("sso")).reason, "GRANTED")
      assert.strictEqual((yield* ask("audit")).reason, "NOT_GRANTED")
      assert.deepStrictEqual(yield* support(), { level: "gold" })
      const { explanation } = yield* ask("support", { explain: true })
      const { at, by, ...shown } = explanation.grant
      assert.deepStrictEqual(shown, {
        source: "OVERRIDE",
        value: { level: "gold" },
        overagePercent: 0,
        reason: "a partner",
      })
      assert.deepStrictEqual([typeof at, typeof by.name], ["string", "string"])
      assert.match(explanation.text, /^Allowed: an override by .* \("a partner"\) grants "support"\.$/)
      const { text } = (yield* ask("audit", { explain: true })).explanation
      assert.match(text, /^Denied: an override by .* does not grant "audit"\.$/)
    }),
  )

  it.effect("is kept when it is replaced or removed, so that answers about the past stay", () =>
    Effect.gen(function* () {
      const { call, inHours, license, limit, metered, override, pass, path } = yield* openShop
      yield* metered("calls", 10)
      const instant = Effect.gen(function* () {
        const at = inHours(0)
        yield* pass(at)
        return at
      })
      const before = yield* instant
      const first = yield* override("calls", { mode: "SET", value: 100, reason: "first" })
      const whileFirst = yield* instant
      const second = yield* override("calls", { mode: "ADD", value: 1 })
      const whileSecond = yield* instant
      // It survives a change of license, here to one that grants nothing.
      yield* license("max")
      yield* call("PATCH", "/instances/prod", { licenseSlug: "max" })
      assert.strictEqual(yield* limit("calls"), 1)
      yield* call("PATCH", "/instances/prod", { licenseSlug: "pro" })
      const got = yield* call("GET", path("calls"))
      assert.deepStrictEqual(got.body, second.body)
      assert.strictEqual((yield* call("DELETE", path("calls"))).status, 204)
      assert.strictEqual(yield* limit("calls"), 10)
      for (const [at, expected] of [
        [before, 10],
        [whileFirst, 100],
        [whileSecond, 11],
      ] as const) {
        assert.strictEqual(yield* limit("calls", { at }), expected)
      }
      const past = yield* call("POST", "/instances/prod/check", {
        checks: [{ entitlement: "calls" }],
        at: whileFirst,
        explain: true,
      })
      assert.strictEqual(past.body.checks[0].explanation.grant.reason, "first")
      for (const method of ["GET", "DELETE"]) {
        const gone = yield* call(method, path("calls"))
        assert.deepStrictEqual([gone.status, gone.body.code], [404, "Override.NotFound"])
      }
      const list = (query: string) =>
        Effect.map(call("GET", `/instances/prod/overrides${query}`), ({ body }) =>
          body.items.map(({ id }: { id: string }) => id),
        )
      assert.deepStrictEqual(yield* list(""), [])
      assert.deepStrictEqual(yield* list("?history=true"), [second.body.id, first.body.id])
      const events = yield* call("GET", "/events?limit=200")
      const told = events.body.items
        .filter(({ type }: { type: string }) => type.includes("OVERRID"))
        .map((event: { type: string; data: { id: string }; previous?: { value: number } }) => [
          event.type,
          event.data.id,
          event.previous?.value,
        ])
      assert.deepStrictEqual(told, [
        ["INSTANCE_ENTITLEMENT_OVERRIDDEN", first.body.id, undefined],
        ["INSTANCE_ENTITLEMENT_OVERRIDDEN", second.body.id, 100],
        ["INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED", second.body.id, undefined],
      ])
    }),
  )

  it.effect("keeps all digits of a number, and adds without rounding", () =>
    Effect.gen(function* () {
      const { call, metered, path, tenant } = yield* openShop
      const { core } = yield* TestService
      yield* metered("calls", 0.2)
      const text = '{"mode":"ADD","value":123456789012345.678}'
      const put = yield* core("PUT", path("calls"), {
        token: tenant.token,
        rawBody: text,
        headers: { "content-type": "application/json" },
      })
      assert.include(put.text, '"value":123456789012345.678,')
      assert.include((yield* call("GET", path("calls"))).text, '"value":123456789012345.678,')
      const check = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] })
      assert.include(check.text, '"limit":123456789012345.878,')
    }),
  )

  it.effect("can be read, changed and sent back; the same again changes nothing", () =>
    Effect.gen(function* () {
      const { call, inHours, limit, metered, override, pass, path } = yield* openShop
      yield* metered("calls", 10)
      const made = yield* override("calls", { mode: "ADD", value: 5, reason: "a deal" })
      yield* pass(made.body.startsAt)
      for (const same of [made.body, { mode: "ADD", value: 5, reason: "a deal" }]) {
        assert.deepStrictEqual((yield* override("calls", same)).body, made.body)
      }
      const changed = yield* override("calls", { ...made.body, value: 6, endsAt: inHours(1) })
      assert.deepStrictEqual([changed.status, yield* limit("calls")], [200, 16], changed.text)
      assert.isAbove(Date.parse(changed.body.startsAt), Date.parse(made.body.startsAt))
      assert.strictEqual((yield* call("GET", "/instances/prod/overrides?history=true")).body.items.length, 2)
      const foreign = yield* override("calls", { ...changed.body, id: made.body.id })
      assert.deepStrictEqual([foreign.status, foreign.body.errors[0].location], [422, "body.id"])
      assert.deepStrictEqual((yield* call("GET", path("calls"))).body, changed.body)
    }),
  )

  it.effect("of another organization answers like nothing", () =>
    Effect.gen(function* () {
      const { metered, override, path } = yield* openShop
      const other = yield* openShop
      yield* metered("calls", 1)
      yield* override("calls", { mode: "SET", value: 2 })
      const answer = yield* other.call("GET", path("calls"))
      assert.deepStrictEqual([answer.status, answer.body.code], [404, "Override.NotFound"])
    }),
  )

  it.effect("is refused with the place and the fix if it fits neither the entitlement nor the time", () =>
    Effect.gen(function* () {
      const { call, entitlement, inHours, metered, override } = yield* openShop
      yield* metered("calls", 10)
      yield* entitlement("sso", { type: "BOOLEAN" })
      const locations = (slug: string, body: object) =>
        Effect.map(override(slug, body), (answer) => [
          answer.status,
          ...(answer.body.errors ?? []).map(({ location }: { location: string }) => location),
        ])
      for (const [slug, body, location] of [
        ["calls", { mode: "SET", value: true }, "body.value"],
        ["calls", { mode: "ADD", value: -1 }, "body.value"],
        ["calls", { mode: "SET", value: -2 }, "body.value"],
        ["calls", { mode: "SET", value: 1, startsAt: inHours(-1) }, "body.startsAt"],
        ["calls", { mode: "SET", value: 1, endsAt: inHours(-1) }, "body.endsAt"],
        ["calls", { mode: "SET", value: 1, startsAt: inHours(2), endsAt: inHours(1) }, "body.endsAt"],
        ["calls", { mode: "SET", value: 1, overagePercent: -1 }, "body.overagePercent"],
        ["sso", { mode: "ADD", value: true }, "body.mode"],
        ["sso", { mode: "SET", value: true, overagePercent: 5 }, "body.overagePercent"],
      ] as const) {
        assert.deepStrictEqual(yield* locations(slug, body), [422, location], JSON.stringify(body))
      }
      assert.deepStrictEqual(
        [
          (yield* override("other", { mode: "SET", value: 1 })).body.code,
          (yield* call("GET", "/instances/other/overrides")).body.code,
        ],
        ["Entitlement.NotFound", "Instance.NotFound"],
      )
      assert.deepStrictEqual((yield* call("GET", "/instances/prod/overrides?history=true")).body.items, [])
    }),
  )

  it.effect("may not be made by products, and keeps its entitlement from being deleted", () =>
    Effect.gen(function* () {
      const { call, entitlement, override, path, tenant } = yield* openShop
      const { core, tokenWith } = yield* TestService
      yield* entitlement("calls")
      const product = yield* tokenWith(tenant, ["read:instances", "write:instances"])
      const refused = yield* core("PUT", path("calls"), { token: product, body: { mode: "SET", value: 1 } })
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "Auth.MissingScope"])
      yield* override("calls", { mode: "SET", value: 1 })
      const inUse = yield* call("DELETE", "/entitlements/calls")
      assert.deepStrictEqual([inUse.status, inUse.body.code], [409, "DeleteEntitlement.InUse"])
      yield* call("DELETE", path("calls"))
      assert.strictEqual((yield* call("DELETE", "/entitlements/calls")).status, 204)
    }),
  )

  it.effect("is the only one of its entitlement, also after concurrent requests", () =>
    Effect.gen(function* () {
      const { call, limit, metered, override } = yield* openShop
      yield* metered("calls", 10)
      const values = [1, 2, 3, 4, 5, 6, 7, 8]
      const made = yield* Effect.forEach(values, (value) => override("calls", { mode: "SET", value }), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        made.map(({ status }) => status),
        values.map(() => 200),
      )
      const current = yield* call("GET", "/instances/prod/overrides")
      assert.strictEqual(current.body.items.length, 1)
      assert.strictEqual(yield* limit("calls"), current.body.items[0].value)
      assert.strictEqual((yield* call("GET", "/instances/prod/overrides?history=true")).body.items.length, 8)
    }),
  )
})
