import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { rejectionOf, vendor } from "./support.ts"

layer(TestService.layer, { excludeTestServices: true })("the lifecycle of licenses", (it) => {
  it.effect("a draft is published, archived and unarchived, and each step returns the license", () =>
    Effect.gen(function* () {
      const { call, events, license } = yield* vendor
      const draft = (yield* license({ lifecycleState: "DRAFT" })).body
      const steps = [
        ["publish", "PUBLISHED"],
        ["archive", "ARCHIVED"],
        ["unarchive", "PUBLISHED"],
      ] as const
      for (const [step, lifecycleState] of steps) {
        const response = yield* call("POST", `/licenses/gold/${step}`)
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(response.body, { ...draft, lifecycleState, updatedAt: response.body.updatedAt })
        assert.deepStrictEqual((yield* call("GET", "/licenses/gold")).body, response.body)
      }
      const emitted = yield* events
      assert.deepStrictEqual(
        emitted.map(({ type, data }) => [type, data["lifecycleState"]]),
        [
          ["LICENSE_CREATED", "DRAFT"],
          ["LICENSE_PUBLISHED", "PUBLISHED"],
          ["LICENSE_ARCHIVED", "ARCHIVED"],
          ["LICENSE_UNARCHIVED", "PUBLISHED"],
        ],
      )
    }),
  )

  it.effect("a transition from a wrong state is rejected", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      yield* license({ slug: "draft", lifecycleState: "DRAFT" })
      yield* license({ slug: "published" })
      yield* license({ slug: "archived" })
      yield* call("POST", "/licenses/archived/archive")
      for (const [step, slug, code] of [
        ["publish", "published", "PublishLicense.NotADraft"],
        ["publish", "archived", "PublishLicense.NotADraft"],
        ["archive", "draft", "ArchiveLicense.NotPublished"],
        ["archive", "archived", "ArchiveLicense.NotPublished"],
        ["unarchive", "draft", "UnarchiveLicense.NotArchived"],
        ["unarchive", "published", "UnarchiveLicense.NotArchived"],
      ] as const) {
        assert.deepStrictEqual(rejectionOf(yield* call("POST", `/licenses/${slug}/${step}`)), [409, code])
      }
    }),
  )

  it.effect("instances keep an archived version, and no new instance can use it", () =>
    Effect.gen(function* () {
      const { call, instance, license } = yield* vendor
      yield* license()
      const used = yield* instance("gold")
      assert.strictEqual((yield* call("POST", "/licenses/gold/archive")).status, 200)
      const unchanged = yield* call("GET", `/instances/${used.body.slug}`)
      assert.strictEqual(unchanged.body.licenseId, used.body.licenseId)
      assert.strictEqual((yield* instance("gold")).status, 409)
    }),
  )

  it.effect("of concurrent archive requests, exactly one succeeds", () =>
    Effect.gen(function* () {
      const { call, events, license } = yield* vendor
      yield* license()
      const responses = yield* Effect.all(
        Array.from({ length: 8 }, () => call("POST", "/licenses/gold/archive")),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(responses.filter(({ status }) => status === 200).length, 1)
      assert.strictEqual(responses.filter(({ status }) => status === 409).length, 7)
      assert.strictEqual((yield* events).filter(({ type }) => type === "LICENSE_ARCHIVED").length, 1)
    }),
  )

  it.effect("only a published version can be the default", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      const rejected = yield* license({ lifecycleState: "DRAFT", isDefault: true })
      assert.deepStrictEqual(rejectionOf(rejected), [409, "CreateLicense.DefaultMustBePublished"])
      yield* license({ slug: "draft", lifecycleState: "DRAFT" })
      yield* license({ slug: "archived" })
      yield* call("POST", "/licenses/archived/archive")
      for (const slug of ["draft", "archived"]) {
        const rejected = yield* call("PUT", `/licenses/${slug}`, { isDefault: true })
        assert.deepStrictEqual(rejectionOf(rejected), [409, "UpdateLicense.DefaultMustBePublished"])
      }
    }),
  )

  it.effect("a version can be archived once it is no longer the default", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      yield* license({ isDefault: true })
      const rejected = yield* call("POST", "/licenses/gold/archive")
      assert.deepStrictEqual(rejectionOf(rejected), [409, "ArchiveLicense.DefaultMustBePublished"])
      yield* license({ familySlug: "gold", isDefault: true })
      assert.strictEqual((yield* call("POST", "/licenses/gold/archive")).status, 200)
      yield* call("PUT", "/licenses/gold-v2", { isDefault: false })
      assert.strictEqual((yield* call("POST", "/licenses/gold-v2/archive")).status, 200)
    }),
  )

  it.effect("a new default replaces the old one, and both changes emit events", () =>
    Effect.gen(function* () {
      const { call, events, license } = yield* vendor
      yield* license({ isDefault: true })
      yield* license({ familySlug: "gold", isDefault: true })
      assert.isFalse((yield* call("GET", "/licenses/gold")).body.isDefault)
      assert.strictEqual((yield* call("PUT", "/licenses/gold", { isDefault: true })).status, 204)
      assert.isFalse((yield* call("GET", "/licenses/gold-v2")).body.isDefault)
      assert.isTrue((yield* call("GET", "/licenses/gold")).body.isDefault)
      assert.deepStrictEqual(
        (yield* events).map(({ type, data }) => [type, data["slug"], data["isDefault"]]),
        [
          ["LICENSE_CREATED", "gold", true],
          ["LICENSE_UPDATED", "gold", false],
          ["LICENSE_CREATED", "gold-v2", true],
          ["LICENSE_UPDATED", "gold-v2", false],
          ["LICENSE_UPDATED", "gold", true],
        ],
      )
    }),
  )

  it.effect("concurrent changes of the default leave exactly one default", () =>
    Effect.gen(function* () {
      const { call, events, license } = yield* vendor
      yield* license({ isDefault: true })
      for (let version = 2; version <= 8; version++) yield* license({ familySlug: "gold" })
      const slugs = ["gold", ...Array.from({ length: 7 }, (_, index) => `gold-v${index + 2}`)]
      const responses = yield* Effect.all(
        [
          ...slugs.flatMap((slug) => [
            call("PUT", `/licenses/${slug}`, { isDefault: true }),
            call("PUT", `/licenses/${slug}`, { description: "concurrent change" }),
          ]),
          ...Array.from({ length: 4 }, () => license({ familySlug: "gold", isDefault: true })),
        ],
        { concurrency: "unbounded" },
      )
      assert.isTrue(responses.every(({ status }) => status === 204 || status === 201))
      const all = yield* call("GET", "/licenses?family=gold")
      const defaults = all.body.items.filter((item: { isDefault: boolean }) => item.isDefault)
      assert.strictEqual(defaults.length, 1)
      const current = yield* call("GET", "/license-families/gold")
      assert.strictEqual(current.body.currentVersion.id, defaults[0].id)
      assert.isAbove((yield* events).length, 8)
    }),
  )

  it.effect("when a version becomes the default while it is archived, exactly one of both requests succeeds", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      for (let round = 0; round < 5; round++) {
        const { slug } = (yield* license({ name: `Round ${round}` })).body
        const responses = yield* Effect.all(
          [call("PUT", `/licenses/${slug}`, { isDefault: true }), call("POST", `/licenses/${slug}/archive`)],
          { concurrency: "unbounded" },
        )
        assert.isTrue([204, 409].includes(responses[0].status) && [200, 409].includes(responses[1].status))
        assert.strictEqual(responses.filter(({ status }) => status === 409).length, 1)
      }
    }),
  )
})
