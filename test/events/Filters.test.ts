import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Events } from "../../src/domains/events/Service.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { TestService } from "../support/TestService.ts"

interface Item {
  readonly type: string
  readonly data: { readonly name?: string; readonly id?: string }
}

/** An organization in which two components and a customer were created, and the first component was deleted. */
const fixture = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const owner = yield* tenant()
  const { token } = owner
  const first = yield* core("POST", "/components", { token, body: { name: "first", version: "1" } })
  yield* core("POST", "/components", { token, body: { name: "second", version: "1" } })
  const customer = yield* core("POST", "/customers", { token, body: { name: "Initech" } })
  yield* core("DELETE", `/components/${first.body.slug}`, { token })
  const list = (query: string) => core("GET", `/events?${query}`, { token })
  return { ...owner, core, list, component: first.body as { id: string }, customer: customer.body as { id: string } }
})

const typesOf = (items: ReadonlyArray<Item>) => items.map(({ type }) => type)

layer(TestService.layer, { excludeTestServices: true })("filters of the event stream", (it) => {
  it.effect("one name, a comma list and a repeated parameter filter by name, in stream order", () =>
    Effect.gen(function* () {
      const { list } = yield* fixture
      const one = yield* list("type=COMPONENT_CREATED")
      assert.deepStrictEqual(typesOf(one.body.items), ["COMPONENT_CREATED", "COMPONENT_CREATED"])
      const several = ["COMPONENT_CREATED", "COMPONENT_CREATED", "CUSTOMER_CREATION"]
      for (const query of [
        "type=CUSTOMER_CREATION,COMPONENT_CREATED",
        "type=CUSTOMER_CREATION&type=COMPONENT_CREATED",
        "type=CUSTOMER_CREATION,CUSTOMER_DELETED&type=COMPONENT_CREATED",
      ]) {
        assert.deepStrictEqual(typesOf((yield* list(query)).body.items), several, query)
      }
    }),
  )

  it.effect("a resource filters events about it, alone and combined with names", () =>
    Effect.gen(function* () {
      const { component, customer, list } = yield* fixture
      const about = yield* list(`resource=${component.id}`)
      assert.deepStrictEqual(typesOf(about.body.items), ["COMPONENT_CREATED", "COMPONENT_DELETED"])
      const upper = yield* list(`resource=${component.id.toUpperCase()}&type=COMPONENT_DELETED,CUSTOMER_CREATION`)
      assert.deepStrictEqual(typesOf(upper.body.items), ["COMPONENT_DELETED"])
      assert.deepStrictEqual(typesOf((yield* list(`resource=${customer.id}`)).body.items), ["CUSTOMER_CREATION"])
      assert.deepStrictEqual((yield* list("resource=nothing")).body.items, [])
    }),
  )

  it.effect("events without an id are found by slug, or by the record that their data names", () =>
    Effect.gen(function* () {
      const { list, organizationId } = yield* fixture
      const events = yield* Events
      const transactions = yield* Transactions
      const source = { organizationId, actor: platformIdentity }
      yield* transactions.run(
        Effect.gen(function* () {
          yield* events.emit(source, "LICENSE_ENTITLEMENT_ASSIGNED", { licenseSlug: "gold", entitlementSlug: "seats" })
          yield* events.emit(source, "CONNECTOR_ACTIVATED", { connectorName: "crm" })
          yield* events.emit(source, "RELEASE_CREATED", { slug: "v1" })
        }),
      )
      for (const [resource, type] of [
        ["gold", "LICENSE_ENTITLEMENT_ASSIGNED"],
        ["crm", "CONNECTOR_ACTIVATED"],
        ["v1", "RELEASE_CREATED"],
      ]) {
        assert.deepStrictEqual(typesOf((yield* list(`resource=${resource}`)).body.items), [type ?? ""])
      }
    }),
  )

  it.effect(
    "the cursor of a filtered page stays usable, even if the page is empty, and is rejected for other filters",
    () =>
      Effect.gen(function* () {
        const { component, core, list, token } = yield* fixture
        const filter = "type=COMPONENT_CREATED,COMPONENT_DELETED"
        const first = yield* list(`${filter}&limit=2`)
        assert.isTrue(first.body.hasMore)
        const last = yield* list(`${filter}&limit=2&cursor=${first.body.nextCursor}`)
        assert.deepStrictEqual(typesOf(last.body.items), ["COMPONENT_DELETED"])
        assert.isFalse(last.body.hasMore)
        yield* core("POST", "/components", { token, body: { name: "third", version: "1" } })
        const reordered = "type=COMPONENT_DELETED&type=COMPONENT_CREATED"
        const later = yield* list(`${reordered}&cursor=${last.body.nextCursor}`)
        assert.deepStrictEqual(
          later.body.items.map((item: Item) => item.data.name),
          ["third"],
        )

        const empty = yield* list("type=RELEASE_CREATED")
        assert.deepStrictEqual(empty.body.items, [])
        yield* core("POST", "/releases", { token, body: { version: "1.0.0" } })
        const then = yield* list(`type=RELEASE_CREATED&cursor=${empty.body.nextCursor}`)
        assert.deepStrictEqual(typesOf(then.body.items), ["RELEASE_CREATED"])

        for (const query of ["", "type=COMPONENT_CREATED&", `${filter}&resource=${component.id}&`]) {
          const rejected = yield* list(`${query}cursor=${last.body.nextCursor}`)
          assert.strictEqual(rejected.status, 400, query)
          assert.strictEqual(rejected.body.code, "Request.InvalidCursor")
        }
      }),
  )

  it.effect("unknown names and invalid resources are rejected with their location", () =>
    Effect.gen(function* () {
      const { list } = yield* fixture
      for (const [query, location] of [
        ["type=COMPONENT_CREATED,NOTHING_HAPPENED", "query.type"],
        ["type=COMPONENT_CREATED&type=component_created", "query.type"],
        ["type=", "query.type"],
        ["type=*", "query.type"],
        ["resource=", "query.resource"],
        [`resource=${"x".repeat(256)}`, "query.resource"],
        ["resource=%00", "query.resource"],
        ["resource=a&resource=b", "query.resource"],
      ]) {
        const { body, status } = yield* list(query ?? "")
        assert.strictEqual(status, 422, query)
        assert.strictEqual(body.errors[0].location, location, query)
      }
    }),
  )
})
