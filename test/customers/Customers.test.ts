import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Customer } from "../../src/domains/customers/Model.ts"
import { TestService } from "../support/TestService.ts"

layer(TestService.layer, { excludeTestServices: true })("customers", (it) => {
  it.effect("a customer is created, read, changed and deleted, and each change emits an event", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/customers", {
        token,
        body: { name: "Åcme Ltd.", domain: "acme.example", externalCustomerId: "crm-1" },
      })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), "/api/customers/acme-ltd")
      assert.deepStrictEqual(created.body, {
        id: created.body.id,
        name: "Åcme Ltd.",
        slug: "acme-ltd",
        domain: "acme.example",
        externalCustomerId: "crm-1",
        integrations: {},
        createdAt: created.body.createdAt,
        updatedAt: created.body.createdAt,
        createdBy: { id: "00000000-0000-7000-8000-000000000001", name: "system:platform" },
        updatedBy: { id: "00000000-0000-7000-8000-000000000001", name: "system:platform" },
      })
      const read = yield* core("GET", "/customers/acme-ltd", { token })
      assert.deepStrictEqual(read.body, created.body)
      yield* Schema.decodeUnknownEffect(Schema.toCodecJson(Customer), { onExcessProperty: "error" })(read.body)

      const changed = yield* core("PATCH", "/customers/acme-ltd", { token, body: { name: "Acme", domain: null } })
      assert.strictEqual(changed.status, 200)
      assert.deepStrictEqual(changed.body, {
        ...created.body,
        name: "Acme",
        domain: null,
        updatedAt: changed.body.updatedAt,
      })
      assert.deepStrictEqual((yield* core("GET", "/customers/acme-ltd", { token })).body, changed.body)

      assert.strictEqual((yield* core("DELETE", "/customers/acme-ltd", { token })).status, 204)
      const gone = yield* core("GET", "/customers/acme-ltd", { token })
      assert.deepStrictEqual([gone.status, gone.body.code], [404, "Customer.NotFound"])

      const events = (yield* core("GET", "/events", { token })).body.items.slice(1)
      assert.deepStrictEqual(
        events.map((event: { type: string }) => event.type),
        ["CUSTOMER_CREATION", "CUSTOMER_UPDATED", "CUSTOMER_DELETED"],
      )
      assert.deepStrictEqual(events[1].data, changed.body)
      assert.deepStrictEqual(events[2].data, changed.body)
    }),
  )

  it.effect("a taken slug is rejected if explicit, and gets a suffix if generated", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      assert.strictEqual((yield* core("POST", "/customers", { token, body: { name: "Acme" } })).body.slug, "acme")
      const rejected = yield* core("POST", "/customers", { token, body: { name: "Other", slug: "acme" } })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "CreateCustomer.SlugTaken"])
      const suffixed = yield* core("POST", "/customers", { token, body: { name: "ACME" } })
      assert.match(suffixed.body.slug, /^acme-[a-z0-9]{6}$/)
    }),
  )

  it.effect("an external id is unique within an organization", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "First", externalCustomerId: "crm-1" }
      assert.strictEqual((yield* core("POST", "/customers", { token, body })).status, 201)
      const rejected = yield* core("POST", "/customers", { token, body: { ...body, name: "Second" } })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "CreateCustomer.ExternalIdTaken"])

      yield* core("POST", "/customers", { token, body: { name: "Second" } })
      const externalCustomerId = "crm-1"
      const unchanged = yield* core("PATCH", "/customers/first", { token, body: { externalCustomerId } })
      assert.strictEqual(unchanged.status, 200)
      const taken = yield* core("PATCH", "/customers/second", { token, body: { externalCustomerId } })
      assert.deepStrictEqual([taken.status, taken.body.code], [409, "UpdateCustomer.ExternalIdTaken"])
      yield* core("PATCH", "/customers/first", { token, body: { externalCustomerId: null } })
      const moved = yield* core("PATCH", "/customers/second", { token, body: { externalCustomerId } })
      assert.deepStrictEqual([moved.status, moved.body.externalCustomerId], [200, "crm-1"])

      const other = yield* tenant()
      assert.strictEqual((yield* core("POST", "/customers", { token: other.token, body })).status, 201)
    }),
  )

  it.effect("of concurrent creations with one external id, exactly one succeeds", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const responses = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, index) => ({ name: `Customer ${index}`, externalCustomerId: "crm-1" })),
        (body) => core("POST", "/customers", { token, body }),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(responses.filter(({ status }) => status === 201).length, 1)
      const rejected = responses.filter(({ body }) => body.code === "CreateCustomer.ExternalIdTaken")
      assert.strictEqual(rejected.length, 11)
      assert.strictEqual((yield* core("GET", "/customers", { token })).body.items.length, 1)
    }),
  )

  it.effect("customers are listed newest first, page by page", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const name of ["One", "Two", "Three"]) yield* core("POST", "/customers", { token, body: { name } })
      const names = (page: { items: ReadonlyArray<{ name: string }> }) => page.items.map(({ name }) => name)
      const first = (yield* core("GET", "/customers?limit=2", { token })).body
      assert.deepStrictEqual([names(first), first.hasMore], [["Three", "Two"], true])
      const last = (yield* core("GET", `/customers?limit=2&cursor=${first.nextCursor}`, { token })).body
      assert.deepStrictEqual([names(last), last.hasMore, last.nextCursor], [["One"], false, ""])
      const foreign = yield* core("GET", `/components?cursor=${first.nextCursor}`, { token })
      assert.deepStrictEqual([foreign.status, foreign.body.code], [400, "Request.InvalidCursor"])
    }),
  )

  it.effect("a customer of another organization is not found", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const owner = yield* tenant()
      const { token } = yield* tenant()
      yield* core("POST", "/customers", { token: owner.token, body: { name: "Acme" } })
      for (const [method, body] of [["GET"], ["PATCH", { name: "Mine" }], ["DELETE"]] as const) {
        const response = yield* core(method, "/customers/acme", { token, body })
        assert.deepStrictEqual([response.status, response.body.code], [404, "Customer.NotFound"])
      }
      assert.deepStrictEqual((yield* core("GET", "/customers", { token })).body.items, [])
    }),
  )

  it.effect("immutable properties and invalid values are rejected with their location", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("POST", "/customers", { token, body: { name: "Acme" } })
      const locations = (response: { body: { errors: ReadonlyArray<{ location: string }> } }) =>
        response.body.errors.map(({ location }) => location)
      const renamed = yield* core("PATCH", "/customers/acme", { token, body: { slug: "other" } })
      assert.deepStrictEqual([renamed.status, locations(renamed)], [422, ["body.slug"]])
      const nameless = yield* core("POST", "/customers", { token, body: { name: "", domain: "a\u0000b" } })
      assert.deepStrictEqual([nameless.status, locations(nameless)], [422, ["body.name", "body.domain"]])
    }),
  )

  it.effect("reading requires read:customers, writing requires write:customers", () =>
    Effect.gen(function* () {
      const { core, tenant, tokenWith } = yield* TestService
      const owner = yield* tenant()
      const reader = yield* tokenWith(owner, ["read:customers"])
      const stranger = yield* tokenWith(owner, ["write:instances"])
      assert.strictEqual((yield* core("GET", "/customers", { token: reader })).status, 200)
      assert.strictEqual((yield* core("POST", "/customers", { token: reader, body: { name: "A" } })).status, 403)
      assert.strictEqual((yield* core("GET", "/customers", { token: stranger })).status, 403)
    }),
  )
})
