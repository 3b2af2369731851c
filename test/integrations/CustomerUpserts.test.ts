import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { openCrm, SALESFORCE } from "./Crm.ts"

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

layer(TestService.layer, { excludeTestServices: true })("upserts of customers", (it) => {
  it.effect("an unknown external id creates a customer, a known one updates it, and each upsert emits an event", () =>
    Effect.gen(function* () {
      const { call, emitted, upsertCustomer } = yield* openCrm
      const created = yield* upsertCustomer("001", {
        name: "Acme",
        domain: "acme.example",
        integrationMetadata: { tier: "gold", seats: 3 },
        webUrl: "https://crm.example/001",
      })
      assert.deepStrictEqual(
        [created.status, created.body],
        [
          200,
          {
            name: "Acme",
            slug: "acme",
            domain: "acme.example",
            error: "",
            integrationMetadata: { tier: "gold", seats: 3 },
            webUrl: "https://crm.example/001",
          },
        ],
      )
      const first = (yield* call("GET", "/customers/acme")).body
      const { synced_at, ...record } = first.integrations[SALESFORCE]
      assert.match(synced_at, ISO)
      assert.strictEqual(first.externalCustomerId, null)
      assert.deepStrictEqual(record, {
        external_id: "001",
        last_error: null,
        metadata: { tier: "gold", seats: 3 },
        web_url: "https://crm.example/001",
      })

      const changed = yield* upsertCustomer("001", { name: "Acme Ltd.", slug: "acme" })
      assert.deepStrictEqual([changed.status, changed.body], [200, { ...created.body, name: "Acme Ltd." }])
      const untouched = yield* upsertCustomer("001")
      assert.deepStrictEqual(untouched.body, changed.body)
      const cleared = yield* upsertCustomer("001", { domain: null, webUrl: null, integrationMetadata: null })
      assert.deepStrictEqual(cleared.body, { ...changed.body, domain: null, webUrl: null, integrationMetadata: {} })

      const last = (yield* call("GET", "/customers/acme")).body
      assert.isTrue(last.integrations[SALESFORCE].synced_at >= synced_at)
      const events = yield* emitted
      assert.deepStrictEqual(
        events.map(([type]: [string]) => type),
        ["CUSTOMER_CREATION", "CUSTOMER_UPDATED", "CUSTOMER_UPDATED", "CUSTOMER_UPDATED"],
      )
      assert.deepStrictEqual([events[0][1], events[3][1]], [first, last])
    }),
  )

  it.effect("a customer linked by slug is found by its external id, and PUT keeps the metadata of the record", () =>
    Effect.gen(function* () {
      const { call, customer, upsertCustomer } = yield* openCrm
      yield* customer("Acme")
      const path = `/customers/acme/integrations/${SALESFORCE}`
      yield* call("POST", path, { external_id: "001" })
      const changed = yield* upsertCustomer("001", { integrationMetadata: { a: 1 }, webUrl: "http://crm.example/1" })
      assert.deepStrictEqual([changed.status, changed.body.slug], [200, "acme"])
      const moved = (yield* call("PUT", path, { external_id: "002" })).body
      assert.deepStrictEqual([moved.metadata, moved.web_url], [{ a: 1 }, "http://crm.example/1"])
      assert.match(moved.synced_at, ISO)
      assert.strictEqual((yield* upsertCustomer("002")).body.slug, "acme")
      assert.strictEqual((yield* upsertCustomer("001")).body.slug, "001")
      yield* call("DELETE", "/customers/acme")
      assert.strictEqual((yield* upsertCustomer("002", { slug: "acme-again" })).body.slug, "acme-again")
    }),
  )

  it.effect("an upsert returns the last error of the record and keeps it", () =>
    Effect.gen(function* () {
      const { call, tenant, upsertCustomer } = yield* openCrm
      const sql = yield* PgClient.PgClient
      yield* upsertCustomer("001", { name: "Acme" })
      yield* sql`UPDATE integration_records SET last_error = 'timeout' WHERE organization_id = ${tenant.organizationId}`
      assert.strictEqual((yield* upsertCustomer("001", { domain: "acme.example" })).body.error, "timeout")
      assert.strictEqual((yield* call("GET", "/customers/acme")).body.integrations[SALESFORCE].last_error, "timeout")
    }),
  )

  it.effect("the name of a new customer defaults to the external id", () =>
    Effect.gen(function* () {
      const { upsertCustomer } = yield* openCrm
      const named = (yield* upsertCustomer("Órg 7")).body
      assert.deepStrictEqual([named.name, named.slug], ["Órg 7", "org-7"])
      const script = (yield* upsertCustomer("顧客")).body
      assert.deepStrictEqual([script.name, script.slug], ["顧客", "customer"])
    }),
  )

  it.effect("metadata is merged shallowly: null removes a key, arrays and objects are replaced", () =>
    Effect.gen(function* () {
      const { upsertCustomer } = yield* openCrm
      const after = (integrationMetadata: object) =>
        Effect.map(upsertCustomer("001", { integrationMetadata }), ({ body }) => body.integrationMetadata)
      yield* after({ a: 1, b: { c: 1, d: null }, e: [1, 2] })
      assert.deepStrictEqual(yield* after({ a: null, b: { d: 2 }, f: "x" }), { b: { d: 2 }, e: [1, 2], f: "x" })
      assert.deepStrictEqual(yield* after({}), { b: { d: 2 }, e: [1, 2], f: "x" })
    }),
  )

  it.effect("merged metadata that exceeds the limits is rejected", () =>
    Effect.gen(function* () {
      const { upsertCustomer } = yield* openCrm
      const keys = (from: number, count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, index]))
      assert.strictEqual((yield* upsertCustomer("001", { integrationMetadata: keys(0, 64) })).status, 200)
      const one = yield* upsertCustomer("001", { integrationMetadata: keys(64, 1) })
      assert.deepStrictEqual([one.status, rejection(one).places], [422, ["body.integrationMetadata"]])
      assert.strictEqual((yield* upsertCustomer("001", { integrationMetadata: { k0: null, k64: 1 } })).status, 200)
      const deep = yield* upsertCustomer("001", { integrationMetadata: { k1: { b: { c: { d: {} } } } } })
      assert.deepStrictEqual(rejection(deep).places, ["body.integrationMetadata"])
      const large = yield* upsertCustomer("002", { integrationMetadata: { a: "x".repeat(17_000) } })
      assert.deepStrictEqual(rejection(large).places, ["body.integrationMetadata"])
      yield* upsertCustomer("002", { integrationMetadata: { a: "x".repeat(9_000) } })
      const grown = yield* upsertCustomer("002", { integrationMetadata: { b: "x".repeat(9_000) } })
      assert.deepStrictEqual(rejection(grown).places, ["body.integrationMetadata"])
    }),
  )

  it.effect("a taken slug is rejected at creation, and a slug cannot change", () =>
    Effect.gen(function* () {
      const { call, customer, upsertCustomer } = yield* openCrm
      yield* customer("Acme")
      const taken = yield* upsertCustomer("001", { slug: "acme" })
      assert.deepStrictEqual([taken.status, taken.body.code], [409, "UpsertCustomer.SlugTaken"])
      assert.match((yield* upsertCustomer("001", { name: "Acme" })).body.slug, /^acme-[a-z0-9]{6}$/)
      yield* upsertCustomer("002", { slug: "globex" })
      const other = yield* upsertCustomer("002", { slug: "initech", name: "Renamed" })
      assert.deepStrictEqual(rejection(other), { status: 422, code: "Request.ValidationFailed", places: ["body.slug"] })
      assert.strictEqual((yield* call("GET", "/customers/globex")).body.name, "002")
    }),
  )

  it.effect("an invalid upsert is rejected with its location and creates nothing", () =>
    Effect.gen(function* () {
      const { call, upsertCustomer } = yield* openCrm
      const bad: ReadonlyArray<[object, string]> = [
        [{ error: 1 }, "body.error"],
        [{ externalCustomerId: "x" }, "body.externalCustomerId"],
        [{ name: null }, "body.name"],
        [{ slug: null }, "body.slug"],
        [{ slug: "No Slug" }, "body.slug"],
        [{ webUrl: "javascript:alert(1)" }, "body.webUrl"],
        [{ webUrl: "ftp://crm.example" }, "body.webUrl"],
        [{ webUrl: "/relative" }, "body.webUrl"],
        [{ webUrl: `https://crm.example/${"x".repeat(2040)}` }, "body.webUrl"],
        [{ integrationMetadata: [] }, "body.integrationMetadata"],
      ]
      for (const [body, place] of bad) {
        const response = yield* upsertCustomer("001", body)
        assert.deepStrictEqual([response.status, rejection(response).places], [422, [place]], JSON.stringify(body))
      }
      for (const adapter of ["salesforce", SALESFORCE, "CRM.salesforce", "crm."]) {
        const response = yield* upsertCustomer("001", {}, adapter)
        assert.deepStrictEqual([response.status, rejection(response).places], [422, ["path.adapter"]], adapter)
      }
      assert.deepStrictEqual((yield* call("GET", "/customers")).body.items, [])
    }),
  )

  it.effect("an upsert requires a registered and active connector, and otherwise creates nothing", () =>
    Effect.gen(function* () {
      const { call, upsertCustomer } = yield* openCrm
      const unknown = yield* upsertCustomer("001", {}, "crm.unknown")
      assert.deepStrictEqual([unknown.status, unknown.body.code], [404, "Connector.NotFound"])
      const inactive = yield* upsertCustomer("001", {}, "billing.stripe")
      assert.deepStrictEqual([inactive.status, inactive.body.code], [409, "Connector.NotActive"])
      assert.deepStrictEqual((yield* call("GET", "/customers")).body.items, [])
    }),
  )

  it.effect("external ids are scoped to adapter and organization", () =>
    Effect.gen(function* () {
      const { call, upsertCustomer } = yield* openCrm
      const stranger = yield* openCrm
      yield* upsertCustomer("001", { name: "Acme" })
      yield* upsertCustomer("001", { name: "Globex" }, "crm.hubspot")
      yield* stranger.upsertCustomer("001", { name: "Foreign" })
      const names = (page: { body: { items: ReadonlyArray<{ name: string }> } }) =>
        page.body.items.map(({ name }) => name)
      assert.deepStrictEqual(names(yield* call("GET", "/customers")), ["Globex", "Acme"])
      assert.deepStrictEqual(names(yield* stranger.call("GET", "/customers")), ["Foreign"])
    }),
  )

  it.effect("fifty concurrent upserts of a new external id all succeed and create one customer", () =>
    Effect.gen(function* () {
      const { call, emitted, upsertCustomer } = yield* openCrm
      const responses = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, index) => index),
        (index) => upsertCustomer("001", { integrationMetadata: { [`k${index}`]: index } }),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual([...new Set(responses.map(({ status }) => status))], [200])
      assert.deepStrictEqual([...new Set(responses.map(({ body }) => body.slug))], ["001"])
      const { items } = (yield* call("GET", "/customers")).body
      assert.strictEqual(items.length, 1)
      assert.strictEqual(Object.keys(items[0].integrations[SALESFORCE].metadata).length, 50)
      const types = (yield* emitted).map(([type]: [string]) => type)
      assert.deepStrictEqual(
        [types.length, types.indexOf("CUSTOMER_CREATION"), types.lastIndexOf("CUSTOMER_CREATION")],
        [50, 0, 0],
      )
    }),
  )

  it.effect("concurrent upserts, moves and deletions of one external id leave no partial state", () =>
    Effect.gen(function* () {
      const { call, upsertCustomer } = yield* openCrm
      for (let round = 0; round < 8; round++) {
        const externalId = `round ${round}`
        const { slug } = (yield* upsertCustomer(externalId)).body
        const path = `/customers/${slug}/integrations/${SALESFORCE}`
        const responses = yield* Effect.all(
          [
            upsertCustomer(externalId, { name: "One" }),
            call("PUT", path, { external_id: `${externalId}, moved` }),
            upsertCustomer(externalId, { name: "Two" }),
            call("DELETE", `/customers/${slug}`),
            upsertCustomer(externalId, { name: "Three" }),
          ],
          { concurrency: "unbounded" },
        )
        const [one, moved, two, deleted, three] = responses.map(({ status }) => status)
        assert.deepStrictEqual([one, two, deleted, three], [200, 200, 204, 200])
        assert.include([200, 404], moved)
      }
    }),
  )
})
