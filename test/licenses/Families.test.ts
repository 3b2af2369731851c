import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { License } from "../../src/domains/licenses/Model.ts"
import { currentVersion } from "../../src/domains/licenses/Rules.ts"
import { TestService } from "../support/TestService.ts"
import { rejectionOf, slugs, vendor } from "./support.ts"

layer(TestService.layer, { excludeTestServices: true })("license families", (it) => {
  it.effect("a family resolves to its default, otherwise to its highest published version, otherwise to none", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      const current = Effect.map(call("GET", "/license-families/gold"), ({ body }) => body.currentVersion?.slug)
      const first = (yield* license({ lifecycleState: "DRAFT" })).body
      const unresolved = yield* call("GET", "/license-families/gold")
      assert.deepStrictEqual(rejectionOf(unresolved), [404, "GetLicenseFamily.NoPublishedVersion"])
      yield* call("POST", "/licenses/gold/publish")
      assert.strictEqual(yield* current, "gold")
      for (let version = 2; version <= 10; version++) yield* license({ familySlug: "gold" })
      yield* license({ familySlug: "gold", lifecycleState: "DRAFT" })
      assert.strictEqual(yield* current, "gold-v10")
      yield* call("PUT", "/licenses/gold-v3", { isDefault: true })
      const resolved = yield* call("GET", "/license-families/gold")
      assert.deepStrictEqual(resolved.body, {
        id: first.familyId,
        slug: "gold",
        currentVersion: (yield* call("GET", "/licenses/gold-v3")).body,
        createdAt: first.createdAt,
        createdBy: first.createdBy,
      })
      yield* call("PUT", "/licenses/gold-v3", { isDefault: false })
      yield* call("POST", "/licenses/gold-v10/archive")
      assert.strictEqual(yield* current, "gold-v9")
    }),
  )

  it.effect("a family returns a version by its number, and all its versions, also if none is published", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      const first = (yield* license({ lifecycleState: "DRAFT" })).body
      const draft = yield* call("GET", "/license-families/gold?version=1&include=versions")
      assert.strictEqual(draft.status, 200, draft.text)
      assert.deepStrictEqual([draft.body.currentVersion, draft.body.version], [null, first])
      const second = (yield* license({ familySlug: "gold" })).body
      const { body } = yield* call("GET", "/license-families/gold?include=versions")
      assert.deepStrictEqual(body.versions, [second, first])
      assert.deepStrictEqual([body.currentVersion.slug, body.version], ["gold-v2", undefined])
      const missing = yield* call("GET", "/license-families/gold?version=3")
      assert.deepStrictEqual(rejectionOf(missing), [404, "License.NotFound"])
      for (const query of ["version=0", "version=x", "include=all"]) {
        assert.strictEqual((yield* call("GET", `/license-families/gold?${query}`)).status, 422, query)
      }
    }),
  )

  it.effect("families are listed newest first, each with its current version", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      yield* license({ slug: "one" })
      yield* license({ slug: "two", lifecycleState: "DRAFT" })
      yield* license({ slug: "three" })
      yield* license({ familySlug: "one" })
      const first = yield* call("GET", "/license-families?limit=2")
      assert.deepStrictEqual(slugs(first), ["three", "two"])
      assert.isNull(first.body.items[1].currentVersion)
      const last = yield* call("GET", `/license-families?limit=2&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual(slugs(last), ["one"])
      assert.strictEqual(last.body.items[0].currentVersion.slug, "one-v2")
      assert.isFalse(last.body.hasMore)
    }),
  )

  it.effect("the SQL query and the rule resolve every family to the same version", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      const states = ["DRAFT", "PUBLISHED", "ARCHIVED", "DEFAULT"] as const
      const check = Effect.fnUntraced(function* (combination: number) {
        const family = `family-${combination}`
        const versions = [combination % 4, Math.floor(combination / 4) % 4, Math.floor(combination / 16)].map(
          (at) => states[at],
        )
        for (const [index, state] of versions.entries()) {
          const created = yield* license({
            ...(index === 0 ? { slug: family } : { familySlug: family }),
            lifecycleState: state === "DRAFT" ? "DRAFT" : "PUBLISHED",
            isDefault: state === "DEFAULT",
          })
          if (state === "ARCHIVED") yield* call("POST", `/licenses/${created.body.slug}/archive`)
        }
        const all = (yield* call("GET", `/licenses?family=${family}`)).body.items as ReadonlyArray<License>
        assert.strictEqual(all.length, versions.length)
        const resolved = yield* call("GET", `/license-families/${family}`)
        assert.strictEqual(resolved.body.currentVersion?.slug, currentVersion(all)?.slug)
      })
      const combinations = Array.from({ length: states.length ** 3 }, (_, combination) => combination)
      yield* Effect.forEach(combinations, check, { concurrency: 8, discard: true })
    }),
  )

  it.effect("an unknown family, or one of another organization, is not found", () =>
    Effect.gen(function* () {
      const owner = yield* vendor
      const stranger = yield* vendor
      yield* owner.license()
      for (const slug of ["gold", "silver"]) {
        const hidden = yield* stranger.call("GET", `/license-families/${slug}`)
        assert.deepStrictEqual(rejectionOf(hidden), [404, "LicenseFamily.NotFound"])
      }
    }),
  )
})
