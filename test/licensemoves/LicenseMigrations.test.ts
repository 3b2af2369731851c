import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { MigrationRunner } from "../../src/domains/licensemoves/Runner.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { createShop } from "../instances/Shop.ts"
import { testServiceForms } from "../support/forms.ts"

/** Runs all batches that are due. */
const runAll = Effect.gen(function* () {
  const { step } = yield* MigrationRunner
  yield* Effect.repeat(step, { while: (more) => more })
})

const running = { startLicenseDate: "2025-01-01T00:00:00Z", endLicenseDate: null }

/** A shop with the licenses "pro" and "pro-2", and instances of "pro". */
const openShop = Effect.fnUntraced(function* (instances: number) {
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.license("pro-2")
  yield* shop.entitlement("calls")
  yield* shop.grant("pro", "calls", 100)
  yield* shop.grant("pro-2", "calls", 10)
  yield* shop.customer("Acme")
  yield* shop.customer("Other")
  for (let number = 0; number < instances; number++) {
    yield* shop.instance(`i${number}`, "acme", "pro", { slug: `i${number}`, ...running })
  }
  const licenses = Effect.map(shop.call("GET", "/instances?limit=200"), ({ body }) =>
    Object.fromEntries(
      body.items.map(({ licenseSlug, slug }: { licenseSlug: string; slug: string }) => [slug, licenseSlug]),
    ),
  )
  const migrate = (body: object, query = "") => shop.call("POST", `/licenses/pro/migrations${query}`, body)
  const read = (id: string) => Effect.map(shop.call("GET", `/license-migrations/${id}`), ({ body }) => body)
  const items = (id: string) =>
    Effect.map(shop.call("GET", `/license-migrations/${id}/items?limit=200`), ({ body }) =>
      body.items.map(({ code, instance, state }: { code: string; instance: string; state: string }) => [
        instance,
        state,
        code,
      ]),
    )
  const events = (type: string) =>
    Effect.map(shop.call("GET", `/events?limit=200&type=${type}`), ({ body }) => body.items)
  return { ...shop, events, items, licenses, migrate, read }
})

for (const { form, service } of testServiceForms) {
  layer(service, { excludeTestServices: true })(`a license migration, ${form},`, (it) => {
    it.effect("moves every instance of a license once, with its event, and keeps usage and overrides", () =>
      Effect.gen(function* () {
        const { call, events, items, licenses, migrate, read } = yield* openShop(3)
        yield* call("POST", "/instances/i0/entitlements/calls/usage", { value: 7 })
        yield* call("PUT", "/instances/i0/entitlements/calls/override", { mode: "ADD", value: 5 })
        const asked = yield* migrate({ toLicenseSlug: "pro-2" })
        assert.strictEqual(asked.status, 202, asked.text)
        const { id } = asked.body
        assert.deepStrictEqual(
          [asked.body.from, asked.body.to, asked.body.state, asked.body.counts, asked.body.finishedAt],
          ["pro", "pro-2", "SCHEDULED", { total: 3, moved: 0, skipped: 0, failed: 0 }, null],
        )
        yield* runAll
        const done = yield* read(id)
        assert.deepStrictEqual([done.state, done.counts], ["DONE", { total: 3, moved: 3, skipped: 0, failed: 0 }])
        assert.isString(done.finishedAt)
        assert.deepStrictEqual(yield* licenses, { i0: "pro-2", i1: "pro-2", i2: "pro-2" })
        assert.deepStrictEqual(
          yield* items(id),
          [0, 1, 2].map((number) => [`i${number}`, "MOVED", null]),
        )
        const updates = yield* events("INSTANCE_UPDATED")
        assert.deepStrictEqual(
          updates.map(({ data, previous }: { data: { slug: string }; previous: { licenseSlug: string } }) => [
            data.slug,
            previous.licenseSlug,
          ]),
          [0, 1, 2].map((number) => [`i${number}`, "pro"]),
        )
        const told = yield* events("LICENSE_MIGRATION_STARTED,LICENSE_MIGRATION_FINISHED")
        assert.deepStrictEqual(
          told.map(({ data, type }: { data: { id: string; state: string }; type: string }) => [
            type,
            data.id,
            data.state,
          ]),
          [
            ["LICENSE_MIGRATION_STARTED", id, "RUNNING"],
            ["LICENSE_MIGRATION_FINISHED", id, "DONE"],
          ],
        )
        const check = yield* call("POST", "/instances/i0/check", { checks: [{ entitlement: "calls" }] })
        assert.deepStrictEqual([check.body.checks[0].usage, check.body.checks[0].limit], [7, 15])
        // A past check still knows the license of its time.
        const past = yield* call("POST", "/instances/i1/check", {
          checks: [{ entitlement: "calls" }],
          at: new Date(Date.parse(asked.body.createdAt) - 1).toISOString(),
        })
        assert.deepStrictEqual([past.body.license, past.body.checks[0].limit], ["pro", 100])
        yield* runAll
        assert.strictEqual((yield* events("INSTANCE_UPDATED")).length, 3)
      }),
    )

    it.effect("can concern the instances of a customer, or named ones, and says why it skips some", () =>
      Effect.gen(function* () {
        const { instance, items, licenses, migrate, read } = yield* openShop(2)
        yield* instance("elsewhere", "other", "pro", { slug: "elsewhere", ...running })
        yield* instance("new", "acme", "pro-2", { slug: "new", ...running })
        const one = yield* migrate({ toLicenseFamilySlug: "pro-2", customer: "other" })
        assert.strictEqual(one.body.counts.total, 1)
        yield* runAll
        assert.deepStrictEqual(yield* items(one.body.id), [["elsewhere", "MOVED", null]])
        const named = yield* migrate({
          toLicenseSlug: "pro-2",
          instances: ["i1", "nope", "new", "elsewhere", "i1"],
          customer: "acme",
        })
        yield* runAll
        assert.deepStrictEqual(yield* items(named.body.id), [
          ["i1", "MOVED", null],
          ["nope", "SKIPPED", "Instance.NotFound"],
          ["new", "SKIPPED", "LicenseMigration.OtherLicense"],
          ["elsewhere", "SKIPPED", "LicenseMigration.OtherLicense"],
        ])
        assert.deepStrictEqual((yield* read(named.body.id)).counts, { total: 4, moved: 1, skipped: 3, failed: 0 })
        assert.strictEqual((yield* licenses).i0, "pro")
      }),
    )

    it.effect("starts at its time, and can be cancelled until then", () =>
      Effect.gen(function* () {
        const { call, licenses, migrate, read } = yield* openShop(1)
        const at = Date.parse("2031-01-01T00:00:00Z")
        const later = yield* migrate({ toLicenseSlug: "pro-2", at: new Date(at).toISOString() })
        const cancelled = yield* migrate({ toLicenseSlug: "pro-2", at: new Date(at).toISOString() })
        const cancel = (id: string) => call("POST", `/license-migrations/${id}/cancel`)
        assert.strictEqual((yield* cancel(cancelled.body.id)).body.state, "CANCELLED")
        const runAt = (millis: number) =>
          Effect.andThen(TestClock.setTime(millis), runAll).pipe(Effect.provide(TestClock.layer()))
        yield* runAt(at - 1)
        assert.strictEqual((yield* read(later.body.id)).state, "SCHEDULED")
        yield* runAt(at)
        assert.deepStrictEqual([(yield* read(later.body.id)).state, (yield* licenses).i0], ["DONE", "pro-2"])
        assert.strictEqual((yield* read(cancelled.body.id)).state, "CANCELLED")
        for (const { body } of [later, cancelled]) {
          const refused = yield* cancel(body.id)
          assert.deepStrictEqual([refused.status, refused.body.code], [409, "CancelMigration.NotScheduled"])
        }
        const listed = yield* call("GET", "/license-migrations")
        assert.deepStrictEqual(
          listed.body.items.map(({ id }: { id: string }) => id),
          [cancelled.body.id, later.body.id],
        )
      }),
    )

    it.effect("is reverted for those that are still where it put them, for 35 days", () =>
      Effect.gen(function* () {
        const { call, events, items, license, licenses, migrate, read } = yield* openShop(3)
        yield* license("max")
        const { body: migration } = yield* migrate({ toLicenseSlug: "pro-2" })
        const revert = call("POST", `/license-migrations/${migration.id}/revert`)
        const early = yield* revert
        assert.deepStrictEqual([early.status, early.body.code], [409, "RevertMigration.NotDone"])
        yield* runAll
        yield* call("PATCH", "/instances/i1", { licenseSlug: "max" })
        yield* call("DELETE", "/instances/i2")
        const reverting = yield* revert
        assert.deepStrictEqual([reverting.status, reverting.body.state], [202, "REVERTING"], reverting.text)
        yield* runAll
        assert.strictEqual((yield* read(migration.id)).state, "REVERTED")
        assert.deepStrictEqual(yield* licenses, { i0: "pro", i1: "max" })
        assert.deepStrictEqual(yield* items(migration.id), [
          ["i0", "REVERTED", null],
          ["i1", "KEPT", "LicenseMigration.OtherLicense"],
          ["i2", "KEPT", "LicenseMigration.OtherLicense"],
        ])
        assert.strictEqual((yield* events("LICENSE_MIGRATION_REVERTED"))[0].data.id, migration.id)
        assert.strictEqual((yield* revert).body.code, "RevertMigration.NotDone")

        const { body: old } = yield* migrate({ toLicenseSlug: "pro-2" })
        yield* runAll
        const sql = yield* PgClient.PgClient
        yield* sql`UPDATE license_migrations SET finished_at = ${new Date(Date.now() - 35 * DAY_MS - 1000)} WHERE id = ${old.id}`
        const late = yield* call("POST", `/license-migrations/${old.id}/revert`)
        assert.deepStrictEqual([late.status, late.body.code], [409, "RevertMigration.TooLate"])
      }),
    )

    it.effect("moves nobody to a version that was archived before it started", () =>
      Effect.gen(function* () {
        const { call, items, licenses, migrate, read } = yield* openShop(2)
        const { body: migration } = yield* migrate({ toLicenseSlug: "pro-2" })
        yield* call("POST", "/licenses/pro-2/archive")
        yield* runAll
        assert.deepStrictEqual((yield* read(migration.id)).counts, { total: 2, moved: 0, skipped: 0, failed: 2 })
        assert.deepStrictEqual((yield* items(migration.id))[0], ["i0", "FAILED", "MigrateLicense.LicenseArchived"])
        assert.deepStrictEqual(yield* licenses, { i0: "pro", i1: "pro" })
      }),
    )

    it.effect("is refused with the place and the fix", () =>
      Effect.gen(function* () {
        const { call, license, migrate } = yield* openShop(0)
        yield* license("old")
        yield* call("POST", "/licenses/old/archive")
        yield* license("draft", { lifecycleState: "DRAFT" })
        const refusal = (body: object) =>
          Effect.map(migrate(body), (answer) => [answer.status, answer.body.errors?.[0]?.location ?? answer.body.code])
        assert.deepStrictEqual(yield* refusal({}), [422, "body.toLicenseSlug"])
        assert.deepStrictEqual(yield* refusal({ toLicenseSlug: "pro-2", toLicenseFamilySlug: "pro-2" }), [
          422,
          "body.toLicenseFamilySlug",
        ])
        assert.deepStrictEqual(yield* refusal({ toLicenseSlug: "pro" }), [422, "body.toLicenseSlug"])
        assert.deepStrictEqual(yield* refusal({ toLicenseSlug: "nope" }), [422, "body.toLicenseSlug"])
        assert.deepStrictEqual(yield* refusal({ toLicenseFamilySlug: "nope" }), [422, "body.toLicenseFamilySlug"])
        assert.deepStrictEqual(yield* refusal({ toLicenseSlug: "pro-2", customer: "nope" }), [422, "body.customer"])
        assert.deepStrictEqual(yield* refusal({ toLicenseSlug: "old" }), [409, "MigrateLicense.LicenseArchived"])
        assert.strictEqual((yield* migrate({ toLicenseSlug: "draft" })).status, 202)
        const unknown = yield* call("POST", "/licenses/nope/migrations", { toLicenseSlug: "pro" })
        assert.deepStrictEqual([unknown.status, unknown.body.code], [404, "License.NotFound"])
        for (const path of ["", "/items"]) {
          const missing = yield* call("GET", `/license-migrations/01a21000-0000-7000-8000-000000000000${path}`)
          assert.deepStrictEqual([missing.status, missing.body.code], [404, "LicenseMigration.NotFound"])
        }
      }),
    )

    it.effect("says in a dry run what it would do, and does nothing", () =>
      Effect.gen(function* () {
        const { call, events, grant, entitlement, licenses, migrate } = yield* openShop(3)
        yield* entitlement("sso", { type: "BOOLEAN" })
        yield* grant("pro-2", "sso", true)
        yield* call("POST", "/instances/i0/entitlements/calls/usage", { value: 50 })
        yield* call("POST", "/instances/i1/entitlements/calls/usage", { value: 50 })
        yield* call("PUT", "/instances/i1/entitlements/calls/override", { mode: "ADD", value: 100 })
        const answer = yield* migrate({ toLicenseSlug: "pro-2" }, "?dryRun=true")
        assert.strictEqual(answer.status, 200, answer.text)
        const { body, dryRun, impact, status } = answer.body
        assert.deepStrictEqual([dryRun, status, body.state, body.counts.total], [true, 202, "SCHEDULED", 3])
        assert.deepStrictEqual(impact.instances, {
          count: 3,
          truncated: false,
          items: [0, 1, 2].map((number) => ({ slug: `i${number}`, customer: "acme" })),
        })
        const sso = (slug: string) => ({
          slug,
          entitlement: "sso",
          usage: null,
          limit: null,
          reason: { before: "NOT_GRANTED", after: "GRANTED" },
        })
        assert.sameDeepMembers(impact.turning.items, [
          {
            slug: "i0",
            entitlement: "calls",
            usage: 50,
            limit: 10,
            reason: { before: "GRANTED", after: "LIMIT_REACHED" },
          },
          ...["i0", "i1", "i2"].map(sso),
        ])
        yield* runAll
        assert.deepStrictEqual(Object.values(yield* licenses), ["pro", "pro", "pro"])
        assert.deepStrictEqual((yield* call("GET", "/license-migrations")).body.items, [])
        assert.deepStrictEqual(yield* events("LICENSE_MIGRATION_STARTED"), [])
        assert.strictEqual((yield* migrate({ toLicenseSlug: "pro-2" }, "?dryRun=yes")).status, 422)
      }),
    )

    it.effect("is one for several nodes: each instance is moved once", () =>
      Effect.gen(function* () {
        const { events, migrate, read } = yield* openShop(40)
        const { body: migration } = yield* migrate({ toLicenseSlug: "pro-2" })
        yield* Effect.all([runAll, runAll, runAll], { concurrency: 3 })
        yield* runAll
        assert.deepStrictEqual((yield* read(migration.id)).counts, { total: 40, moved: 40, skipped: 0, failed: 0 })
        assert.strictEqual((yield* events("INSTANCE_UPDATED")).length, 40)
      }),
    )
  })
}
