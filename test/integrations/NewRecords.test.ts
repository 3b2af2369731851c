import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection, term } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { bare, HUBSPOT, openCrm, SALESFORCE, STRIPE } from "./Crm.ts"

const whole = {
  external_id: "4711",
  metadata: { tier: "gold" },
  web_url: "https://crm.example/4711",
  last_error: "Timed out",
  synced_at: "2026-01-31T09:00:00.000Z",
}

layer(TestService.layer, { excludeTestServices: true })("integration records", (it) => {
  it.effect("a customer and an instance are created with their records, and their one event has them", () =>
    Effect.gen(function* () {
      const { call, emitted, license } = yield* openCrm
      yield* license("pro")
      const integrations = { [SALESFORCE]: whole, [HUBSPOT]: { external_id: "h-1" } }
      const stored = { [SALESFORCE]: whole, [HUBSPOT]: bare("h-1") }
      const customer = yield* call("POST", "/customers", { name: "Acme", integrations })
      assert.strictEqual(customer.status, 201, customer.text)
      assert.deepStrictEqual(customer.body.integrations, stored)
      const instance = yield* call("POST", "/instances", {
        name: "Prod",
        customerSlug: "acme",
        licenseSlug: "pro",
        ...term,
        integrations,
      })
      assert.strictEqual(instance.status, 201, instance.text)
      assert.deepStrictEqual(instance.body.integrations, stored)
      assert.strictEqual(instance.body.customerSlug, "acme")
      assert.strictEqual(instance.body.licenseSlug, "pro")
      assert.deepStrictEqual((yield* call("GET", "/instances/prod")).body, instance.body)
      assert.deepStrictEqual(yield* emitted, [
        ["CUSTOMER_CREATION", customer.body],
        ["INSTANCE_CREATION", instance.body],
      ])
    }),
  )

  it.effect("a customer is not created if one of its records cannot be", () =>
    Effect.gen(function* () {
      const { call } = yield* openCrm
      yield* call("POST", "/customers", { name: "Acme", integrations: { [SALESFORCE]: { external_id: "1" } } })
      const cases = [
        [{ [SALESFORCE]: { external_id: "1" } }, 409, "CreateIntegration.ExternalIdTaken", []],
        [{ [HUBSPOT]: { external_id: "2" }, [STRIPE]: { external_id: "1" } }, 409, "Connector.NotActive", []],
        [{ nothing: { external_id: "1" } }, 422, "Request.ValidationFailed", ["body.integrations.nothing"]],
        [
          { [HUBSPOT]: { external_id: "", web_url: "ftp://x" } },
          422,
          "Request.ValidationFailed",
          [`body.integrations.${HUBSPOT}.external_id`, `body.integrations.${HUBSPOT}.web_url`],
        ],
      ] as const
      for (const [integrations, status, code, places] of cases) {
        const response = yield* call("POST", "/customers", { name: "Other", slug: "other", integrations })
        assert.deepStrictEqual(rejection(response), { status, code, places: [...places] })
      }
      assert.strictEqual((yield* call("GET", "/customers/other")).status, 404)
      const free = yield* call("POST", "/customers", { name: "B", integrations: { [HUBSPOT]: { external_id: "2" } } })
      assert.strictEqual(free.status, 201)
    }),
  )

  it.effect("of concurrent creations with the same external ids in any order, exactly one succeeds", () =>
    Effect.gen(function* () {
      const { call } = yield* openCrm
      const responses = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, n) => n),
        (n) => {
          const names = n % 2 === 0 ? [SALESFORCE, HUBSPOT] : [HUBSPOT, SALESFORCE]
          const integrations = Object.fromEntries(names.map((name) => [name, { external_id: "same" }]))
          return call("POST", "/customers", { name: `Acme ${n}`, integrations })
        },
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        responses.map(({ status }) => status).sort((left, right) => left - right),
        [201, ...Array<number>(7).fill(409)],
      )
    }),
  )

  it.effect("a POST and a PUT take all properties; a PUT leaves omitted ones, and null clears", () =>
    Effect.gen(function* () {
      const { call, customer } = yield* openCrm
      yield* customer("Acme")
      const path = `/customers/acme/integrations/${SALESFORCE}`
      assert.deepStrictEqual((yield* call("POST", path, whole)).body, whole)
      assert.deepStrictEqual((yield* call("PUT", path, { external_id: "4712" })).body, {
        ...whole,
        external_id: "4712",
      })
      const cleared = { ...bare("4712"), metadata: null }
      assert.deepStrictEqual((yield* call("PUT", path, cleared)).body, bare("4712"))
      assert.deepStrictEqual((yield* call("PUT", path, whole)).body, (yield* call("GET", path)).body)
    }),
  )

  it.effect("an upsert stores its error, and its result is read by the external id", () =>
    Effect.gen(function* () {
      const { call, license, upsertCustomer, upsertInstance } = yield* openCrm
      const { id: licenseId } = yield* license("pro")
      const customer = yield* upsertCustomer("a/1", { name: "Acme", error: "Quota exceeded" })
      assert.strictEqual(customer.body.error, "Quota exceeded")
      const read = yield* call("GET", "/integration/crm.salesforce/customer/a%2F1")
      assert.deepStrictEqual([read.status, read.body], [200, customer.body])
      const record = (yield* call("GET", "/customers/acme")).body.integrations[SALESFORCE]
      assert.strictEqual(record.last_error, "Quota exceeded")
      const instance = yield* upsertInstance("i", { customerExternalId: "a/1", licenseId })
      assert.deepStrictEqual((yield* call("GET", "/integration/crm.salesforce/instance/i")).body, instance.body)
      assert.strictEqual((yield* upsertCustomer("a/1", { error: "" })).body.error, "")
      for (const path of ["crm.salesforce/customer/i", "crm.hubspot/customer/a%2F1", "crm.salesforce/instance/x"]) {
        const missing = yield* call("GET", `/integration/${path}`)
        assert.deepStrictEqual([missing.status, missing.body.code], [404, "IntegrationRecord.NotFound"])
      }
    }),
  )
})
