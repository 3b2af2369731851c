import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { createShop, rejection, term } from "./Shop.ts"

const NOWHERE = "0199aaaa-0000-7000-8000-000000000000"

layer(TestService.layer, { excludeTestServices: true })("instances", (it) => {
  it.effect("an instance is created, read, changed and deleted, and each change emits an event", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      const licenseId = (yield* license("pro")).id
      const customer = (yield* call("POST", "/customers", { name: "Acme" })).body
      const zone = (yield* call("POST", "/deployment-zones", { name: "Hamburg", type: "production" })).body
      const created = yield* call("POST", "/instances", {
        name: "Acme Production",
        customerId: customer.id.toUpperCase(),
        licenseId,
        deploymentZoneId: zone.id,
        startLicenseDate: "2025-01-01T01:00:00+01:00",
        endLicenseDate: "2026-01-01T00:00:00Z",
      })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), "/api/instances/acme-production")
      const by = { id: "00000000-0000-7000-8000-000000000001", name: "system:platform" }
      assert.deepStrictEqual(created.body, {
        id: created.body.id,
        name: "Acme Production",
        slug: "acme-production",
        description: null,
        customerId: customer.id,
        customerSlug: "acme",
        customerName: "Acme",
        licenseId,
        licenseSlug: "pro",
        licenseName: "pro",
        deploymentZoneId: zone.id,
        deploymentZoneSlug: "hamburg",
        deploymentZoneName: "Hamburg",
        ...term,
        graceDays: null,
        endMaintenanceDate: null,
        metadata: {},
        integrations: {},
        createdAt: created.body.createdAt,
        updatedAt: created.body.createdAt,
        createdBy: by,
        updatedBy: by,
      })
      assert.deepStrictEqual((yield* call("GET", "/instances/acme-production")).body, created.body)

      // The name is the one that the zone has now.
      yield* call("PUT", "/deployment-zones/hamburg", { name: "Altona" })
      const renamed = { ...created.body, deploymentZoneName: "Altona" }
      assert.deepStrictEqual((yield* call("GET", "/instances/acme-production")).body, renamed)
      assert.deepStrictEqual((yield* call("GET", "/instances?zone=hamburg")).body.items, [renamed])

      const changed = yield* call("PATCH", "/instances/acme-production", {
        description: "The big one",
        deploymentZoneId: null,
        metadata: null,
        endLicenseDate: "2027-01-01T00:00:00.000Z",
      })
      assert.strictEqual(changed.status, 200)
      assert.deepStrictEqual(changed.body, {
        ...created.body,
        description: "The big one",
        deploymentZoneId: null,
        deploymentZoneSlug: null,
        deploymentZoneName: null,
        endLicenseDate: "2027-01-01T00:00:00.000Z",
        updatedAt: changed.body.updatedAt,
      })
      assert.deepStrictEqual((yield* call("GET", "/instances/acme-production")).body, changed.body)

      assert.strictEqual((yield* call("DELETE", "/instances/acme-production")).status, 204)
      assert.deepStrictEqual(rejection(yield* call("GET", "/instances/acme-production")), {
        status: 404,
        code: "Instance.NotFound",
        places: [],
      })
      const events = (yield* call("GET", "/events")).body.items.filter(({ type }: { type: string }) =>
        type.startsWith("INSTANCE_"),
      )
      assert.deepStrictEqual(
        events.map((event: { type: string; data: unknown }) => [event.type, event.data]),
        [
          ["INSTANCE_CREATION", created.body],
          ["INSTANCE_UPDATED", changed.body],
          ["INSTANCE_DELETED", changed.body],
        ],
      )
    }),
  )

  it.effect("customer and license must be named exactly once, and all validation errors are returned at once", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      yield* license("pro")
      yield* call("POST", "/customers", { name: "Acme" })
      const body = { name: "A", ...term }
      assert.deepStrictEqual(
        rejection(yield* call("POST", "/instances", { ...body, endLicenseDate: term.startLicenseDate })),
        {
          status: 422,
          code: "Request.ValidationFailed",
          places: ["body.customerId", "body.licenseId", "body.endLicenseDate"],
        },
      )
      const twice = { customerId: NOWHERE, customerSlug: "acme", licenseSlug: "pro", licenseFamilySlug: "pro" }
      assert.deepStrictEqual(rejection(yield* call("POST", "/instances", { ...body, ...twice })).places, [
        "body.customerSlug",
        "body.licenseFamilySlug",
      ])
      yield* call("POST", "/instances", { ...body, customerSlug: "acme", licenseSlug: "pro" })
      const otherTwice = { ...twice, customerSlug: "other", licenseSlug: "other" }
      assert.deepStrictEqual(rejection(yield* call("PATCH", "/instances/instance-a", otherTwice)).places, [
        "body.customerSlug",
        "body.licenseFamilySlug",
      ])
    }),
  )

  it.effect("unknown names are rejected with their location", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      const other = yield* createShop
      yield* license("pro")
      const foreignLicense = (yield* other.license("foreign")).id
      yield* call("POST", "/customers", { name: "Acme" })
      const foreignCustomer = (yield* other.call("POST", "/customers", { name: "Foreign" })).body.id
      const foreignZone = (yield* other.call("POST", "/deployment-zones", { name: "Far", type: "staging" })).body.id
      const good = { customerSlug: "acme", licenseSlug: "pro" }
      const cases: ReadonlyArray<[object, string]> = [
        [{ licenseSlug: "pro", customerSlug: "none" }, "body.customerSlug"],
        [{ licenseSlug: "pro", customerId: foreignCustomer }, "body.customerId"],
        [{ customerSlug: "acme", licenseSlug: "none" }, "body.licenseSlug"],
        [{ customerSlug: "acme", licenseId: foreignLicense }, "body.licenseId"],
        [{ customerSlug: "acme", licenseFamilySlug: "none" }, "body.licenseFamilySlug"],
        [{ ...good, deploymentZoneId: foreignZone }, "body.deploymentZoneId"],
      ]
      for (const [names, place] of cases) {
        assert.deepStrictEqual(rejection(yield* call("POST", "/instances", { name: "Prod", ...term, ...names })), {
          status: 422,
          code: "Request.ValidationFailed",
          places: [place],
        })
      }
      assert.strictEqual((yield* call("POST", "/instances", { name: "Prod", ...term, ...good })).status, 201)
      for (const names of [{ customerSlug: "none" }, { licenseSlug: "none" }, { deploymentZoneId: NOWHERE }]) {
        const places = Object.keys(names).map((name) => `body.${name}`)
        assert.deepStrictEqual(rejection(yield* call("PATCH", "/instances/prod", names)).places, places)
      }
    }),
  )

  it.effect("the end date must be after the start date, also when only one of them changes", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      yield* license("pro")
      yield* call("POST", "/customers", { name: "Acme" })
      yield* call("POST", "/instances", { name: "Prod", customerSlug: "acme", licenseSlug: "pro", ...term })
      const early = { endLicenseDate: term.startLicenseDate }
      assert.deepStrictEqual(rejection(yield* call("PATCH", "/instances/prod", early)).places, ["body.endLicenseDate"])
      const late = { startLicenseDate: "2026-06-01T00:00:00Z" }
      assert.deepStrictEqual(rejection(yield* call("PATCH", "/instances/prod", late)).places, ["body.startLicenseDate"])
      const both = { ...late, endLicenseDate: "2026-06-01T00:00:00.001Z" }
      assert.strictEqual((yield* call("PATCH", "/instances/prod", both)).status, 200)
      const nonsense = { name: "B", customerSlug: "acme", licenseSlug: "pro", startLicenseDate: "2025-02-30T00:00:00Z" }
      assert.deepStrictEqual(rejection(yield* call("POST", "/instances", nonsense)).places.sort(), [
        "body.endLicenseDate",
        "body.startLicenseDate",
      ])
    }),
  )

  it.effect(
    "a license without an end never ends, from the creation on or from a change on, and can get an end again",
    () =>
      Effect.gen(function* () {
        const { call, customer, entitlement, grant, license } = yield* createShop
        yield* license("pro")
        yield* entitlement("sso", { type: "BOOLEAN" })
        yield* grant("pro", "sso", true)
        yield* customer("Acme")
        const good = { customerSlug: "acme", licenseSlug: "pro", startLicenseDate: "2020-01-01T00:00:00Z" }
        const reasonAt = Effect.fnUntraced(function* (at: string) {
          const { body } = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "sso" }], at })
          return body.checks[0].reason
        })

        const missing = yield* call("POST", "/instances", { name: "Prod", ...good })
        assert.deepStrictEqual(rejection(missing).places, ["body.endLicenseDate"])
        const created = yield* call("POST", "/instances", { name: "Prod", ...good, endLicenseDate: null })
        assert.deepStrictEqual([created.status, created.body.endLicenseDate], [201, null])
        assert.strictEqual(yield* reasonAt("9000-01-01T00:00:00Z"), "GRANTED")
        assert.deepStrictEqual((yield* call("GET", "/instances?endsBefore=9000-01-01T00:00:00Z")).body.items, [])

        const ended = yield* call("PATCH", "/instances/prod", { endLicenseDate: "2021-01-01T00:00:00Z" })
        assert.strictEqual(ended.status, 200)
        assert.strictEqual(yield* reasonAt("9000-01-01T00:00:00Z"), "LICENSE_EXPIRED")
        const endless = yield* call("PATCH", "/instances/prod", { endLicenseDate: null })
        assert.deepStrictEqual([endless.status, endless.body.endLicenseDate], [200, null])
        assert.strictEqual(yield* reasonAt("9000-01-01T00:00:00Z"), "GRANTED")
      }),
  )

  it.effect("a family resolves to its current version; drafts can be assigned, archived versions cannot", () =>
    Effect.gen(function* () {
      const { archive, call, license } = yield* createShop
      yield* license("pro")
      const second = (yield* license("pro-v2", { familySlug: "pro" })).id
      const draft = (yield* license("pro-v3", { familySlug: "pro", lifecycleState: "DRAFT" })).id
      const old = (yield* license("pro-old", { familySlug: "pro" })).id
      yield* archive("pro-old")
      yield* call("POST", "/customers", { name: "Acme" })
      const body = { customerSlug: "acme", ...term }

      const current = yield* call("POST", "/instances", { name: "Prod", ...body, licenseFamilySlug: "pro" })
      assert.deepStrictEqual([current.status, current.body.licenseId], [201, second])
      const trial = yield* call("POST", "/instances", { name: "Trial", ...body, licenseSlug: "pro-v3" })
      assert.deepStrictEqual([trial.status, trial.body.licenseId], [201, draft])

      const rejected = yield* call("POST", "/instances", { name: "Old", ...body, licenseId: old })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "CreateInstance.LicenseArchived"])
      const unchanged = yield* call("PATCH", "/instances/prod", { licenseSlug: "pro-old" })
      assert.deepStrictEqual([unchanged.status, unchanged.body.code], [409, "UpdateInstance.LicenseArchived"])

      yield* archive("pro-v2")
      const renamed = yield* call("PATCH", "/instances/prod", { name: "Production", licenseSlug: "pro-v2" })
      assert.deepStrictEqual([renamed.status, renamed.body.name, renamed.body.licenseId], [200, "Production", second])
      const moved = yield* call("PATCH", "/instances/prod", { licenseFamilySlug: "pro" })
      assert.notStrictEqual(moved.body.licenseId, second)
      const back = yield* call("PATCH", "/instances/prod", { licenseId: second })
      assert.deepStrictEqual([back.status, back.body.code], [409, "UpdateInstance.LicenseArchived"])
    }),
  )

  it.effect("without metadata fields, every metadata key is rejected with its location", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      yield* license("pro")
      yield* call("POST", "/customers", { name: "Acme" })
      const body = { name: "Prod", customerSlug: "acme", licenseSlug: "pro", ...term }
      const rejected = yield* call("POST", "/instances", { ...body, metadata: { region: "eu", tier: { level: 3 } } })
      assert.deepStrictEqual(rejection(rejected).places, ["body.metadata.region", "body.metadata.tier"])
      assert.strictEqual((yield* call("POST", "/instances", { ...body, metadata: {} })).status, 201)
      const changed = yield* call("PATCH", "/instances/prod", { metadata: { region: "eu" } })
      assert.deepStrictEqual(rejection(changed).places, ["body.metadata.region"])
    }),
  )

  it.effect(
    "instances are listed newest first and filtered by customer, license and zone; a cursor is bound to its filters",
    () =>
      Effect.gen(function* () {
        const { call, license } = yield* createShop
        yield* license("pro")
        yield* license("free")
        for (const name of ["Acme", "Globex"]) yield* call("POST", "/customers", { name })
        const zone = (yield* call("POST", "/deployment-zones", { name: "Hamburg", type: "production" })).body
        const add = (name: string, customerSlug: string, licenseSlug: string, more: object = {}) =>
          call("POST", "/instances", { name, customerSlug, licenseSlug, ...term, ...more })
        yield* add("One", "acme", "pro", { deploymentZoneId: zone.id })
        yield* add("Two", "acme", "free")
        yield* add("Three", "globex", "pro")
        yield* add("Four", "acme", "pro")
        const page = (query: string) =>
          Effect.map(call("GET", `/instances${query}`), ({ body }) => ({
            ...body,
            names: body.items.map(({ name }: { name: string }) => name),
          }))
        assert.deepStrictEqual((yield* page("")).names, ["Four", "Three", "Two", "One"])
        assert.deepStrictEqual((yield* page("?customer=acme")).names, ["Four", "Two", "One"])
        assert.deepStrictEqual((yield* page("?license=pro")).names, ["Four", "Three", "One"])
        assert.deepStrictEqual((yield* page("?customer=acme&license=pro")).names, ["Four", "One"])
        assert.deepStrictEqual((yield* page(`?zone=${zone.slug}`)).names, ["One"])
        assert.deepStrictEqual((yield* page("?customer=none")).names, [])
        assert.deepStrictEqual((yield* page("?license=none&zone=none")).names, [])

        const first = yield* page("?customer=acme&limit=2")
        assert.deepStrictEqual([first.names, first.hasMore], [["Four", "Two"], true])
        const last = yield* page(`?customer=acme&limit=2&cursor=${first.nextCursor}`)
        assert.deepStrictEqual([last.names, last.hasMore, last.nextCursor], [["One"], false, ""])
        const elsewhere = yield* call("GET", `/instances?customer=globex&cursor=${first.nextCursor}`)
        assert.deepStrictEqual([elsewhere.status, elsewhere.body.code], [400, "Request.InvalidCursor"])
      }),
  )

  it.effect("a customer can be deleted only after its instances", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      yield* license("pro")
      for (const name of ["Acme", "Globex"]) yield* call("POST", "/customers", { name })
      yield* call("POST", "/instances", { name: "Prod", customerSlug: "acme", licenseSlug: "pro", ...term })
      const rejected = yield* call("DELETE", "/customers/acme")
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "DeleteCustomer.InUse"])
      assert.strictEqual((yield* call("PATCH", "/instances/prod", { customerSlug: "globex" })).status, 200)
      assert.strictEqual((yield* call("DELETE", "/customers/acme")).status, 204)
      assert.strictEqual((yield* call("DELETE", "/customers/globex")).status, 409)
      yield* call("DELETE", "/instances/prod")
      assert.strictEqual((yield* call("DELETE", "/customers/globex")).status, 204)
    }),
  )

  it.effect("when a customer is deleted while it gets an instance, exactly one of both requests succeeds", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      yield* license("pro")
      for (let round = 0; round < 8; round++) {
        const customerSlug = `customer-${round}`
        yield* call("POST", "/customers", { name: customerSlug })
        const body = { name: `Instance ${round}`, customerSlug, licenseSlug: "pro", ...term }
        const [created, deleted] = yield* Effect.all(
          [call("POST", "/instances", body), call("DELETE", `/customers/${customerSlug}`)],
          { concurrency: "unbounded" },
        )
        assert.include(["201 409", "422 204"], `${created.status} ${deleted.status}`)
      }
    }),
  )

  it.effect("deleting an instance deletes all its usage, and none of other instances", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, license } = yield* createShop
      const sql = yield* PgClient.PgClient
      const started = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
      yield* license("pro")
      yield* entitlement("seats")
      yield* entitlement("people", { aggregationMethod: "UNIQUE_COUNT" })
      for (const slug of ["seats", "people"]) yield* grant("pro", slug, 100)
      yield* call("POST", "/customers", { name: "Acme" })
      const ids: Record<string, string> = {}
      for (const slug of ["prod", "staging"]) {
        const body = { name: slug, slug, customerSlug: "acme", licenseSlug: "pro", ...started }
        ids[slug] = (yield* call("POST", "/instances", body)).body.id
        for (const [entitlementSlug, report] of [
          ["seats", { value: 3, transactionId: "once" }],
          ["people", { value: 1, uniqueKey: "ann" }],
        ] as const) {
          const path = `/instances/${slug}/entitlements/${entitlementSlug}/usage`
          assert.strictEqual((yield* call("POST", path, report)).status, 200)
        }
      }
      const tables = ["usage_totals", "usage_events", "usage_unique_keys", "usage_transactions"]
      const left = (slug: string) =>
        Effect.forEach(tables, (table) =>
          Effect.map(sql`SELECT 1 FROM ${sql(table)} WHERE instance_id = ${ids[slug]}`, ({ length }) => length),
        )
      assert.deepStrictEqual(yield* left("prod"), [2, 2, 1, 1])
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      assert.deepStrictEqual(yield* left("prod"), [0, 0, 0, 0])
      assert.deepStrictEqual(yield* left("staging"), [2, 2, 1, 1])
    }),
  )

  it.effect("an instance of another organization is not found", () =>
    Effect.gen(function* () {
      const { call, license } = yield* createShop
      const stranger = yield* createShop
      yield* license("pro")
      yield* call("POST", "/customers", { name: "Acme" })
      yield* call("POST", "/instances", { name: "Prod", customerSlug: "acme", licenseSlug: "pro", ...term })
      for (const [method, path, body] of [
        ["GET", "/instances/prod"],
        ["PATCH", "/instances/prod", { name: "Mine" }],
        ["DELETE", "/instances/prod"],
        ["POST", "/instances/prod/check", { checks: [{ entitlement: "seats" }] }],
      ] as const) {
        const response = yield* stranger.call(method, path, body)
        assert.deepStrictEqual([response.status, response.body.code], [404, "Instance.NotFound"])
      }
      assert.deepStrictEqual((yield* stranger.call("GET", "/instances?customer=acme")).body.items, [])
    }),
  )

  it.effect("reading and checking require read:instances, writing requires write:instances", () =>
    Effect.gen(function* () {
      const { core, tokenWith } = yield* TestService
      const { call, license, tenant } = yield* createShop
      yield* license("pro")
      yield* call("POST", "/customers", { name: "Acme" })
      yield* call("POST", "/instances", { name: "Prod", customerSlug: "acme", licenseSlug: "pro", ...term })
      const reader = yield* tokenWith(tenant, ["read:instances"])
      const stranger = yield* tokenWith(tenant, ["write:customers"])
      const body = { checks: [{ entitlement: "seats" }] }
      assert.strictEqual((yield* core("GET", "/instances/prod", { token: reader })).status, 200)
      assert.strictEqual((yield* core("POST", "/instances/prod/check", { token: reader, body })).status, 200)
      assert.strictEqual((yield* core("DELETE", "/instances/prod", { token: reader })).status, 403)
      assert.strictEqual((yield* core("GET", "/instances", { token: stranger })).status, 403)
      assert.strictEqual((yield* core("POST", "/instances/prod/check", { token: stranger, body })).status, 403)
    }),
  )
})
