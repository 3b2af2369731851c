import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { assertGranted } from "./GrantReaders.ts"
import type { Terms } from "./GrantReaders.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const HOUR = 3_600_000

const amount = Schema.Union([Schema.Literal(-1), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))])
const overage = Schema.Literals([0, 10, 50])
const licensed = Schema.NullOr(Schema.Struct({ value: amount, overagePercent: overage }))
const addOn = Schema.Struct({
  combine: Schema.Literals(["ADD", "ADD", "MAX", "SET"]),
  value: amount,
  quantity: Schema.Literals([1, 2, 3]),
  overagePercent: Schema.NullOr(overage),
  when: Schema.Literals(["now", "now", "now", "later", "over"]),
})
const addOns = Schema.Array(addOn).check(Schema.isMaxLength(4))
const override = Schema.NullOr(
  Schema.Struct({
    mode: Schema.Literals(["SET", "ADD"]),
    value: Schema.Literals([0, 7]),
    overagePercent: Schema.NullOr(overage),
  }),
)

type AddOn = typeof addOn.Type
type Override = typeof override.Type

// Unlimited is greater than every number.
const size = (value: number) => (value === -1 ? Infinity : value)
const plain = (value: number) => (value === Infinity ? -1 : value)

/** The terms by section and step, in other words than the service's. */
const expected = (license: Terms | null, all: ReadonlyArray<AddOn>, over: Override): Terms | null => {
  const now = all.filter(({ when }) => when === "now")
  const of = (mode: AddOn["combine"]) => now.filter(({ combine }) => combine === mode)
  const stated = (some: ReadonlyArray<AddOn>) => some.flatMap(({ overagePercent }) => overagePercent ?? [])
  let value = license === null ? undefined : size(license.value)
  if (of("SET").length > 0) value = Math.max(...of("SET").map((one) => size(one.value)))
  if (of("MAX").length > 0) value = Math.max(value ?? 0, ...of("MAX").map((one) => size(one.value)))
  for (const one of of("ADD")) value = (value ?? 0) + size(one.value) * one.quantity
  const own = stated(of("SET")).length > 0 || license === null ? [] : [license.overagePercent]
  let percent = Math.max(0, ...own, ...stated(now))
  if (over !== null) {
    value = over.mode === "SET" ? over.value : (value ?? 0) + over.value
    percent = over.overagePercent ?? percent
  }
  return value === undefined ? null : { value: plain(value), overagePercent: percent }
}

/** Whether add-ons make the grant what it is. */
const isByAddOn = (license: Terms | null, all: ReadonlyArray<AddOn>): boolean => {
  const now = all.filter(({ when }) => when === "now")
  if (now.some(({ combine }) => combine !== "MAX")) return true
  return JSON.stringify(expected(license, all, null)) !== JSON.stringify(license)
}

// Add-ons end by time. Only the clock of this service moves.
const service = TestService.separate.pipe(Layer.provideMerge(MovableClock.layer))

layer(service, { excludeTestServices: true })("add-ons of an instance", (it) => {
  it.effect.prop(
    "give the same terms in every answer and every count, whatever their order",
    { license: licensed, all: addOns, over: override },
    ({ all, license, over }) =>
      Effect.gen(function* () {
        const clock = yield* MovableClock
        const shop = yield* openMeteredShop
        const { call, entitlement, grant } = shop
        const inHours = (hours: number) => new Date(clock.now() + hours * HOUR).toISOString()
        yield* entitlement("calls", { resetPeriod: "YEAR" })
        if (license !== null) yield* grant("pro", "calls", license.value, license.overagePercent)
        for (const [number, { combine, overagePercent, quantity, value, when }] of all.entries()) {
          yield* shop.license(`extra-${number}`, { type: "ADD_ON" })
          yield* call("POST", `/licenses/extra-${number}/entitlements`, {
            entitlementSlug: "calls",
            combine,
            value,
            overagePercent,
          })
          const times = when === "later" ? { startsAt: inHours(3) } : when === "over" ? { endsAt: inHours(1) } : {}
          const made = yield* call("PUT", `/instances/prod/add-ons/extra-${number}`, { quantity, ...times })
          assert.strictEqual(made.status, 200, made.text)
        }
        if (over !== null) yield* call("PUT", "/instances/prod/entitlements/calls/override", over)
        if (all.some(({ when }) => when === "over")) yield* clock.pass(HOUR)
        const terms = expected(license, all, over)
        const source = over !== null ? "OVERRIDE" : isByAddOn(license, all) ? "ADD_ON" : "LICENSE"
        yield* assertGranted(shop, { terms, source, later: inHours(0.5) })

        // An hour later, the answer about now is the same, with what has been used.
        const before = inHours(0)
        yield* clock.pass(HOUR)
        for (let number = 0; number < all.length; number++)
          yield* call("DELETE", `/instances/prod/add-ons/extra-${number}`)
        const past = yield* call("POST", "/instances/prod/check", {
          checks: [{ entitlement: "calls" }],
          at: before,
          explain: true,
        })
        assert.strictEqual(past.body.checks[0].limit, terms?.value ?? null)
        assert.strictEqual(past.body.checks[0].explanation.grant?.source, terms === null ? undefined : source)
      }),
    { arbitrary: { runs: 30 }, timeout: 180_000 },
  )

  it.effect("end the caching of checks of their instance, and let it begin again when they are gone", () =>
    Effect.gen(function* () {
      const { call, license, metered } = yield* openMeteredShop
      yield* metered("calls", 10)
      yield* license("extra", { type: "ADD_ON" })
      yield* call("POST", "/licenses/extra/entitlements", { entitlementSlug: "calls", value: 5 })
      const limits = Effect.replicateEffect(
        Effect.map(
          call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] }),
          ({ body }) => body.checks[0].limit,
        ),
        4,
      )
      const set = (body: object) => call("PUT", "/instances/prod/add-ons/extra", body)
      assert.deepStrictEqual(yield* limits, [10, 10, 10, 10])
      yield* set({})
      assert.deepStrictEqual(yield* limits, [15, 15, 15, 15])
      yield* call("PUT", "/licenses/extra/entitlements/calls", { value: 6 })
      assert.deepStrictEqual(yield* limits, [16, 16, 16, 16])
      yield* set({ quantity: 2 })
      assert.deepStrictEqual(yield* limits, [22, 22, 22, 22])
      yield* call("DELETE", "/instances/prod/add-ons/extra")
      assert.deepStrictEqual(yield* limits, [10, 10, 10, 10])
    }),
  )

  it.effect("of a configuration: the one that started last counts; of a switch, one that is on is enough", () =>
    Effect.gen(function* () {
      const clock = yield* MovableClock
      const { call, entitlement, grant, license } = yield* openMeteredShop
      yield* entitlement("config", { type: "CONFIG" })
      yield* entitlement("switch", { type: "BOOLEAN" })
      yield* grant("pro", "config", { level: "basic" })
      yield* grant("pro", "switch", false)
      for (const level of ["gold", "silver"]) {
        yield* license(level, { type: "ADD_ON" })
        yield* call("POST", `/licenses/${level}/entitlements`, { entitlementSlug: "config", value: { level } })
        const on = level === "gold"
        yield* call("POST", `/licenses/${level}/entitlements`, { entitlementSlug: "switch", value: on })
      }
      const standing = Effect.map(
        call("POST", "/instances/prod/check", {
          checks: [{ entitlement: "config" }, { entitlement: "switch" }],
          explain: true,
        }),
        ({ body }) =>
          body.checks.map(({ explanation }: { explanation: { grant: { value: unknown } } }) => explanation.grant.value),
      )
      const flag = Effect.map(
        call("POST", "/ofrep/v1/evaluate/flags/entitlement.config", { context: { targetingKey: "prod" } }),
        ({ body }) => body.value,
      )
      const set = (slug: string) => call("PUT", `/instances/prod/add-ons/${slug}`, {})
      assert.deepStrictEqual(yield* standing, [{ level: "basic" }, false])
      yield* set("silver")
      assert.deepStrictEqual(yield* standing, [{ level: "silver" }, false])
      yield* clock.pass(1)
      yield* set("gold")
      assert.deepStrictEqual(yield* standing, [{ level: "gold" }, true])
      assert.deepStrictEqual(yield* flag, { level: "gold" })
    }),
  )

  it.effect("grant seats", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, license } = yield* openMeteredShop
      yield* entitlement("editors", { aggregationMethod: "CONCURRENT" })
      yield* grant("pro", "editors", 1)
      yield* license("extra", { type: "ADD_ON" })
      yield* call("POST", "/licenses/extra/entitlements", { entitlementSlug: "editors", value: 1 })
      const acquire = (holder: string) =>
        Effect.map(call("POST", "/instances/prod/entitlements/editors/leases", { holder }), ({ status }) => status)
      assert.deepStrictEqual([yield* acquire("anna"), yield* acquire("bob")], [201, 409])
      yield* call("PUT", "/instances/prod/add-ons/extra", { quantity: 2 })
      assert.deepStrictEqual([yield* acquire("bob"), yield* acquire("cy"), yield* acquire("di")], [201, 201, 409])
    }),
  )
})
