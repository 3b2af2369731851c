import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../../support/TestService.ts"
import { createVendor, inDays, running, slugsOf } from "./vendor.ts"

layer(TestService.layer, { excludeTestServices: true })("the releases of an instance", (it) => {
  it.effect("are the offered ones, those released last first, and by default those that it may have", () =>
    Effect.gen(function* () {
      const { access, list, release } = yield* createVendor
      yield* release("1.0", { releasedAt: "2025-03-01T00:00:00Z" })
      yield* release("1.1", { releasedAt: "2025-02-01T00:00:00Z" })
      yield* release("2.0", { releasedAt: "2025-04-01T00:00:00Z", access: { offered: true, entitlements: ["sso"] } })
      yield* release("nightly", { access: { offered: false } })
      yield* release("old", { access: {} })
      assert.deepStrictEqual(slugsOf(yield* list()), ["1-0", "1-1"])
      assert.deepStrictEqual(slugsOf(yield* list("?allowed=any")), ["2-0", "1-0", "1-1"])
      const [denied, ...others] = yield* list("?allowed=false")
      assert.deepStrictEqual([others.length, denied?.reason, denied?.missing], [0, "NOT_GRANTED", ["sso"]])
      yield* access("nightly", { offered: true })
      assert.deepStrictEqual(slugsOf(yield* list()), ["nightly", "1-0", "1-1"])
    }),
  )

  it.effect("show components with their images as they are now, and why a release is denied", () =>
    Effect.gen(function* () {
      const { decision, does, list, release } = yield* createVendor
      yield* does("POST", "/components", {
        name: "Search",
        version: "1.2.0",
        images: [{ repository: "acme/search", reference: "1.2.0" }],
      })
      yield* does("POST", "/components", { name: "Web", version: "3" })
      yield* release("4.2.1", { description: "Spring", componentSlugs: ["web-3", "search-1-2-0"] })
      yield* does("PATCH", "/instances/prod", { endMaintenanceDate: "2025-10-31T00:00:00Z" })
      const images = [{ repository: "acme/search/4", reference: `sha256:${"a".repeat(64)}` }]
      yield* does("PUT", "/components/search-1-2-0/images", { images })
      const found = yield* decision("4-2-1")
      const { releasedAt } = yield* does("GET", "/releases/4-2-1")
      assert.deepStrictEqual<unknown>(found, {
        release: {
          slug: "4-2-1",
          version: "4.2.1",
          description: "Spring",
          releasedAt,
          withdrawnReason: null,
          components: [
            { name: "Web", version: "3", slug: "web-3", images: [] },
            { name: "Search", version: "1.2.0", slug: "search-1-2-0", images },
          ],
        },
        allowed: false,
        reason: "AFTER_MAINTENANCE",
        missing: [],
        endMaintenanceDate: "2025-10-31T00:00:00.000Z",
        explanation: `4.2.1 was released on ${releasedAt.slice(0, 10)}. The maintenance of prod ended on 2025-10-31.`,
      })
      assert.deepStrictEqual(yield* list("?allowed=any"), [found])
    }),
  )

  it.effect("can be filtered by component and by words of the version", () =>
    Effect.gen(function* () {
      const { does, list, release } = yield* createVendor
      for (const version of ["1", "2"]) yield* does("POST", "/components", { name: "Search", version })
      yield* does("POST", "/components", { name: "Web", version: "1" })
      yield* release("4.1 LTS", { componentSlugs: ["search-1", "web-1"] })
      yield* release("4.2", { componentSlugs: ["search-2"] })
      yield* release("5.0", { componentSlugs: ["web-1"] })
      assert.deepStrictEqual(slugsOf(yield* list("?component=Search")), ["4-2", "4-1-lts"])
      assert.deepStrictEqual(slugsOf(yield* list("?component=Search&q=lts")), ["4-1-lts"])
      assert.deepStrictEqual(slugsOf(yield* list("?q=5.0")), ["5-0"])
      assert.deepStrictEqual(slugsOf(yield* list("?component=search")), [])
    }),
  )

  it.effect("fill each page, however many releases between are denied, and agree with single decisions", () =>
    Effect.gen(function* () {
      const { decision, does, release } = yield* createVendor
      const count = 24
      for (let index = 0; index < count; index++) {
        const access = { offered: index % 5 !== 4, entitlements: index % 3 === 0 ? ["updates"] : ["sso"] }
        yield* release(`1.${index}`, { releasedAt: new Date(Date.UTC(2025, 0, 1 + index)).toISOString(), access })
      }
      for (const allowed of ["true", "false", "any"]) {
        const listed: Array<string> = []
        const reasons: Array<readonly [boolean, string]> = []
        for (let after = ""; ;) {
          const page = yield* does("GET", `/instances/prod/releases?allowed=${allowed}&limit=3${after}`)
          listed.push(...slugsOf(page.items))
          reasons.push(...page.items.map((item: { allowed: boolean; reason: string }) => [item.allowed, item.reason]))
          if (!page.hasMore) break
          assert.strictEqual(page.items.length, 3)
          after = `&cursor=${page.nextCursor}`
        }
        const expected = Array.from({ length: count }, (_, index) => index)
          .filter((index) => index % 5 !== 4)
          .filter((index) => allowed === "any" || (index % 3 === 0) === (allowed === "true"))
          .map((index) => `1-${index}`)
          .toReversed()
        assert.deepStrictEqual(listed, expected)
        const single = yield* Effect.forEach(listed, (slug) => decision(slug))
        assert.deepStrictEqual(
          single.map(({ allowed: isAllowed, reason }) => [isAllowed, reason] as const),
          reasons,
        )
      }
    }),
  )

  it.effect("are decided by the license, overrides and add-ons as a check is, without what was used", () =>
    Effect.gen(function* () {
      const { call, decision, does, grant, instance, license, release } = yield* createVendor
      yield* release("1.0", { access: { offered: true, entitlements: ["seats"] } })
      assert.strictEqual((yield* decision("1-0")).reason, "NOT_GRANTED")
      // The license grants seats: a limit of 0 is nothing, a used up one is.
      yield* grant("pro", "seats", 0)
      assert.strictEqual((yield* decision("1-0")).reason, "NOT_GRANTED")
      yield* does("PUT", "/licenses/pro/entitlements/seats", { value: 2, overagePercent: 50 })
      yield* does("POST", "/instances/prod/entitlements/seats/usage", { value: 3 })
      assert.strictEqual((yield* decision("1-0")).reason, "GRANTED")
      // An override wins, also one that takes away.
      yield* does("PUT", "/instances/prod/entitlements/seats/override", { mode: "SET", value: 0 })
      assert.strictEqual((yield* decision("1-0")).reason, "NOT_GRANTED")
      yield* does("PUT", "/instances/prod/entitlements/seats/override", { mode: "ADD", value: 0 })
      assert.strictEqual((yield* decision("1-0")).reason, "GRANTED")
      assert.strictEqual((yield* call("DELETE", "/instances/prod/entitlements/seats/override")).status, 204)
      // An add-on adds to nothing.
      yield* does("PUT", "/licenses/pro/entitlements/seats", { value: 0 })
      yield* license("more-seats", { type: "ADD_ON" })
      yield* does("POST", "/licenses/more-seats/entitlements", { entitlementSlug: "seats", value: 1, combine: "ADD" })
      assert.strictEqual((yield* decision("1-0")).reason, "NOT_GRANTED")
      yield* does("PUT", "/instances/prod/add-ons/more-seats", { quantity: 2 })
      assert.strictEqual((yield* decision("1-0")).reason, "GRANTED")
      // One that starts later does not count yet.
      yield* instance("next", "globex", "pro", running)
      yield* does("PUT", "/instances/next/add-ons/more-seats", { startsAt: inDays(1) })
      assert.strictEqual((yield* decision("1-0", "next")).reason, "NOT_GRANTED")
      // Archiving the version takes nothing from who has it.
      yield* does("POST", "/licenses/pro/archive")
      assert.strictEqual((yield* decision("1-0")).reason, "GRANTED")
    }),
  )

  it.effect("follow the term of the license and its grace, and end with the maintenance only for newer releases", () =>
    Effect.gen(function* () {
      const { decision, instance, list, release } = yield* createVendor
      yield* release("1.0", { releasedAt: inDays(-30) })
      yield* release("2.0", { releasedAt: inDays(-1) })
      const ends = (days: number) => ({ startLicenseDate: inDays(-100), endLicenseDate: inDays(days) })
      yield* instance("later", "globex", "pro", { startLicenseDate: inDays(1), endLicenseDate: null })
      yield* instance("ended", "globex", "pro", ends(-2))
      yield* instance("grace", "globex", "pro", { ...ends(-2), graceDays: 7 })
      yield* instance("kept", "globex", "pro", { ...running, endMaintenanceDate: inDays(-7) })
      const reasons = (slug: string) =>
        Effect.map(list("?allowed=any", slug), (items) => items.map(({ reason }) => reason))
      assert.deepStrictEqual(yield* reasons("later"), ["LICENSE_NOT_STARTED", "LICENSE_NOT_STARTED"])
      assert.deepStrictEqual(yield* reasons("ended"), ["LICENSE_EXPIRED", "LICENSE_EXPIRED"])
      assert.deepStrictEqual(yield* reasons("grace"), ["IN_GRACE", "IN_GRACE"])
      assert.deepStrictEqual(yield* reasons("kept"), ["AFTER_MAINTENANCE", "GRANTED"])
      assert.deepStrictEqual(slugsOf(yield* list("", "kept")), ["1-0"])
      assert.isTrue((yield* decision("2-0", "grace")).allowed)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("a release for a caller", (it) => {
  it.effect("who asks for an instance or a release that does not exist is not found", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { call, release } = yield* createVendor
      yield* release("1.0")
      const asked = (path: string) => Effect.map(call("GET", path), ({ body, status }) => [status, body.code])
      assert.deepStrictEqual(yield* asked("/instances/none/releases"), [404, "Instance.NotFound"])
      assert.deepStrictEqual(yield* asked("/instances/none/releases/1-0"), [404, "Instance.NotFound"])
      assert.deepStrictEqual(yield* asked("/instances/prod/releases/none"), [404, "Release.NotFound"])
      // Another organization has a release of the same slug, and no instance.
      const { token } = yield* tenant()
      yield* core("POST", "/releases", { token, body: { version: "1.0", access: { offered: true } } })
      const foreign = yield* core("GET", "/instances/prod/releases/1-0", { token })
      assert.deepStrictEqual([foreign.status, foreign.body.code], [404, "Instance.NotFound"])
    }),
  )

  it.effect("with a license key needs a scope that keys do not have by default, and hides what is not offered", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { access, call, decision, does, instance, release } = yield* createVendor
      yield* release("1.0")
      yield* release("nightly", { access: { offered: false } })
      yield* instance("other", "globex", "pro", running)
      const key = (body: object) => does("POST", "/instances/prod/keys", { name: "on site", ...body })
      const asked = (token: string, path: string) =>
        Effect.map(core("GET", path, { token }), ({ body, status }) => [status, body.code])
      const byDefault = yield* key({})
      assert.notInclude(byDefault.scopes, "read:releases")
      for (const path of ["/instances/prod/releases", "/instances/prod/releases/1-0"]) {
        assert.deepStrictEqual(yield* asked(byDefault.token, path), [403, "Auth.MissingScope"])
      }
      const { token } = yield* key({ scopes: ["read:releases"] })
      assert.deepStrictEqual(yield* asked(token, "/instances/prod/releases/1-0"), [200, undefined])
      assert.deepStrictEqual(yield* asked(token, "/instances/prod/releases/nightly"), [404, "Release.NotFound"])
      assert.strictEqual((yield* decision("nightly")).reason, "NOT_OFFERED")
      assert.deepStrictEqual(yield* asked(token, "/instances/other/releases"), [404, "Instance.NotFound"])
      for (const path of ["/releases", "/releases/1-0", "/components"]) {
        assert.deepStrictEqual(yield* asked(token, path), [403, "Auth.MissingScope"])
      }
      // What no longer exists and what is no longer offered are the same for it.
      yield* access("1-0", { offered: false })
      const hidden = yield* core("GET", "/instances/prod/releases/1-0", { token })
      assert.strictEqual((yield* call("DELETE", "/releases/1-0")).status, 204)
      const deleted = yield* core("GET", "/instances/prod/releases/1-0", { token })
      assert.deepStrictEqual({ ...hidden.body, errorId: "" }, { ...deleted.body, errorId: "" })
    }),
  )
})
