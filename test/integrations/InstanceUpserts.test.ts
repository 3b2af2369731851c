import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection, term } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { openCrm, SALESFORCE } from "./Crm.ts"

const NOWHERE = "0199aaaa-0000-7000-8000-000000000000"

/** Opens a CRM with the license `pro` and the customer `acme`, whose external id is `c-1`. */
const openSold = Effect.gen(function* () {
  const crm = yield* openCrm
  const licenseId: string = (yield* crm.license("pro")).id
  yield* crm.upsertCustomer("c-1", { name: "Acme" })
  return { ...crm, licenseId, needed: { customerExternalId: "c-1", licenseId } }
})

layer(TestService.layer, { excludeTestServices: true })("upserts of instances", (it) => {
  it.effect("an unknown external id creates an instance, a known one updates it, and each upsert emits an event", () =>
    Effect.gen(function* () {
      const { call, needed, emitted, upsertCustomer, upsertInstance, zone } = yield* openSold
      const deploymentZoneId = (yield* zone("Hamburg")).id
      const created = yield* upsertInstance("i-1", {
        ...needed,
        ...term,
        name: "Prod",
        description: "The big one",
        deploymentZoneId,
        integrationMetadata: { a: 1 },
        webUrl: "https://crm.example/i-1",
      })
      assert.deepStrictEqual(
        [created.status, created.body],
        [
          200,
          {
            name: "Prod",
            slug: "prod",
            description: "The big one",
            ...needed,
            deploymentZoneId,
            ...term,
            endMaintenanceDate: null,
            error: "",
            integrationMetadata: { a: 1 },
            webUrl: "https://crm.example/i-1",
          },
        ],
      )
      const first = (yield* call("GET", "/instances/prod")).body
      assert.strictEqual(first.customerId, (yield* call("GET", "/customers/acme")).body.id)
      assert.strictEqual(first.integrations[SALESFORCE].external_id, "i-1")

      yield* upsertCustomer("c-2", { name: "Globex" })
      const changed = yield* upsertInstance("i-1", {
        customerExternalId: "c-2",
        description: null,
        deploymentZoneId: null,
        endLicenseDate: null,
        slug: "prod",
      })
      assert.deepStrictEqual(
        [changed.status, changed.body],
        [
          200,
          {
            ...created.body,
            customerExternalId: "c-2",
            description: null,
            deploymentZoneId: null,
            endLicenseDate: null,
          },
        ],
      )
      assert.deepStrictEqual((yield* upsertInstance("i-1")).body, changed.body)
      const last = (yield* call("GET", "/instances/prod")).body
      const events = (yield* emitted).filter(([type]: [string]) => type.startsWith("INSTANCE_"))
      assert.deepStrictEqual(
        [events.length, events[0], events[2]],
        [3, ["INSTANCE_CREATION", first], ["INSTANCE_UPDATED", last]],
      )
    }),
  )

  it.effect("a new instance requires customer and license; its term starts now and has no end", () =>
    Effect.gen(function* () {
      const { call, needed, upsertInstance } = yield* openSold
      const nothing = yield* upsertInstance("i-1", {})
      assert.deepStrictEqual(rejection(nothing), {
        status: 422,
        code: "Request.ValidationFailed",
        places: ["body.customerExternalId", "body.licenseId"],
      })
      const before = new Date().toISOString()
      const created = (yield* upsertInstance("i-1", needed)).body
      assert.deepStrictEqual([created.name, created.slug, created.endLicenseDate], ["i-1", "i-1", null])
      assert.isTrue(created.startLicenseDate >= before && created.startLicenseDate <= new Date().toISOString())
      const check = yield* call("POST", "/instances/i-1/check", { checks: [{ entitlement: "seats" }] })
      assert.strictEqual(check.status, 200)
    }),
  )

  it.effect("unknown names are rejected with their location", () =>
    Effect.gen(function* () {
      const { call, customer, needed, upsertCustomer, upsertInstance } = yield* openSold
      const stranger = yield* openSold
      yield* customer("Unlinked")
      yield* upsertCustomer("h-1", {}, "crm.hubspot")
      yield* stranger.upsertCustomer("foreign")
      const cases: ReadonlyArray<[object, string]> = [
        [{ ...needed, customerExternalId: "none" }, "body.customerExternalId"],
        [{ ...needed, customerExternalId: "unlinked" }, "body.customerExternalId"],
        [{ ...needed, customerExternalId: "h-1" }, "body.customerExternalId"],
        [{ ...needed, customerExternalId: "foreign" }, "body.customerExternalId"],
        [{ ...needed, customerExternalId: null }, "body.customerExternalId"],
        [{ ...needed, licenseId: stranger.licenseId }, "body.licenseId"],
        [{ ...needed, licenseId: "pro" }, "body.licenseId"],
        [{ ...needed, deploymentZoneId: NOWHERE }, "body.deploymentZoneId"],
        [{ ...needed, startLicenseDate: null }, "body.startLicenseDate"],
        [{ ...needed, startLicenseDate: "2026-02-30T00:00:00Z" }, "body.startLicenseDate"],
        [{ ...needed, endLicenseDate: "2001-01-01T00:00:00Z" }, "body.endLicenseDate"],
        [{ ...needed, metadata: {} }, "body.metadata"],
        [{ ...needed, customerId: NOWHERE }, "body.customerId"],
      ]
      for (const [body, place] of cases) {
        const response = yield* upsertInstance("i-1", body)
        assert.deepStrictEqual([response.status, rejection(response).places], [422, [place]], JSON.stringify(body))
      }
      assert.deepStrictEqual((yield* call("GET", "/instances")).body.items, [])
      yield* upsertInstance("i-1", needed)
      for (const [body, place] of cases.filter(([, place]) => place !== "body.endLicenseDate")) {
        const { customerExternalId, licenseId, ...rest } = body as Record<string, unknown>
        const only = {
          ...rest,
          ...(place.includes("customerE") ? { customerExternalId } : {}),
          ...(place.includes("license") ? { licenseId } : {}),
        }
        assert.deepStrictEqual(rejection(yield* upsertInstance("i-1", only)).places, [place], JSON.stringify(only))
      }
    }),
  )

  it.effect("an instance keeps an archived license, which cannot be assigned", () =>
    Effect.gen(function* () {
      const { archive, license, needed, upsertInstance } = yield* openSold
      const old = (yield* license("old")).id
      yield* upsertInstance("i-1", { ...needed, licenseId: old })
      yield* archive("old")
      const unchanged = yield* upsertInstance("i-1", { licenseId: old, name: "Unchanged" })
      assert.deepStrictEqual([unchanged.status, unchanged.body.name], [200, "Unchanged"])
      const created = yield* upsertInstance("i-2", { ...needed, licenseId: old })
      assert.deepStrictEqual([created.status, created.body.code], [409, "UpsertInstance.LicenseArchived"])
      yield* upsertInstance("i-1", { licenseId: needed.licenseId })
      const back = yield* upsertInstance("i-1", { licenseId: old })
      assert.deepStrictEqual([back.status, back.body.code], [409, "UpsertInstance.LicenseArchived"])
    }),
  )

  it.effect("a taken slug is rejected at creation, and a slug cannot change", () =>
    Effect.gen(function* () {
      const { needed, upsertInstance } = yield* openSold
      yield* upsertInstance("i-1", { ...needed, slug: "prod" })
      const taken = yield* upsertInstance("i-2", { ...needed, slug: "prod" })
      assert.deepStrictEqual([taken.status, taken.body.code], [409, "UpsertInstance.SlugTaken"])
      assert.deepStrictEqual(rejection(yield* upsertInstance("i-1", { slug: "other" })).places, ["body.slug"])
    }),
  )

  it.effect("customerExternalId is null if the customer has no record in the adapter", () =>
    Effect.gen(function* () {
      const { call, needed, upsertInstance } = yield* openSold
      yield* upsertInstance("i-1", needed)
      yield* call("DELETE", `/customers/acme/integrations/${SALESFORCE}`)
      assert.strictEqual((yield* upsertInstance("i-1")).body.customerExternalId, null)
    }),
  )

  it.effect("fifty concurrent upserts of a new external id all succeed and create one instance", () =>
    Effect.gen(function* () {
      const { call, needed, emitted, upsertInstance } = yield* openSold
      const responses = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, index) => index),
        (index) => upsertInstance("i-1", { ...needed, integrationMetadata: { [`k${index}`]: index } }),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual([...new Set(responses.map(({ status }) => status))], [200])
      const { items } = (yield* call("GET", "/instances")).body
      assert.strictEqual(items.length, 1)
      assert.strictEqual(Object.keys(items[0].integrations[SALESFORCE].metadata).length, 50)
      const creations = (yield* emitted).filter(([type]: [string]) => type === "INSTANCE_CREATION")
      assert.strictEqual(creations.length, 1)
    }),
  )

  it.effect("a customer and an instance can have the same external id", () =>
    Effect.gen(function* () {
      const { needed, upsertInstance } = yield* openSold
      const response = yield* upsertInstance("c-1", needed)
      assert.deepStrictEqual([response.status, response.body.customerExternalId], [200, "c-1"])
    }),
  )
})
