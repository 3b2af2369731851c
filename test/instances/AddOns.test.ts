import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "../usage/MeteredShop.ts"
import { rejection } from "./Shop.ts"

const HOUR = 3_600_000

interface Quantified {
  readonly quantity?: number
}

const openShop = Effect.gen(function* () {
  const clock = yield* MovableClock
  const shop = yield* openMeteredShop
  const { call } = shop
  const inHours = (hours: number) => new Date(clock.now() + hours * HOUR).toISOString()
  const path = (family: string) => `/instances/prod/add-ons/${family}`
  const limit = (slug: string, more: object = {}) =>
    Effect.map(
      call("POST", "/instances/prod/check", { checks: [{ entitlement: slug }], ...more }),
      ({ body }) => body.checks[0].limit,
    )
  return {
    ...shop,
    clock,
    inHours,
    path,
    limit,
    /** Creates an add-on whose only version grants this much. */
    addOn: Effect.fnUntraced(function* (slug: string, grants: Readonly<Record<string, object>> = {}) {
      yield* shop.license(slug, { type: "ADD_ON" })
      for (const [entitlementSlug, grant] of Object.entries(grants)) {
        const { status, text } = yield* call("POST", `/licenses/${slug}/entitlements`, { entitlementSlug, ...grant })
        assert.strictEqual(status, 201, text)
      }
    }),
    put: (family: string, body: object = {}) => call("PUT", path(family), body),
    list: (query = "") => Effect.map(call("GET", `/instances/prod/add-ons${query}`), ({ body }) => body.items),
    events: Effect.map(call("GET", "/events?type=INSTANCE_ADD_ON_SET,INSTANCE_ADD_ON_REMOVED&limit=100"), ({ body }) =>
      body.items.map(({ data, previous, type }: { type: string; data: Quantified; previous?: Quantified }) => [
        type.replace("INSTANCE_ADD_ON_", ""),
        data.quantity,
        previous?.quantity,
      ]),
    ),
  }
})

const quantities = (addOns: ReadonlyArray<{ readonly quantity: number }>) => addOns.map(({ quantity }) => quantity)

// Windows begin and end by time. Only the clock of this service moves.
const service = TestService.separate.pipe(Layer.provideMerge(MovableClock.layer))

layer(service, { excludeTestServices: true })("an add-on of an instance", (it) => {
  it.effect("adds to the license as often as its quantity says, from its start until its end", () =>
    Effect.gen(function* () {
      const { addOn, clock, inHours, limit, metered, put } = yield* openShop
      yield* metered("calls", 1000)
      yield* addOn("extra", { calls: { value: 500 } })
      const [start, end] = [inHours(1), inHours(3)]
      const { body, status, text } = yield* put("extra", {
        quantity: 3,
        startsAt: start,
        endsAt: end,
        reason: "Order 7",
      })
      assert.strictEqual(status, 200, text)
      assert.deepInclude(body, {
        instance: "prod",
        addOn: "extra",
        license: "extra",
        quantity: 3,
        startsAt: start,
        endsAt: end,
        reason: "Order 7",
        endedAt: null,
        endedBy: null,
      })
      assert.strictEqual(yield* limit("calls"), 1000)
      assert.strictEqual(yield* limit("calls", { at: inHours(2) }), 2500)
      assert.strictEqual(yield* limit("calls", { at: end }), 1000)
      yield* clock.pass(HOUR)
      assert.strictEqual(yield* limit("calls"), 2500)
      yield* clock.pass(2 * HOUR)
      assert.strictEqual(yield* limit("calls"), 1000)
      assert.strictEqual(yield* limit("calls", { at: inHours(-1) }), 2500, "the past stays")
      assert.strictEqual(yield* limit("calls", { at: inHours(-3) }), 1000)
    }),
  )

  it.effect("with a smaller quantity from the renewal on leaves no gap, and what was planned later is replaced", () =>
    Effect.gen(function* () {
      const { addOn, inHours, limit, list, metered, put } = yield* openShop
      yield* metered("calls", 0)
      yield* addOn("extra", { calls: { value: 10 } })
      yield* put("extra", { quantity: 5 })
      yield* put("extra", { quantity: 9, startsAt: inHours(10) })
      const renewal = inHours(4)
      yield* put("extra", { quantity: 2, startsAt: renewal })
      assert.strictEqual(yield* limit("calls"), 50)
      assert.strictEqual(yield* limit("calls", { at: new Date(Date.parse(renewal) - 1).toISOString() }), 50)
      assert.strictEqual(yield* limit("calls", { at: renewal }), 20)
      assert.strictEqual(yield* limit("calls", { at: inHours(20) }), 20)
      const live = yield* list()
      assert.deepStrictEqual(quantities(live), [2, 5])
      assert.deepStrictEqual([live[0].endsAt, live[1].endsAt, live[1].endedAt], [null, renewal, null])
      assert.deepStrictEqual(quantities(yield* list("?history=true")), [2, 9, 5])
    }),
  )

  it.effect("that is set again with what is so already stays as it is, without an event", () =>
    Effect.gen(function* () {
      const { addOn, call, events, inHours, list, metered, path, put } = yield* openShop
      yield* metered("calls", 0)
      yield* addOn("extra", { calls: { value: 10 } })
      const first = yield* put("extra", { quantity: 3 })
      for (const body of [{ quantity: 3 }, { quantity: 3, startsAt: inHours(5) }, first.body]) {
        const again = yield* put("extra", body)
        assert.strictEqual(again.status, 200, again.text)
        assert.deepStrictEqual(again.body, first.body)
      }
      const read = yield* call("GET", path("extra"))
      assert.deepStrictEqual(read.body, first.body)
      assert.deepStrictEqual(yield* events, [["SET", 3, undefined]])
      // A planned end makes it another one.
      const ending = yield* put("extra", { quantity: 3, endsAt: inHours(5) })
      assert.notStrictEqual(ending.body.id, first.body.id)
      assert.lengthOf(yield* list(), 1)
      assert.lengthOf(yield* list("?history=true"), 2)
    }),
  )

  it.effect("ends at once when it is removed, with what is planned of it, and the past stays", () =>
    Effect.gen(function* () {
      const { addOn, call, clock, events, inHours, limit, list, metered, path, put } = yield* openShop
      yield* metered("calls", 0)
      yield* addOn("extra", { calls: { value: 10 } })
      assert.strictEqual((yield* call("DELETE", path("extra"))).body.code, "AddOn.NotFound")
      yield* put("extra", { quantity: 4 })
      yield* put("extra", { quantity: 6, startsAt: inHours(2) })
      yield* clock.pass(HOUR)
      assert.strictEqual((yield* call("DELETE", path("extra"))).status, 204)
      assert.strictEqual(yield* limit("calls"), 0)
      assert.strictEqual(yield* limit("calls", { at: inHours(5) }), 0)
      assert.strictEqual(yield* limit("calls", { at: inHours(-0.5) }), 40)
      assert.deepStrictEqual(yield* list(), [])
      assert.strictEqual((yield* call("GET", path("extra"))).body.code, "AddOn.NotFound")
      assert.strictEqual((yield* call("DELETE", path("extra"))).body.code, "AddOn.NotFound")
      assert.deepStrictEqual(yield* events, [
        ["SET", 4, undefined],
        ["SET", 6, 4],
        ["REMOVED", 4, undefined],
      ])
    }),
  )

  it.effect("that is planned is read until it starts, and can be dropped", () =>
    Effect.gen(function* () {
      const { addOn, call, inHours, limit, metered, path, put } = yield* openShop
      yield* metered("calls", 0)
      yield* addOn("extra", { calls: { value: 10 } })
      yield* put("extra", { quantity: 2, startsAt: inHours(1) })
      assert.strictEqual((yield* call("GET", path("extra"))).body.quantity, 2)
      assert.strictEqual((yield* call("DELETE", path("extra"))).status, 204)
      assert.strictEqual(yield* limit("calls", { at: inHours(2) }), 0)
    }),
  )

  it.effect("has the version in force by default, otherwise the current one of its family", () =>
    Effect.gen(function* () {
      const { addOn, archive, license, limit, metered, put, call } = yield* openShop
      yield* metered("calls", 0)
      yield* addOn("extra", { calls: { value: 10 } })
      yield* put("extra")
      yield* license("extra-2", { type: "ADD_ON", familySlug: "extra", isDefault: true })
      yield* call("POST", "/licenses/extra-2/entitlements", { entitlementSlug: "calls", value: 30 })
      assert.strictEqual((yield* put("extra", { quantity: 2 })).body.license, "extra")
      assert.strictEqual(yield* limit("calls"), 20)
      assert.strictEqual((yield* put("extra", { quantity: 2, licenseSlug: "extra-2" })).body.license, "extra-2")
      assert.strictEqual(yield* limit("calls"), 60)
      yield* archive("extra")
      const archived = yield* put("extra", { licenseSlug: "extra" })
      assert.strictEqual(archived.body.code, "PutAddOn.LicenseArchived")
      yield* call("DELETE", "/instances/prod/add-ons/extra")
      assert.strictEqual((yield* put("extra")).body.license, "extra-2")
    }),
  )

  it.effect("is rejected for a family of licenses, one that is not published, and windows that cannot be", () =>
    Effect.gen(function* () {
      const { addOn, clock, inHours, license, put } = yield* openShop
      yield* license("draft", { type: "ADD_ON", lifecycleState: "DRAFT" })
      yield* addOn("extra")
      yield* addOn("other")
      const rejected = (family: string, body: object = {}) => Effect.map(put(family, body), rejection)
      const at = (place: string) => ({ status: 422, code: "Request.ValidationFailed", places: [place] })
      assert.deepStrictEqual(yield* rejected("pro"), at("path.familySlug"))
      assert.deepStrictEqual(yield* rejected("draft"), at("path.familySlug"))
      assert.deepStrictEqual(yield* rejected("nothing"), { status: 404, code: "LicenseFamily.NotFound", places: [] })
      assert.deepStrictEqual(yield* rejected("extra", { licenseSlug: "other" }), at("body.licenseSlug"))
      assert.deepStrictEqual(yield* rejected("extra", { startsAt: inHours(-1) }), at("body.startsAt"))
      assert.deepStrictEqual(yield* rejected("extra", { endsAt: inHours(-1) }), at("body.endsAt"))
      for (const quantity of [0, 1.5, 1_000_001]) {
        assert.deepStrictEqual(yield* rejected("extra", { quantity }), at("body.quantity"))
      }
      assert.strictEqual((yield* put("draft", { licenseSlug: "draft" })).status, 200, "a draft can be named")
      yield* clock.pass(1)
    }),
  )

  it.effect("is one of at most 50 families", () =>
    Effect.gen(function* () {
      const { addOn, call, path, put } = yield* openShop
      for (let number = 0; number <= 50; number++) yield* addOn(`extra-${number}`)
      for (let number = 0; number < 50; number++) assert.strictEqual((yield* put(`extra-${number}`)).status, 200)
      assert.strictEqual((yield* put("extra-50")).body.code, "PutAddOn.LimitReached")
      assert.strictEqual((yield* put("extra-0", { quantity: 2 })).status, 200)
      yield* call("DELETE", path("extra-0"))
      assert.strictEqual((yield* put("extra-50")).status, 200)
    }),
  )

  it.effect("filters instances by who has one in force", () =>
    Effect.gen(function* () {
      const { addOn, call, clock, inHours, instanceOf, put } = yield* openShop
      yield* addOn("extra")
      yield* instanceOf("Other", "acme", "pro")
      const found = (family: string) =>
        Effect.map(call("GET", `/instances?addOn=${family}`), ({ body }) =>
          body.items.map(({ slug }: { slug: string }) => slug),
        )
      assert.deepStrictEqual(yield* found("extra"), [])
      yield* put("extra", { startsAt: inHours(1), endsAt: inHours(2) })
      assert.deepStrictEqual(yield* found("extra"), [], "is planned")
      yield* clock.pass(HOUR)
      assert.deepStrictEqual(yield* found("extra"), ["prod"])
      yield* clock.pass(HOUR)
      assert.deepStrictEqual(yield* found("extra"), [], "is over")
      assert.deepStrictEqual(yield* found("nothing"), [])
    }),
  )

  it.effect("cannot be the license of an instance, and a license cannot be an add-on", () =>
    Effect.gen(function* () {
      const { addOn, call, license } = yield* openShop
      yield* addOn("extra")
      yield* license("other")
      const rejected = (method: string, path: string, body: object) => Effect.map(call(method, path, body), rejection)
      const at = (place: string) => ({ status: 422, code: "Request.ValidationFailed", places: [place] })
      const created = {
        name: "N",
        customerSlug: "acme",
        startLicenseDate: "2026-01-01T00:00:00Z",
        endLicenseDate: null,
      }
      assert.deepStrictEqual(
        yield* rejected("POST", "/instances", { ...created, licenseSlug: "extra" }),
        at("body.licenseSlug"),
      )
      assert.deepStrictEqual(
        yield* rejected("PATCH", "/instances/prod", { licenseFamilySlug: "extra" }),
        at("body.licenseFamilySlug"),
      )
      const migrate = (from: string, to: string) =>
        rejected("POST", `/licenses/${from}/migrations`, { toLicenseSlug: to })
      assert.deepStrictEqual(yield* migrate("pro", "extra"), at("body.toLicenseSlug"))
      assert.deepStrictEqual(yield* migrate("extra", "pro"), at("body.toLicenseSlug"))
      assert.deepStrictEqual(
        yield* rejected("POST", "/licenses", { name: "V", type: "PAID", familySlug: "extra" }),
        at("body.type"),
      )
      assert.deepStrictEqual(
        yield* rejected("POST", "/licenses", { name: "V", type: "ADD_ON", familySlug: "pro" }),
        at("body.type"),
      )
      assert.deepStrictEqual(yield* rejected("PUT", "/licenses/extra", { type: "PAID" }), at("body.type"))
      assert.deepStrictEqual(yield* rejected("PUT", "/licenses/other", { type: "ADD_ON" }), at("body.type"))
      assert.deepStrictEqual(yield* rejected("PUT", "/licenses/extra", { graceDays: 1 }), at("body.graceDays"))
      assert.deepStrictEqual(
        yield* rejected("POST", "/licenses", { name: "G", type: "ADD_ON", graceDays: 1 }),
        at("body.graceDays"),
      )
    }),
  )

  it.effect("combines as its grant says, by default as the type of the entitlement has it", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* openShop
      yield* license("extra", { type: "ADD_ON" })
      yield* entitlement("number")
      yield* entitlement("switch", { type: "BOOLEAN" })
      yield* entitlement("config", { type: "CONFIG" })
      const assign = (to: string, body: object) => call("POST", `/licenses/${to}/entitlements`, body)
      const at = (place: string) => ({ status: 422, code: "Request.ValidationFailed", places: [place] })
      for (const [entitlementSlug, value, combine, others] of [
        ["number", 1, "ADD", []],
        ["switch", true, "MAX", ["ADD"]],
        ["config", { a: 1 }, "SET", ["ADD", "MAX"]],
      ] as const) {
        for (const other of others) {
          assert.deepStrictEqual(
            rejection(yield* assign("extra", { entitlementSlug, value, combine: other })),
            at("body.combine"),
          )
        }
        assert.deepStrictEqual((yield* assign("extra", { entitlementSlug, value })).body, {
          entitlementSlug,
          value,
          overagePercent: null,
          combine,
        })
      }
      const update = (body: object) => call("PUT", "/licenses/extra/entitlements/number", body)
      assert.strictEqual((yield* update({ combine: "SET", overagePercent: 5 })).status, 204)
      assert.deepStrictEqual(
        rejection(yield* call("PUT", "/licenses/extra/entitlements/switch", { combine: "ADD" })),
        at("body.combine"),
      )
      const { body } = yield* call("GET", "/licenses/extra/entitlements")
      assert.deepInclude(body.items[0], { combine: "SET", overagePercent: 5 })
      assert.deepStrictEqual(
        rejection(yield* assign("pro", { entitlementSlug: "number", value: 1, combine: "ADD" })),
        at("body.combine"),
      )
      assert.deepStrictEqual(
        rejection(yield* assign("pro", { entitlementSlug: "number", value: 1, overagePercent: null })),
        at("body.overagePercent"),
      )
      assert.deepStrictEqual((yield* assign("pro", { entitlementSlug: "number", value: 1 })).body, {
        entitlementSlug: "number",
        value: 1,
        overagePercent: 0,
      })
    }),
  )

  it.effect("is explained, with all sources in their order, also those that are replaced", () =>
    Effect.gen(function* () {
      const { addOn, call, metered, put } = yield* openShop
      yield* metered("calls", 1000, {}, 20)
      yield* addOn("base", { calls: { value: 10, combine: "SET" } })
      yield* addOn("more", { calls: { value: 5, overagePercent: 7 } })
      yield* put("more", { quantity: 2, reason: "Order 7" })
      yield* put("base")
      const explained = () =>
        Effect.map(
          call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }], explain: true }),
          ({ body }) => body.checks[0].explanation,
        )
      const first = yield* explained()
      assert.deepStrictEqual(first.grant, { source: "ADD_ON", value: 20, overagePercent: 20 })
      assert.deepStrictEqual(
        first.sources.map(({ combine, license, quantity, reason, source, value }: Record<string, unknown>) => [
          source,
          license,
          combine,
          value,
          quantity,
          reason,
        ]),
        [
          ["LICENSE", "pro", undefined, 1000, undefined, undefined],
          ["ADD_ON", "base", "SET", 10, 1, null],
          ["ADD_ON", "more", "ADD", 5, 2, "Order 7"],
        ],
      )
      assert.include(first.text, 'with the add-ons "base", "more" (2 times) grants 20')
      yield* call("PUT", "/instances/prod/entitlements/calls/override", { mode: "SET", value: 3 })
      const overridden = yield* explained()
      assert.strictEqual(overridden.grant.source, "OVERRIDE")
      assert.deepInclude(overridden.sources[3], { source: "OVERRIDE", combine: "SET", value: 3 })
    }),
  )

  it.effect("shows in a dry run whose checks would turn, and changes nothing", () =>
    Effect.gen(function* () {
      const { addOn, call, limit, metered, path, put, report } = yield* openShop
      yield* metered("calls", 10)
      yield* addOn("extra", { calls: { value: 10 } })
      const rehearsed = yield* call("PUT", `${path("extra")}?dryRun=true`, { quantity: 2 })
      assert.strictEqual(rehearsed.status, 200, rehearsed.text)
      assert.deepStrictEqual([rehearsed.body.status, rehearsed.body.body.quantity], [200, 2])
      assert.deepStrictEqual(rehearsed.body.impact.turning.items, [])
      assert.strictEqual(yield* limit("calls"), 10)
      yield* put("extra")
      yield* report("calls", { value: 15 })
      const removed = yield* call("DELETE", `${path("extra")}?dryRun=true`)
      assert.deepStrictEqual(
        removed.body.impact.turning.items.map(({ entitlement, limit, reason, slug }: Record<string, unknown>) => [
          slug,
          entitlement,
          limit,
          reason,
        ]),
        [["prod", "calls", 10, { before: "GRANTED", after: "LIMIT_REACHED" }]],
      )
      const regranted = yield* call("PUT", "/licenses/extra/entitlements/calls?dryRun=true", { value: 1 })
      assert.lengthOf(regranted.body.impact.turning.items, 1)
      assert.strictEqual(yield* limit("calls"), 20)
    }),
  )
})
