import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../../support/TestService.ts"
import { createVendor, running } from "./vendor.ts"

/** A vendor with a zone of two instances: one may have what requires `updates`, the other may not. */
const deployed = Effect.gen(function* () {
  const vendor = yield* createVendor
  const { does, instance, license } = vendor
  const zone = yield* does("POST", "/deployment-zones", { name: "Plant", type: "production" })
  yield* license("basic")
  const inZone = { ...running, deploymentZoneId: zone.id }
  yield* instance("allowed", "globex", "pro", inZone)
  yield* instance("denied", "globex", "basic", inZone)
  const put = (body: object, query = "") => vendor.call("PUT", `/deployment-zones/plant${query}`, body)
  return { ...vendor, zone, put }
})

const updates = { access: { offered: true, entitlements: ["updates"] } }

layer(TestService.layer, { excludeTestServices: true })("a deployment", (it) => {
  it.effect("of a release that an instance may not have is stored, and its event names the instance", () =>
    Effect.gen(function* () {
      const { does, lastEvent, put, release } = yield* deployed
      yield* release("1.0", updates)
      assert.strictEqual((yield* put({ releaseSlug: "1-0" })).status, 204)
      const event = yield* lastEvent("RELEASE_DEPLOYED")
      assert.deepStrictEqual(event.data.notAllowed, [{ instanceSlug: "denied", reason: "NOT_GRANTED" }])
      assert.strictEqual((yield* does("GET", "/deployment-zones/plant/deployments")).items.length, 1)
      yield* release("1.1")
      assert.strictEqual((yield* put({ releaseSlug: "1-1" })).status, 204)
      assert.deepStrictEqual((yield* lastEvent("RELEASE_DEPLOYED")).data.notAllowed, [])
    }),
  )

  it.effect("to a zone that refuses is rejected with the names, and stores nothing", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { call, does, put, release } = yield* deployed
      yield* release("1.0", updates)
      yield* release("1.1")
      // The mode after the change decides.
      const rejected = yield* put({ releaseSlug: "1-0", releaseAccess: "REFUSE" })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "UpdateDeploymentZone.ReleaseNotAllowed"])
      assert.deepStrictEqual(rejected.body.impact.notAllowed, {
        count: 1,
        truncated: false,
        items: [{ slug: "denied", reason: "NOT_GRANTED" }],
      })
      const unchanged = yield* does("GET", "/deployment-zones/plant")
      assert.deepStrictEqual([unchanged.releaseSlug, unchanged.releaseAccess], [null, "WARN"])
      assert.deepStrictEqual((yield* does("GET", "/deployment-zones/plant/deployments")).items, [])
      assert.strictEqual((yield* put({ releaseAccess: "REFUSE" })).status, 204)
      assert.strictEqual((yield* put({ releaseSlug: "1-1" })).status, 204)
      assert.strictEqual((yield* put({ releaseSlug: "1-0" })).status, 409)
      const account = yield* does("POST", "/service-accounts", { name: "ci" })
      const { token } = yield* does("POST", `/service-accounts/${account.slug}/tokens`, {
        name: "ci",
        scopes: ["write:deployment_zones"],
      })
      const blind = yield* core("PUT", "/deployment-zones/plant", { token, body: { releaseSlug: "1-0" } })
      assert.deepStrictEqual(blind.body.impact.notAllowed, { count: 1, truncated: false, items: [] })
      assert.strictEqual((yield* put({ releaseSlug: "1-0", releaseAccess: "WARN" })).status, 204)
      const { releaseSlug } = (yield* call("GET", "/deployment-zones/plant")).body
      assert.strictEqual(releaseSlug, "1-0")
    }),
  )

  it.effect("of a release that is not offered is not judged", () =>
    Effect.gen(function* () {
      const { lastEvent, put, release } = yield* deployed
      yield* release("nightly", { access: { offered: false, entitlements: ["updates"] } })
      assert.strictEqual((yield* put({ releaseSlug: "nightly", releaseAccess: "REFUSE" })).status, 204)
      assert.deepStrictEqual((yield* lastEvent("RELEASE_DEPLOYED")).data.notAllowed, [])
    }),
  )

  it.effect("judges the instances of its own zone alone, and moving one there is none", () =>
    Effect.gen(function* () {
      const { does, instance, lastEvent, release } = yield* deployed
      yield* release("1.0", updates)
      const other = yield* does("POST", "/deployment-zones", { name: "Other", type: "production", releaseSlug: "1-0" })
      assert.deepStrictEqual((yield* lastEvent("RELEASE_DEPLOYED")).data.notAllowed, [])
      const before = (yield* lastEvent("RELEASE_DEPLOYED")).id
      yield* instance("late", "globex", "basic", running)
      yield* does("PATCH", "/instances/late", { deploymentZoneId: other.id })
      assert.strictEqual((yield* lastEvent("RELEASE_DEPLOYED")).id, before)
    }),
  )

  it.effect("is shown by a dry run with whom it concerns, and refused in it as in earnest", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { does, put, release } = yield* deployed
      yield* release("1.0", updates)
      const dry = yield* put({ releaseSlug: "1-0" }, "?dryRun=true")
      assert.deepStrictEqual([dry.status, dry.body.status, dry.body.body], [200, 204, null])
      assert.deepStrictEqual(dry.body.impact.notAllowed.items, [{ slug: "denied", reason: "NOT_GRANTED" }])
      const refused = yield* put({ releaseSlug: "1-0", releaseAccess: "REFUSE" }, "?dryRun=true")
      assert.deepStrictEqual([refused.status, refused.body.code], [409, "UpdateDeploymentZone.ReleaseNotAllowed"])
      const renamed = yield* put({ name: "Works" }, "?dryRun=true")
      assert.strictEqual(renamed.body.impact.notAllowed.count, 0)
      const account = yield* does("POST", "/service-accounts", { name: "ci" })
      const { token } = yield* does("POST", `/service-accounts/${account.slug}/tokens`, {
        name: "ci",
        scopes: ["write:deployment_zones"],
      })
      const body = { releaseSlug: "1-0" }
      const blind = yield* core("PUT", "/deployment-zones/plant?dryRun=true", { token, body })
      assert.strictEqual(blind.body.impact.notAllowed.count, 1)
      assert.notInclude(blind.text, "denied")
      assert.isNull((yield* does("GET", "/deployment-zones/plant")).releaseSlug)
    }),
  )

  it.effect("names its release by id or slug; a record that was read can be sent back with one of them changed", () =>
    Effect.gen(function* () {
      const { does, put, release } = yield* deployed
      const first = yield* release("1.0")
      const second = yield* release("2.0")
      const running = Effect.map(does("GET", "/deployment-zones/plant"), ({ releaseId, releaseSlug }) => [
        releaseId,
        releaseSlug,
      ])
      const places = (body: object) =>
        Effect.map(put(body), ({ body: problem, status }) => [
          status,
          problem.errors.map(({ location }: { location: string }) => location),
        ])
      assert.strictEqual((yield* put({ releaseId: first.id, releaseSlug: "1-0" })).status, 204)
      assert.deepStrictEqual(yield* running, [first.id, "1-0"])
      assert.strictEqual((yield* put({ releaseId: second.id, releaseSlug: "1-0" })).status, 204)
      assert.deepStrictEqual(yield* running, [second.id, "2-0"])
      assert.strictEqual((yield* put({ releaseId: second.id, releaseSlug: "1-0" })).status, 204)
      assert.deepStrictEqual(yield* running, [first.id, "1-0"])
      assert.deepStrictEqual(yield* places({ releaseSlug: "none" }), [422, ["body.releaseSlug"]])
      yield* put({ releaseSlug: null })
      assert.deepStrictEqual(yield* running, [null, null])
      assert.deepStrictEqual(yield* places({ releaseId: first.id, releaseSlug: "2-0" }), [422, ["body.releaseSlug"]])
      assert.deepStrictEqual(yield* running, [null, null])
    }),
  )
})
