import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { Licenses } from "../../src/domains/licenses/Service.ts"
import type { LicenseChoice } from "../../src/domains/licenses/Service.ts"
import { TestService } from "../support/TestService.ts"
import { locations, rejectionOf, slugs, vendor } from "./support.ts"

layer(TestService.layer, { excludeTestServices: true })("licenses", (it) => {
  it.effect("a license without a family creates one with its slug", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      const created = yield* license({ name: "Gold Edition", description: "All of it" })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), "/api/licenses/gold-edition")
      const { id, familyId, createdAt, createdBy, ...rest } = created.body
      assert.deepStrictEqual(rest, {
        familySlug: "gold-edition",
        slug: "gold-edition",
        name: "Gold Edition",
        version: "1",
        versionName: null,
        description: "All of it",
        type: "PAID",
        isDefault: false,
        lifecycleState: "PUBLISHED",
        graceDays: 0,
        away: { staleSeconds: 604_800, then: "DENY" },
        updatedAt: createdAt,
        updatedBy: createdBy,
      })
      assert.notStrictEqual(id, familyId)
      assert.deepStrictEqual((yield* call("GET", "/licenses/gold-edition")).body, created.body)
    }),
  )

  it.effect("a family named by slug, by id or by both gets its next version", () =>
    Effect.gen(function* () {
      const { license } = yield* vendor
      const { familyId } = (yield* license()).body
      const second = (yield* license({ familySlug: "gold", name: "Gold 2026" })).body
      assert.deepStrictEqual([second.familyId, second.version, second.slug], [familyId, "2", "gold-v2"])
      const third = (yield* license({ familyId, versionName: "Autumn" })).body
      assert.deepStrictEqual([third.familySlug, third.version, third.versionName], ["gold", "3", "Autumn"])
      const fourth = (yield* license({ familyId, familySlug: "gold", slug: "gold-next" })).body
      assert.deepStrictEqual([fourth.version, fourth.slug], ["4", "gold-next"])
    }),
  )

  it.effect("an unknown family, or one of another organization, is rejected with its location", () =>
    Effect.gen(function* () {
      const { license } = yield* vendor
      const stranger = yield* vendor
      const theirs = (yield* stranger.license({ slug: "theirs" })).body
      yield* license({ slug: "one" })
      const other = (yield* license({ slug: "two" })).body
      assert.deepStrictEqual(locations(yield* license({ familySlug: "theirs" })), ["body.familySlug"])
      assert.deepStrictEqual(locations(yield* license({ familyId: theirs.familyId })), ["body.familyId"])
      assert.deepStrictEqual(locations(yield* license({ familyId: "no-uuid" })), ["body.familyId"])
      const disagreeing = yield* license({ familySlug: "one", familyId: other.familyId })
      assert.deepStrictEqual(rejectionOf(disagreeing), [422, "Request.ValidationFailed"])
      assert.deepStrictEqual(locations(disagreeing), ["body.familyId"])
    }),
  )

  it.effect("a slug taken by a license or family is rejected if explicit, and gets a suffix if generated", () =>
    Effect.gen(function* () {
      const { license } = yield* vendor
      yield* license()
      yield* license({ familySlug: "gold", slug: "silver" })
      assert.deepStrictEqual(rejectionOf(yield* license({ slug: "gold" })), [409, "CreateLicense.SlugTaken"])
      assert.deepStrictEqual(rejectionOf(yield* license({ slug: "silver" })), [409, "CreateLicense.SlugTaken"])
      assert.deepStrictEqual(rejectionOf(yield* license({ familySlug: "gold", slug: "gold" })), [
        409,
        "CreateLicense.SlugTaken",
      ])
      const suffixed = (yield* license({ name: "Silver" })).body
      assert.match(suffixed.slug, /^silver-[a-z0-9]{6}$/)
      assert.strictEqual(suffixed.familySlug, suffixed.slug)
      yield* license({ slug: "gold-v3" })
      assert.match((yield* license({ familySlug: "gold" })).body.slug, /^gold-v3-[a-z0-9]{6}$/)
    }),
  )

  it.effect("a rejected version consumes no number, a deleted draft does", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      yield* license()
      yield* license({ familySlug: "gold", slug: "gold" })
      const draft = (yield* license({ familySlug: "gold", lifecycleState: "DRAFT" })).body
      assert.strictEqual(draft.version, "2")
      assert.strictEqual((yield* call("DELETE", `/licenses/${draft.slug}`)).status, 204)
      assert.strictEqual((yield* license({ familySlug: "gold" })).body.version, "3")
    }),
  )

  it.effect("versions created concurrently get distinct numbers without gaps", () =>
    Effect.gen(function* () {
      const { license } = yield* vendor
      yield* license()
      const created = yield* Effect.all(
        Array.from({ length: 20 }, () => license({ familySlug: "gold" })),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        created.map(({ body }) => Number(body.version)).toSorted((left, right) => left - right),
        Array.from({ length: 20 }, (_, index) => index + 2),
      )
      assert.isTrue(created.every(({ body }) => body.slug === `gold-v${body.version}`))
    }),
  )

  it.effect("licenses created concurrently with one name get separate families", () =>
    Effect.gen(function* () {
      const { license } = yield* vendor
      const created = yield* Effect.all(
        Array.from({ length: 10 }, () => license()),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        created.map(({ status }) => status),
        created.map(() => 201),
      )
      assert.strictEqual(new Set(created.map(({ body }) => body.familySlug)).size, 10)
    }),
  )

  it.effect("licenses are listed newest first, page by page, by family and by state", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      yield* license()
      yield* license({ familySlug: "gold", lifecycleState: "DRAFT" })
      yield* license({ slug: "silver" })
      yield* license({ familySlug: "gold" })
      assert.deepStrictEqual(slugs(yield* call("GET", "/licenses")), ["gold-v3", "silver", "gold-v2", "gold"])
      const first = yield* call("GET", "/licenses?family=gold&limit=2")
      assert.deepStrictEqual(slugs(first), ["gold-v3", "gold-v2"])
      const cursor = first.body.nextCursor
      assert.deepStrictEqual(slugs(yield* call("GET", `/licenses?family=gold&limit=2&cursor=${cursor}`)), ["gold"])
      assert.deepStrictEqual(slugs(yield* call("GET", "/licenses?lifecycleState=DRAFT")), ["gold-v2"])
      assert.deepStrictEqual(slugs(yield* call("GET", "/licenses?family=gold&lifecycleState=PUBLISHED")), [
        "gold-v3",
        "gold",
      ])
      assert.deepStrictEqual((yield* call("GET", "/licenses?family=bronze")).body, {
        items: [],
        hasMore: false,
        nextCursor: "",
      })
      assert.deepStrictEqual(rejectionOf(yield* call("GET", `/licenses?family=silver&cursor=${cursor}`)), [
        400,
        "Request.InvalidCursor",
      ])
      assert.deepStrictEqual(locations(yield* call("GET", "/licenses?lifecycleState=SOLD")), ["query.lifecycleState"])
    }),
  )

  it.effect("an update keeps omitted properties and clears those sent as null", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      const created = yield* license({ description: "All of it", versionName: "Spring" })
      const changed = yield* call("PUT", "/licenses/gold", { name: "Golden", type: "TRIAL", description: null })
      assert.deepStrictEqual([changed.status, changed.text], [204, ""])
      const read = yield* call("GET", "/licenses/gold")
      assert.deepStrictEqual(read.body, {
        ...created.body,
        name: "Golden",
        type: "TRIAL",
        description: null,
        updatedAt: read.body.updatedAt,
      })
      for (const immutable of [{ slug: "silver" }, { lifecycleState: "DRAFT" }, { version: "7" }]) {
        const rejected = yield* call("PUT", "/licenses/gold", immutable)
        assert.deepStrictEqual(locations(rejected), [`body.${Object.keys(immutable)[0]}`])
      }
    }),
  )

  it.effect("only drafts without instances can be deleted", () =>
    Effect.gen(function* () {
      const { call, instance, license } = yield* vendor
      yield* license()
      assert.deepStrictEqual(rejectionOf(yield* call("DELETE", "/licenses/gold")), [409, "DeleteLicense.NotADraft"])
      yield* license({ familySlug: "gold", lifecycleState: "DRAFT" })
      const used = yield* instance("gold-v2")
      assert.strictEqual(used.status, 201)
      assert.deepStrictEqual(rejectionOf(yield* call("DELETE", "/licenses/gold-v2")), [409, "DeleteLicense.InUse"])
      assert.strictEqual((yield* call("DELETE", `/instances/${used.body.slug}`)).status, 204)
      assert.strictEqual((yield* call("DELETE", "/licenses/gold-v2")).status, 204)
      for (const [method, body] of [["GET"], ["PUT", {}], ["DELETE"]] as const) {
        assert.deepStrictEqual(rejectionOf(yield* call(method, "/licenses/gold-v2", body)), [404, "License.NotFound"])
      }
    }),
  )

  it.effect("deleting the last version deletes the family and frees its slug", () =>
    Effect.gen(function* () {
      const { call, license } = yield* vendor
      yield* license({ lifecycleState: "DRAFT" })
      assert.strictEqual((yield* call("DELETE", "/licenses/gold")).status, 204)
      assert.deepStrictEqual(rejectionOf(yield* call("GET", "/license-families/gold")), [404, "LicenseFamily.NotFound"])
      assert.deepStrictEqual(locations(yield* license({ familySlug: "gold" })), ["body.familySlug"])
      assert.strictEqual((yield* license({ slug: "gold" })).status, 201)
    }),
  )

  it.effect("a license of another organization is not found", () =>
    Effect.gen(function* () {
      const owner = yield* vendor
      const stranger = yield* vendor
      yield* owner.license()
      for (const [method, path, body] of [
        ["GET", "/licenses/gold"],
        ["PUT", "/licenses/gold", { name: "Mine" }],
        ["DELETE", "/licenses/gold"],
        ["POST", "/licenses/gold/publish"],
        ["POST", "/licenses/gold/archive"],
        ["POST", "/licenses/gold/unarchive"],
        ["GET", "/licenses/gold/entitlements"],
        ["POST", "/licenses/gold/entitlements", { entitlementSlug: "seats", value: 1 }],
        ["PUT", "/licenses/gold/entitlements/seats", { value: 1 }],
        ["DELETE", "/licenses/gold/entitlements/seats"],
      ] as const) {
        assert.deepStrictEqual(rejectionOf(yield* stranger.call(method, path, body)), [404, "License.NotFound"])
      }
      assert.deepStrictEqual(slugs(yield* stranger.call("GET", "/licenses?family=gold")), [])
      assert.strictEqual((yield* stranger.license()).body.slug, "gold")
    }),
  )

  it.effect("a creation retried with its idempotency key creates no second version", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { license, token } = yield* vendor
      yield* license()
      const send = core("POST", "/licenses", {
        token,
        body: { name: "Gold", type: "PAID", familySlug: "gold" },
        headers: { "idempotency-key": "second-version" },
      })
      const first = yield* send
      const replayed = yield* send
      assert.deepStrictEqual(replayed.body, first.body)
      assert.strictEqual((yield* license({ familySlug: "gold" })).body.version, "3")
    }),
  )

  it.effect("a choice resolves to a version by id, slug or family, and to none if they disagree", () =>
    Effect.gen(function* () {
      const licenses = yield* Licenses
      const { organizationId, license } = yield* vendor
      const other = yield* vendor
      const first = (yield* license()).body
      const second = (yield* license({ familySlug: "gold" })).body
      const resolved = (choice: LicenseChoice, organization = organizationId) =>
        Effect.map(licenses.resolve(organization, choice), (found) => Option.getOrUndefined(found)?.id)
      assert.strictEqual(yield* resolved({ licenseId: first.id }), first.id)
      assert.strictEqual(yield* resolved({ licenseSlug: "gold" }), first.id)
      assert.strictEqual(yield* resolved({ licenseFamilySlug: "gold" }), second.id)
      assert.strictEqual(yield* resolved({ licenseFamilySlug: "gold", licenseId: second.id }), second.id)
      assert.isUndefined(yield* resolved({ licenseFamilySlug: "gold", licenseId: first.id }))
      assert.isUndefined(yield* resolved({ licenseSlug: "silver" }))
      assert.isUndefined(yield* resolved({ licenseFamilySlug: "silver" }))
      assert.isUndefined(yield* resolved({}))
      assert.isUndefined(yield* resolved({ licenseId: first.id }, other.organizationId))
      yield* license({ slug: "draft", lifecycleState: "DRAFT" })
      assert.isUndefined(yield* resolved({ licenseFamilySlug: "draft" }))
    }),
  )

  it.effect("an archive request waits for a transaction that has locked the version", () =>
    Effect.gen(function* () {
      const licenses = yield* Licenses
      const transactions = yield* Transactions
      const { call, license, organizationId } = yield* vendor
      const { id } = (yield* license()).body
      const archive = yield* transactions.run(
        Effect.gen(function* () {
          const locked = Option.getOrThrow(yield* licenses.lock(organizationId, id))
          assert.strictEqual(locked.lifecycleState, "PUBLISHED")
          const archive = yield* Effect.forkChild(call("POST", "/licenses/gold/archive"))
          yield* Effect.sleep("100 millis")
          assert.strictEqual((yield* call("GET", "/licenses/gold")).body.lifecycleState, "PUBLISHED")
          return archive
        }),
      )
      assert.strictEqual((yield* Fiber.join(archive)).status, 200)
    }),
  )

  it.effect("read:licenses does not allow writing", () =>
    Effect.gen(function* () {
      const { core, tenant, tokenWith } = yield* TestService
      const owner = yield* tenant()
      const token = yield* tokenWith(owner, ["read:licenses"])
      assert.strictEqual((yield* core("GET", "/licenses", { token })).status, 200)
      const rejected = yield* core("POST", "/licenses", { token, body: { name: "Gold", type: "PAID" } })
      assert.deepStrictEqual(rejectionOf(rejected), [403, "Auth.MissingScope"])
    }),
  )
})
