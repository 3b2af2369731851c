import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { bare, HUBSPOT, openCrm, SALESFORCE, STRIPE } from "./Crm.ts"

const UNKNOWN = "service.integration.crm.unknown"

layer(TestService.layer, { excludeTestServices: true })("integration records", (it) => {
  it.effect("a customer's record is created, changed, read and deleted, and each change emits a customer event", () =>
    Effect.gen(function* () {
      const { call, customer, emitted } = yield* openCrm
      yield* customer("Acme")
      const path = `/customers/acme/integrations/${SALESFORCE}`
      const created = yield* call("POST", path, { external_id: "001" })
      assert.deepStrictEqual([created.status, created.body], [201, bare("001")])
      assert.strictEqual(created.headers.get("location"), `/api${path}`)
      const read = yield* call("GET", path)
      assert.deepStrictEqual([read.status, read.body], [200, bare("001")])
      const withOne = (yield* call("GET", "/customers/acme")).body
      assert.deepStrictEqual(withOne.integrations, { [SALESFORCE]: bare("001") })

      const changed = yield* call("PUT", path, { external_id: "002" })
      assert.deepStrictEqual([changed.status, changed.body], [200, bare("002")])
      const other = yield* call("PUT", `/customers/acme/integrations/${HUBSPOT}`, { external_id: "002" })
      assert.deepStrictEqual([other.status, other.body], [200, bare("002")])
      const withTwo = (yield* call("GET", "/customers/acme")).body
      assert.deepStrictEqual(withTwo.integrations, { [HUBSPOT]: bare("002"), [SALESFORCE]: bare("002") })
      assert.deepStrictEqual((yield* call("GET", "/customers")).body.items, [withTwo])

      const removed = yield* call("DELETE", path)
      assert.deepStrictEqual([removed.status, removed.text], [204, ""])
      for (const method of ["GET", "DELETE"]) {
        assert.deepStrictEqual(rejection(yield* call(method, path)), {
          status: 404,
          code: "IntegrationRecord.NotFound",
          places: [],
        })
      }
      const withHubspot = (yield* call("GET", "/customers/acme")).body
      assert.deepStrictEqual(withHubspot.integrations, { [HUBSPOT]: bare("002") })
      const renamed = (yield* call("PATCH", "/customers/acme", { name: "Acme Ltd." })).body
      assert.deepStrictEqual(renamed.integrations, { [HUBSPOT]: bare("002") })
      assert.strictEqual((yield* call("DELETE", "/customers/acme")).status, 204)

      const events = yield* emitted
      assert.deepStrictEqual(
        events.map(([type]: [string]) => type),
        ["CUSTOMER_CREATION", ...Array(5).fill("CUSTOMER_UPDATED"), "CUSTOMER_DELETED"],
      )
      assert.deepStrictEqual(
        [1, 3, 4, 5, 6].map((index) => events[index][1]),
        [withOne, withTwo, withHubspot, renamed, renamed],
      )
    }),
  )

  it.effect("an instance's record is created, changed, read and deleted, and each change emits an instance event", () =>
    Effect.gen(function* () {
      const { call, customer, instance, license, emitted } = yield* openCrm
      yield* license("pro")
      yield* customer("Acme")
      yield* instance("Prod", "acme", "pro")
      const path = `/instances/prod/integrations/${SALESFORCE}`
      const created = yield* call("POST", path, { external_id: "i-1" })
      assert.deepStrictEqual([created.status, created.body], [201, bare("i-1")])
      assert.strictEqual(created.headers.get("location"), `/api${path}`)
      assert.deepStrictEqual((yield* call("PUT", path, { external_id: "i-2" })).body, bare("i-2"))
      assert.deepStrictEqual((yield* call("GET", path)).body, bare("i-2"))
      const record = (yield* call("GET", "/instances/prod")).body
      assert.deepStrictEqual(record.integrations, { [SALESFORCE]: bare("i-2") })
      assert.deepStrictEqual((yield* call("GET", "/instances?customer=acme")).body.items, [record])
      assert.deepStrictEqual((yield* emitted).at(-1), ["INSTANCE_UPDATED", record])
      assert.strictEqual((yield* call("DELETE", path)).status, 204)
      assert.strictEqual((yield* call("DELETE", path)).body.code, "IntegrationRecord.NotFound")
      assert.deepStrictEqual((yield* call("GET", "/instances/prod")).body.integrations, {})
    }),
  )

  it.effect("records are listed newest first, page by page, with their connector names", () =>
    Effect.gen(function* () {
      const { call, customer } = yield* openCrm
      yield* customer("Acme")
      yield* customer("Globex")
      yield* call("POST", `/customers/acme/integrations/${SALESFORCE}`, { external_id: "1" })
      yield* call("POST", `/customers/acme/integrations/${HUBSPOT}`, { external_id: "2" })
      yield* call("POST", `/customers/globex/integrations/${HUBSPOT}`, { external_id: "3" })
      const all = (yield* call("GET", "/customers/acme/integrations")).body
      const [second, first] = [
        { integrationName: HUBSPOT, ...bare("2") },
        { integrationName: SALESFORCE, ...bare("1") },
      ]
      assert.deepStrictEqual(all, { items: [second, first], hasMore: false, nextCursor: "" })
      const page = (yield* call("GET", "/customers/acme/integrations?limit=1")).body
      assert.deepStrictEqual([page.items, page.hasMore], [[second], true])
      const rest = (yield* call("GET", `/customers/acme/integrations?cursor=${page.nextCursor}`)).body
      assert.deepStrictEqual([rest.items, rest.hasMore], [[first], false])
      const elsewhere = yield* call("GET", `/customers/globex/integrations?cursor=${page.nextCursor}`)
      assert.deepStrictEqual([elsewhere.status, elsewhere.body.code], [400, "Request.InvalidCursor"])
    }),
  )

  it.effect("a customer has one record per connector, and an external id belongs to one customer", () =>
    Effect.gen(function* () {
      const { call, customer, instance, license } = yield* openCrm
      const other = yield* openCrm
      yield* license("pro")
      for (const name of ["Acme", "Globex"]) yield* customer(name)
      yield* instance("Prod", "acme", "pro")
      yield* other.customer("Acme")
      const body = { external_id: "001" }
      const code = ({ body, status }: { readonly body: { readonly code: string }; readonly status: number }) => [
        status,
        body.code,
      ]
      assert.strictEqual((yield* call("POST", `/customers/acme/integrations/${SALESFORCE}`, body)).status, 201)
      for (const external_id of ["001", "002"]) {
        const again = yield* call("POST", `/customers/acme/integrations/${SALESFORCE}`, { external_id })
        assert.deepStrictEqual(code(again), [409, "CreateIntegration.AlreadyExists"])
      }
      const posted = yield* call("POST", `/customers/globex/integrations/${SALESFORCE}`, body)
      assert.deepStrictEqual(code(posted), [409, "CreateIntegration.ExternalIdTaken"])
      const put = yield* call("PUT", `/customers/globex/integrations/${SALESFORCE}`, body)
      assert.deepStrictEqual(code(put), [409, "UpdateIntegration.ExternalIdTaken"])
      assert.strictEqual((yield* call("PUT", `/customers/acme/integrations/${SALESFORCE}`, body)).status, 200)

      // External ids are scoped to adapter, kind and organization.
      assert.strictEqual((yield* call("POST", `/customers/globex/integrations/${HUBSPOT}`, body)).status, 201)
      assert.strictEqual((yield* call("POST", `/instances/prod/integrations/${SALESFORCE}`, body)).status, 201)
      assert.strictEqual((yield* other.call("POST", `/customers/acme/integrations/${SALESFORCE}`, body)).status, 201)

      yield* call("DELETE", `/customers/acme/integrations/${SALESFORCE}`)
      assert.strictEqual((yield* call("PUT", `/customers/globex/integrations/${SALESFORCE}`, body)).status, 200)
    }),
  )

  it.effect("of concurrent assignments of one external id to different customers, exactly one succeeds", () =>
    Effect.gen(function* () {
      const { call, customer } = yield* openCrm
      const names = Array.from({ length: 10 }, (_, index) => `customer-${index}`)
      for (const name of names) yield* customer(name)
      const responses = yield* Effect.forEach(
        names,
        (name) => call("PUT", `/customers/${name}/integrations/${SALESFORCE}`, { external_id: "001" }),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(responses.filter(({ status }) => status === 200).length, 1)
      assert.strictEqual(responses.filter(({ body }) => body.code === "UpdateIntegration.ExternalIdTaken").length, 9)
    }),
  )

  it.effect("two records written concurrently are both in the customer and in the last event", () =>
    Effect.gen(function* () {
      const { call, customer, emitted } = yield* openCrm
      for (let round = 0; round < 5; round++) {
        yield* customer(`Customer ${round}`)
        yield* Effect.forEach(
          [SALESFORCE, HUBSPOT],
          (name) => call("PUT", `/customers/customer-${round}/integrations/${name}`, { external_id: `${round}` }),
          { concurrency: "unbounded" },
        )
        const both = { [HUBSPOT]: bare(`${round}`), [SALESFORCE]: bare(`${round}`) }
        assert.deepStrictEqual((yield* call("GET", `/customers/customer-${round}`)).body.integrations, both)
        assert.deepStrictEqual((yield* emitted).at(-1)[1].integrations, both)
      }
    }),
  )

  it.effect("writing requires a registered and active connector, reading and deleting do not", () =>
    Effect.gen(function* () {
      const { call, customer } = yield* openCrm
      yield* customer("Acme")
      const body = { external_id: "001" }
      for (const method of ["POST", "PUT"]) {
        const unknown = yield* call(method, `/customers/acme/integrations/${UNKNOWN}`, body)
        assert.deepStrictEqual([unknown.status, unknown.body.code], [404, "Connector.NotFound"])
        const inactive = yield* call(method, `/customers/acme/integrations/${STRIPE}`, body)
        assert.deepStrictEqual([inactive.status, inactive.body.code], [409, "Connector.NotActive"])
      }
      for (const name of [SALESFORCE, HUBSPOT]) yield* call("POST", `/customers/acme/integrations/${name}`, body)
      for (const name of [SALESFORCE, HUBSPOT]) yield* call("DELETE", `/connectors/${name}/activation`)
      const rejected = yield* call("PUT", `/customers/acme/integrations/${SALESFORCE}`, body)
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "Connector.NotActive"])
      assert.strictEqual((yield* call("GET", `/customers/acme/integrations/${SALESFORCE}`)).status, 200)
      assert.strictEqual((yield* call("GET", "/customers/acme/integrations")).body.items.length, 2)
      assert.strictEqual((yield* call("DELETE", `/customers/acme/integrations/${SALESFORCE}`)).status, 204)
      assert.deepStrictEqual(Object.keys((yield* call("GET", "/customers/acme")).body.integrations), [HUBSPOT])
      const never = yield* call("GET", `/customers/acme/integrations/${UNKNOWN}`)
      assert.deepStrictEqual([never.status, never.body.code], [404, "IntegrationRecord.NotFound"])
    }),
  )

  it.effect("an invalid name or external id is rejected with its location", () =>
    Effect.gen(function* () {
      const { call, customer } = yield* openCrm
      yield* customer("Acme")
      for (const name of [
        "crm.salesforce",
        "service.integration.crm",
        "service.integration.CRM.x",
        "service.other.a.b",
      ]) {
        for (const method of ["GET", "PUT", "DELETE"]) {
          const body = method === "PUT" ? { external_id: "1" } : undefined
          const response = yield* call(method, `/customers/acme/integrations/${name}`, body)
          assert.deepStrictEqual(rejection(response).places, ["path.integrationName"])
          assert.strictEqual(response.status, 422)
        }
      }
      for (const body of [
        {},
        { external_id: "" },
        { external_id: "x".repeat(256) },
        { external_id: "a\u0000" },
        { external_id: null },
      ]) {
        const response = yield* call("POST", `/customers/acme/integrations/${SALESFORCE}`, body)
        assert.deepStrictEqual([response.status, rejection(response).places], [422, ["body.external_id"]])
      }
      const more = yield* call("PUT", `/customers/acme/integrations/${SALESFORCE}`, { external_id: "1", web_url: "x" })
      assert.deepStrictEqual(rejection(more).places, ["body.web_url"])
    }),
  )

  it.effect("deleting a customer or an instance deletes its records", () =>
    Effect.gen(function* () {
      const { call, customer, instance, license, tenant } = yield* openCrm
      const sql = yield* PgClient.PgClient
      const rows = sql`SELECT kind FROM integration_records WHERE organization_id = ${tenant.organizationId} ORDER BY 1`
      yield* license("pro")
      yield* customer("Acme")
      yield* instance("Prod", "acme", "pro")
      yield* call("POST", `/customers/acme/integrations/${SALESFORCE}`, { external_id: "1" })
      yield* call("POST", `/instances/prod/integrations/${SALESFORCE}`, { external_id: "1" })
      assert.deepStrictEqual(yield* rows, [{ kind: "CUSTOMER" }, { kind: "INSTANCE" }])
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      assert.deepStrictEqual(yield* rows, [{ kind: "CUSTOMER" }])
      assert.strictEqual((yield* call("DELETE", "/customers/acme")).status, 204)
      assert.deepStrictEqual(yield* rows, [])
      yield* customer("Globex")
      const reused = yield* call("POST", `/customers/globex/integrations/${SALESFORCE}`, { external_id: "1" })
      assert.strictEqual(reused.status, 201)
    }),
  )

  it.effect("a record of another organization is not found", () =>
    Effect.gen(function* () {
      const owner = yield* openCrm
      const stranger = yield* openCrm
      yield* owner.customer("Acme")
      yield* owner.call("POST", `/customers/acme/integrations/${SALESFORCE}`, { external_id: "1" })
      for (const [method, body] of [
        ["GET"],
        ["POST", { external_id: "2" }],
        ["PUT", { external_id: "2" }],
        ["DELETE"],
      ] as const) {
        const response = yield* stranger.call(method, `/customers/acme/integrations/${SALESFORCE}`, body)
        assert.deepStrictEqual([response.status, response.body.code], [404, "Customer.NotFound"])
      }
      assert.strictEqual((yield* stranger.call("GET", "/customers/acme/integrations")).body.code, "Customer.NotFound")
      yield* stranger.customer("Acme")
      assert.deepStrictEqual((yield* stranger.call("GET", "/customers/acme")).body.integrations, {})
    }),
  )

  it.effect("reading requires read:customers, writing requires write:customers", () =>
    Effect.gen(function* () {
      const { core, tokenWith } = yield* TestService
      const { call, customer, tenant } = yield* openCrm
      yield* customer("Acme")
      yield* call("POST", `/customers/acme/integrations/${SALESFORCE}`, { external_id: "1" })
      const path = `/customers/acme/integrations/${SALESFORCE}`
      const reader = yield* tokenWith(tenant, ["read:customers"])
      const stranger = yield* tokenWith(tenant, ["write:instances"])
      const body = { external_id: "2" }
      assert.strictEqual((yield* core("GET", path, { token: reader })).status, 200)
      assert.strictEqual((yield* core("PUT", path, { token: reader, body })).status, 403)
      assert.strictEqual((yield* core("GET", path, { token: stranger })).status, 403)
      const upsert = "/integration/crm.salesforce/customer/1"
      assert.strictEqual((yield* core("PATCH", upsert, { token: stranger, body: {} })).status, 403)
    }),
  )

  it.effect("a POST retried with its idempotency key is replayed and writes once", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { customer, tenant, emitted } = yield* openCrm
      yield* customer("Acme")
      const post = () =>
        core("POST", `/customers/acme/integrations/${SALESFORCE}`, {
          token: tenant.token,
          body: { external_id: "1" },
          headers: { "idempotency-key": "once" },
        })
      const first = yield* post()
      const second = yield* post()
      assert.deepStrictEqual([first.status, second.status, second.body], [201, 201, first.body])
      assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
      assert.strictEqual((yield* emitted).length, 2)
    }),
  )
})
