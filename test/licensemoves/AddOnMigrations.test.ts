import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { MigrationRunner } from "../../src/domains/licensemoves/Runner.ts"
import { createShop, rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

/** Runs all batches that are due. */
const runAll = Effect.gen(function* () {
  const { step } = yield* MigrationRunner
  yield* Effect.repeat(step, { while: (more) => more })
})

const LATER = "2098-01-01T00:00:00.000Z"
const END = "2099-01-01T00:00:00.000Z"

/** A shop with two versions of an add-on, and instances of which some have the first one. */
const openShop = Effect.gen(function* () {
  const shop = yield* createShop
  const { call } = shop
  yield* shop.entitlement("calls")
  yield* shop.license("pro")
  yield* shop.grant("pro", "calls", 100)
  yield* shop.license("extra", { type: "ADD_ON" })
  yield* shop.license("extra-2", { type: "ADD_ON", familySlug: "extra" })
  yield* shop.license("other", { type: "ADD_ON" })
  yield* shop.grant("extra", "calls", 10)
  yield* shop.grant("extra-2", "calls", 1)
  for (const name of ["Acme", "Other"]) yield* shop.customer(name)
  for (const [slug, customer] of [
    ["i0", "acme"],
    ["i1", "other"],
    ["i2", "acme"],
  ] as const) {
    yield* shop.instance(slug, customer, "pro", {
      slug,
      startLicenseDate: "2025-01-01T00:00:00Z",
      endLicenseDate: null,
    })
  }
  const set = (instance: string, body: object) =>
    call("PUT", `/instances/${instance}/add-ons/extra`, { licenseSlug: "extra", ...body })
  yield* set("i0", { quantity: 3, reason: "Order 7" })
  yield* set("i0", { quantity: 2, startsAt: LATER, endsAt: END })
  yield* set("i1", { quantity: 5 })
  return {
    ...shop,
    set,
    /** What an instance has, the newest first: version, quantity and end. */
    has: (instance: string) =>
      Effect.map(call("GET", `/instances/${instance}/add-ons`), ({ body }) =>
        body.items.map(({ endsAt, license, quantity }: Record<string, unknown>) => [license, quantity, endsAt]),
      ),
    limit: (instance: string, more: object = {}) =>
      Effect.map(
        call("POST", `/instances/${instance}/check`, { checks: [{ entitlement: "calls" }], ...more }),
        ({ body }) => body.checks[0].limit,
      ),
    migrate: (body: object, query = "") => call("POST", `/licenses/extra/migrations${query}`, body),
    read: (id: string) => Effect.map(call("GET", `/license-migrations/${id}`), ({ body }) => body),
    items: (id: string) =>
      Effect.map(call("GET", `/license-migrations/${id}/items`), ({ body }) =>
        body.items.map(({ code, instance, state }: Record<string, unknown>) => [instance, state, code]),
      ),
  }
})

layer(TestService.layer, { excludeTestServices: true })("a migration between versions of an add-on", (it) => {
  it.effect("moves what instances have of it, in force and planned, and can be reverted", () =>
    Effect.gen(function* () {
      const { call, has, limit, migrate, read } = yield* openShop
      const { body } = yield* migrate({ toLicenseSlug: "extra-2" })
      assert.strictEqual(body.counts.total, 2)
      yield* runAll
      assert.deepStrictEqual((yield* read(body.id)).counts, { total: 2, moved: 2, skipped: 0, failed: 0 })
      assert.sameDeepMembers(yield* has("i0"), [
        ["extra-2", 3, LATER],
        ["extra-2", 2, END],
      ])
      assert.deepStrictEqual(yield* has("i1"), [["extra-2", 5, null]])
      assert.deepStrictEqual(yield* has("i2"), [])
      assert.strictEqual(yield* limit("i0"), 103)
      assert.strictEqual(yield* limit("i0", { at: LATER }), 102)
      assert.strictEqual(yield* limit("i1"), 105)
      const events = yield* call("GET", "/events?type=INSTANCE_ADD_ON_SET&limit=100")
      const moved = events.body.items.filter(({ data }: { data: { license: string } }) => data.license === "extra-2")
      assert.lengthOf(moved, 3)
      for (const { previous } of moved) assert.strictEqual(previous.license, "extra")
      yield* call("POST", `/license-migrations/${body.id}/revert`)
      yield* runAll
      assert.strictEqual((yield* read(body.id)).state, "REVERTED")
      assert.strictEqual(yield* limit("i0"), 130)
      assert.deepStrictEqual(yield* has("i1"), [["extra", 5, null]])
    }),
  )

  it.effect("moves those of a customer or those that are named, and skips who has none", () =>
    Effect.gen(function* () {
      const { has, items, migrate } = yield* openShop
      const ofCustomer = yield* migrate({ toLicenseSlug: "extra-2", customer: "other" })
      assert.strictEqual(ofCustomer.body.counts.total, 1)
      yield* runAll
      assert.deepStrictEqual(yield* items(ofCustomer.body.id), [["i1", "MOVED", null]])
      const named = yield* migrate({ toLicenseSlug: "extra-2", instances: ["i0", "i1", "i2", "i3"] })
      yield* runAll
      assert.deepStrictEqual(yield* items(named.body.id), [
        ["i0", "MOVED", null],
        ["i1", "SKIPPED", "LicenseMigration.OtherLicense"],
        ["i2", "SKIPPED", "LicenseMigration.OtherLicense"],
        ["i3", "SKIPPED", "Instance.NotFound"],
      ])
      assert.lengthOf(yield* has("i0"), 2)
    }),
  )

  it.effect("shows in a dry run whose checks would turn", () =>
    Effect.gen(function* () {
      const { call, migrate } = yield* openShop
      yield* call("POST", "/instances/i0/entitlements/calls/usage", { value: 120 })
      const { body } = yield* migrate({ toLicenseSlug: "extra-2" }, "?dryRun=true")
      assert.deepStrictEqual(
        body.impact.instances.items.map(({ slug }: { slug: string }) => slug),
        ["i0", "i1"],
      )
      assert.deepStrictEqual(
        body.impact.turning.items.map(({ limit, slug, usage }: Record<string, unknown>) => [slug, usage, limit]),
        [["i0", 120, 103]],
      )
    }),
  )

  it.effect("stays within its family", () =>
    Effect.gen(function* () {
      const { migrate } = yield* openShop
      const rejected = { status: 422, code: "Request.ValidationFailed", places: ["body.toLicenseSlug"] }
      assert.deepStrictEqual(rejection(yield* migrate({ toLicenseSlug: "other" })), rejected)
      assert.deepStrictEqual(rejection(yield* migrate({ toLicenseSlug: "pro" })), rejected)
    }),
  )

  it.effect("keeps the draft to which it moved from being deleted", () =>
    Effect.gen(function* () {
      const { call, license, set } = yield* openShop
      yield* license("extra-3", { type: "ADD_ON", familySlug: "extra", lifecycleState: "DRAFT" })
      yield* set("i2", { licenseSlug: "extra-3" })
      assert.strictEqual((yield* call("DELETE", "/licenses/extra-3")).body.code, "DeleteLicense.InUse")
      yield* call("DELETE", "/instances/i2/add-ons/extra")
      assert.strictEqual((yield* call("DELETE", "/licenses/extra-3")).status, 204)
    }),
  )
})
