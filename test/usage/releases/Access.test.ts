import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { rejection } from "../../instances/Shop.ts"
import { TestService } from "../../support/TestService.ts"
import { createVendor, running, slugsOf } from "./vendor.ts"

layer(TestService.layer, { excludeTestServices: true })("the access of a release", (it) => {
  it.effect("is not offered by default, also of releases that an earlier version stored", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { access, does, list, tenant } = yield* createVendor
      const created = yield* does("POST", "/releases", { version: "1.0" })
      assert.deepStrictEqual(created.access, {
        offered: false,
        entitlements: [],
        withdrawnAt: null,
        withdrawnReason: null,
        updatedAt: null,
        updatedBy: null,
      })
      assert.strictEqual(created.releasedAt, created.createdAt)
      // As a node of the release before does it, which knows none of the columns.
      const at = new Date("2025-05-05T05:05:05.005Z")
      yield* sql`
        INSERT INTO releases (organization_id, id, slug, version, created_at, created_by)
        VALUES (${tenant.organizationId}, ${"0199aaaa-0000-7000-8000-000000000001"}, 'before', '0.9', ${at},
          ${sql.json(created.createdBy)})`
      const before = yield* does("GET", "/releases/before")
      assert.deepStrictEqual([before.access, before.releasedAt], [created.access, at.toISOString()])
      assert.deepStrictEqual(slugsOf(yield* list("?allowed=any")), [])
      yield* access("before", { offered: true })
      assert.deepStrictEqual(slugsOf(yield* list()), ["before"])
    }),
  )

  it.effect("changes by what the body has, with an event that names what was before", () =>
    Effect.gen(function* () {
      const { access, decision, does, lastEvent, release } = yield* createVendor
      const { id } = yield* release("1.0", { access: { offered: false, entitlements: ["updates", "sso"] } })
      const offered = yield* access("1-0", { offered: true, entitlements: ["updates"] })
      assert.deepStrictEqual([offered.offered, offered.entitlements], [true, ["updates"]])
      assert.isString(offered.updatedAt)
      assert.deepStrictEqual((yield* does("GET", "/releases/1-0")).access, offered)
      const event = yield* lastEvent("RELEASE_ACCESS_UPDATED")
      assert.deepStrictEqual(event.data, { ...offered, releaseId: id, releaseSlug: "1-0" })
      assert.deepStrictEqual(event.previous, { offered: false, entitlements: ["sso", "updates"] })
      const found = yield* does("GET", `/events?resource=1-0&type=RELEASE_ACCESS_UPDATED`)
      assert.deepStrictEqual(
        found.items.map((each: { id: string }) => each.id),
        [event.id],
      )
      const withdrawn = yield* access("1-0", { withdrawn: true, withdrawnReason: "Data loss." })
      assert.deepStrictEqual([withdrawn.offered, withdrawn.withdrawnReason], [true, "Data loss."])
      assert.strictEqual((yield* decision("1-0")).reason, "WITHDRAWN")
      const again = yield* access("1-0", { withdrawn: false })
      assert.deepStrictEqual([again.withdrawnAt, again.withdrawnReason], [null, null])
      assert.isTrue((yield* decision("1-0")).allowed)
      // The same again is no change.
      const last = yield* lastEvent("RELEASE_ACCESS_UPDATED")
      assert.deepStrictEqual(
        yield* access("1-0", { offered: true, entitlements: ["updates"], withdrawn: false }),
        again,
      )
      assert.strictEqual((yield* lastEvent("RELEASE_ACCESS_UPDATED")).id, last.id)
    }),
  )

  it.effect("names the place of everything that is wrong", () =>
    Effect.gen(function* () {
      const { call, release } = yield* createVendor
      yield* release("1.0")
      const put = (body: object) => Effect.map(call("PUT", "/releases/1-0/access", body), rejection)
      const invalid = (...places: ReadonlyArray<string>) => ({
        status: 422,
        code: "Request.ValidationFailed",
        places,
      })
      assert.deepStrictEqual(
        yield* put({ entitlements: ["updates", "none", "updates"] }),
        invalid("body.entitlements[2]"),
      )
      assert.deepStrictEqual(
        yield* put({ entitlements: ["none", "updates", "nothing"] }),
        invalid("body.entitlements[0]", "body.entitlements[2]"),
      )
      assert.deepStrictEqual(yield* put({ withdrawnReason: "x" }), invalid("body.withdrawnReason"))
      const many = Array.from({ length: 21 }, (_, index) => `e${index}`)
      assert.deepStrictEqual(yield* put({ entitlements: many }), invalid("body.entitlements"))
      const create = (body: object) => Effect.map(call("POST", "/releases", { version: "2", ...body }), rejection)
      assert.deepStrictEqual(
        yield* create({ access: { entitlements: ["none"] } }),
        invalid("body.access.entitlements[0]"),
      )
      assert.deepStrictEqual(yield* create({ releasedAt: "2999-01-01T00:00:00Z" }), invalid("body.releasedAt"))
      assert.deepStrictEqual(yield* create({ componentSlugs: ["none"] }), invalid("body.componentSlugs[0]"))
      const unknown = yield* call("PUT", "/releases/none/access", { offered: true })
      assert.deepStrictEqual([unknown.status, unknown.body.code], [404, "Release.NotFound"])
    }),
  )

  it.effect("keeps the entitlements that it requires from being deleted", () =>
    Effect.gen(function* () {
      const { access, call, release } = yield* createVendor
      yield* release("1.0", { access: { entitlements: ["sso"] } })
      const rejected = yield* call("DELETE", "/entitlements/sso")
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "DeleteEntitlement.InUse"])
      assert.deepStrictEqual(rejected.body.impact.blocking, [
        { kind: "releases", count: 1, truncated: false, items: [{ slug: "1-0" }] },
      ])
      yield* access("1-0", { entitlements: [] })
      assert.strictEqual((yield* call("DELETE", "/entitlements/sso")).status, 204)
    }),
  )

  it.effect("shows in a dry run for whom the decision turns, and changes nothing", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { call, does, grant, instance, license, release } = yield* createVendor
      yield* license("basic")
      yield* grant("basic", "sso", true)
      yield* instance("basic-1", "globex", "basic", running)
      yield* instance("late", "globex", "pro", { ...running, startLicenseDate: "2999-01-01T00:00:00Z" })
      yield* release("1.0", { access: { offered: true, entitlements: ["updates"] } })
      const dry = (body: object) => does("PUT", "/releases/1-0/access?dryRun=true", body)
      const before = yield* does("GET", "/releases/1-0")
      const swapped = yield* dry({ entitlements: ["sso"] })
      assert.deepStrictEqual([swapped.status, swapped.body.entitlements], [200, ["sso"]])
      assert.deepStrictEqual(swapped.impact.releases, {
        count: 2,
        truncated: false,
        items: [
          { slug: "prod", reason: { before: "GRANTED", after: "NOT_GRANTED" } },
          { slug: "basic-1", reason: { before: "NOT_GRANTED", after: "GRANTED" } },
        ],
      })
      assert.deepStrictEqual(
        swapped.events.map(({ type }: { type: string }) => type),
        ["RELEASE_ACCESS_UPDATED"],
      )
      const withdrawn = yield* dry({ withdrawn: true })
      assert.deepStrictEqual(withdrawn.impact.releases.items, [
        { slug: "prod", reason: { before: "GRANTED", after: "WITHDRAWN" } },
      ])
      assert.strictEqual((yield* dry({ offered: true })).impact.releases.count, 0)
      assert.deepStrictEqual(yield* does("GET", "/releases/1-0"), before)
      // Who may not read instances gets their number.
      const account = yield* does("POST", "/service-accounts", { name: "ci" })
      const { token } = yield* does("POST", `/service-accounts/${account.slug}/tokens`, {
        name: "ci",
        scopes: ["write:releases"],
      })
      const blind = yield* core("PUT", "/releases/1-0/access?dryRun=true", { token, body: { withdrawn: true } })
      assert.deepStrictEqual(blind.body.impact.releases, { count: 1, truncated: false, items: [] })
      assert.strictEqual((yield* call("GET", "/instances/prod/releases/1-0")).body.allowed, true)
    }),
  )

  it.effect("filters the list of releases", () =>
    Effect.gen(function* () {
      const { does, release } = yield* createVendor
      for (const name of ["Search", "Web"]) yield* does("POST", "/components", { name, version: "1" })
      yield* release("4.1", { componentSlugs: ["search-1"] })
      yield* release("4.2", { componentSlugs: ["search-1", "web-1"], access: {} })
      yield* release("5.0 LTS", { componentSlugs: ["web-1"] })
      const listed = (query: string) =>
        Effect.map(does("GET", `/releases?${query}`), ({ items }) => items.map(({ slug }: { slug: string }) => slug))
      assert.deepStrictEqual(yield* listed("offered=true"), ["5-0-lts", "4-1"])
      assert.deepStrictEqual(yield* listed("offered=false"), ["4-2"])
      assert.deepStrictEqual(yield* listed("component=Search"), ["4-2", "4-1"])
      assert.deepStrictEqual(yield* listed("component=Web&offered=true"), ["5-0-lts"])
      assert.deepStrictEqual(yield* listed("q=lts"), ["5-0-lts"])
      assert.deepStrictEqual(yield* listed("q=4"), ["4-2", "4-1"])
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("the maintenance of an instance", (it) => {
  it.effect("is set, changed and cleared as the other terms, with the value before in the event", () =>
    Effect.gen(function* () {
      const { does, instance, lastEvent } = yield* createVendor
      const created = yield* instance("kept", "globex", "pro", {
        ...running,
        endMaintenanceDate: "2026-03-31T00:00:00Z",
      })
      assert.strictEqual(created.endMaintenanceDate, "2026-03-31T00:00:00.000Z")
      const changed = yield* does("PATCH", "/instances/kept", { endMaintenanceDate: "2027-03-31T00:00:00Z" })
      assert.strictEqual(changed.endMaintenanceDate, "2027-03-31T00:00:00.000Z")
      const event = yield* lastEvent("INSTANCE_UPDATED")
      assert.deepStrictEqual(event.previous, { endMaintenanceDate: "2026-03-31T00:00:00.000Z" })
      assert.strictEqual(event.data.endMaintenanceDate, "2027-03-31T00:00:00.000Z")
      assert.strictEqual(
        (yield* does("PATCH", "/instances/kept", { name: "Kept" })).endMaintenanceDate,
        changed.endMaintenanceDate,
      )
      const dry = yield* does("PATCH", "/instances/kept?dryRun=true", { endMaintenanceDate: null })
      assert.isNull(dry.body.endMaintenanceDate)
      assert.isNull((yield* does("PATCH", "/instances/kept", { endMaintenanceDate: null })).endMaintenanceDate)
    }),
  )

  it.effect("is imported, and upserted by a connector", () =>
    Effect.gen(function* () {
      const { does } = yield* createVendor
      const row = { name: "Bulk", slug: "bulk", customerSlug: "globex", licenseSlug: "pro", ...running }
      const rows = [{ ...row, endMaintenanceDate: "2026-03-31T00:00:00Z" }]
      const imported = (yield* does("POST", "/imports", { kind: "instances", rows })).results
      assert.deepStrictEqual(imported[0].status, "created")
      assert.strictEqual((yield* does("GET", "/instances/bulk")).endMaintenanceDate, "2026-03-31T00:00:00.000Z")
      const again = (yield* does("POST", "/imports", { kind: "instances", rows })).results
      assert.deepStrictEqual(again[0].status, "unchanged")
      const changed = yield* does("POST", "/imports", {
        kind: "instances",
        rows: [{ ...row, endMaintenanceDate: "2027-03-31T00:00:00Z" }],
      })
      assert.deepStrictEqual(changed.results[0].status, "updated")
      assert.strictEqual((yield* does("GET", "/instances/bulk")).endMaintenanceDate, "2027-03-31T00:00:00.000Z")
    }),
  )
})
