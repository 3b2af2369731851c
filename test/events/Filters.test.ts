import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem, platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"

allowInventedEvents()

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
      const both = yield* list(`resource=${customer.id}&resource=${component.id}&resource=nothing`)
      assert.sameMembers(typesOf(both.body.items), [...typesOf(about.body.items), "CUSTOMER_CREATION"])
    }),
  )

  it.effect("events without an id are found by slug, or by the record that their data names", () =>
    Effect.gen(function* () {
      const { list, organizationId } = yield* fixture
      const events = yield* Events
      const transactions = yield* Transactions
      const source = { ...bySystem, organizationId }
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

  it.effect("an actor filters the events that it caused, alone and combined with names and a resource", () =>
    Effect.gen(function* () {
      const { customer, list, organizationId } = yield* fixture
      const events = yield* Events
      const transactions = yield* Transactions
      const actor = { id: "0199bbbb-0000-7000-8000-000000000000", name: "another" }
      yield* transactions.run(
        Effect.gen(function* () {
          yield* events.emitChange({ organizationId, actor, credential: null }, "CUSTOMER_UPDATED", customer, customer)
          yield* events.emit({ organizationId, actor, credential: null }, "CUSTOMER_CREATION", { id: "another" })
        }),
      )
      const all: ReadonlyArray<Item & { readonly actor: { readonly id: string } }> = (yield* list("limit=100")).body
        .items
      const actors = [...new Set(all.map(({ actor }) => actor.id))]
      assert.isAtLeast(actors.length, 2)
      for (const actor of [...actors, "0199aaaa-0000-7000-8000-000000000000"]) {
        const expected = all.filter((item) => item.actor.id === actor)
        assert.deepStrictEqual((yield* list(`actor=${actor.toUpperCase()}&limit=100`)).body.items, expected, actor)
        for (const types of [["CUSTOMER_CREATION"], ["COMPONENT_CREATED", "CUSTOMER_UPDATED"]]) {
          assert.deepStrictEqual(
            (yield* list(`actor=${actor}&type=${types.join()}`)).body.items,
            expected.filter(({ type }) => types.includes(type)),
          )
        }
        assert.deepStrictEqual(
          (yield* list(`actor=${actor}&resource=${customer.id}`)).body.items,
          expected.filter(({ data }) => data.id === customer.id),
        )
      }
      const first = yield* list(`actor=${actors[0]}&limit=1`)
      const rest = yield* list(`actor=${actors[0]}&limit=100&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual(
        [...first.body.items, ...rest.body.items],
        all.filter((item) => item.actor.id === actors[0]),
      )
    }),
  )

  it.effect("a time range has its first instant and not its last, alone and combined with other filters", () =>
    Effect.gen(function* () {
      const { list, organizationId } = yield* fixture
      const sql = yield* PgClient.PgClient
      yield* list("limit=1")
      // The events of today come after them.
      yield* sql`UPDATE event_positions SET position = position + 5000 WHERE organization_id = ${organizationId}`
      yield* sql`UPDATE event_streams SET head = head + 5000 WHERE organization_id = ${organizationId}`
      // Events of ten hours. The third got its position after the fourth, because it committed later.
      const start = Date.UTC(2026, 0, 1)
      const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString()
      const minutes = [1, 60, 120, 121, 180, 240, 300, 301, 360, 600]
      for (const [index, minute] of minutes.entries()) {
        const millis = (start + minute * 60_000).toString(16).padStart(12, "0")
        const id = `${millis.slice(0, 8)}-${millis.slice(8)}-7000-8000-00000000000${index}`
        const position = index === 3 ? 1002 : index === 2 ? 1003 : 1000 + index
        const type = index % 2 === 0 ? "RELEASE_CREATED" : "RELEASE_DELETED"
        yield* sql`INSERT INTO events (organization_id, id, type, occurred_at, actor, resource, data)
          VALUES (${organizationId}, ${id}, ${type}, ${new Date(at(minute))}, ${sql.json(platformIdentity)}, ${`r${minute}`}, '{}')`
        yield* sql`INSERT INTO event_positions (organization_id, position, event_id, type, resource, actor_id)
          VALUES (${organizationId}, ${position}, ${id}, ${type}, ${`r${minute}`}, ${platformIdentity.id})`
      }
      const found = (query: string) =>
        Effect.map(list(`limit=100&${query}`), ({ body }) =>
          body.items.map(({ timestamp }: { timestamp: string }) => (Date.parse(timestamp) - start) / 60_000),
        )
      assert.deepStrictEqual(yield* found(`since=${at(120)}&until=${at(300)}`), [121, 120, 180, 240])
      assert.deepStrictEqual(yield* found(`until=${at(60)}`), [1])
      assert.deepStrictEqual(yield* found(`since=${at(301)}&until=${at(100_000)}`), [301, 360, 600])
      assert.deepStrictEqual(yield* found(`since=${at(121)}&until=${at(121)}`), [])
      assert.deepStrictEqual(yield* found(`since=${at(120)}&until=${at(301)}&type=RELEASE_CREATED`), [120, 180, 300])
      assert.deepStrictEqual(
        yield* found(`since=${at(120)}&until=${at(301)}&actor=${platformIdentity.id}&type=RELEASE_DELETED`),
        [121, 240],
      )
      assert.deepStrictEqual(yield* found(`since=${at(120)}&until=${at(301)}&resource=r240`), [240])
      const first = yield* list(`since=${at(120)}&until=${at(300)}&limit=3`)
      const next = yield* list(`since=${at(120)}&until=${at(300)}&limit=3&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual([next.body.items.length, next.body.hasMore], [1, false])
      const other = yield* list(`since=${at(121)}&until=${at(300)}&cursor=${first.body.nextCursor}`)
      assert.strictEqual(other.body.code, "Request.InvalidCursor")
    }),
  )

  it.effect("the newest events come first on request, page by page down to the oldest, with every filter", () =>
    Effect.gen(function* () {
      const { component, core, list, token } = yield* fixture
      const all: ReadonlyArray<Item> = (yield* list("limit=100")).body.items
      const filters = [
        "",
        "type=COMPONENT_CREATED,COMPONENT_DELETED&",
        `resource=${component.id}&`,
        `actor=${(yield* list("limit=1")).body.items[0].actor.id}&`,
        "since=2026-01-01T00:00:00Z&",
      ]
      for (const filter of filters) {
        const expected = (yield* list(`${filter}limit=100`)).body.items.toReversed()
        assert.isAbove(expected.length, 1, filter)
        const read: Array<Item> = []
        let cursor = ""
        do {
          const { body } = yield* list(`${filter}order=desc&limit=2${cursor && `&cursor=${cursor}`}`)
          assert.strictEqual(body.nextCursor !== "", body.hasMore)
          read.push(...body.items)
          cursor = body.nextCursor
        } while (cursor !== "")
        assert.deepStrictEqual(read, expected, filter)
      }
      // A page that was begun does not move when an event is added, and a new one begins with it.
      const first = yield* list("order=desc&limit=1")
      yield* core("POST", "/components", { token, body: { name: "third", version: "1" } })
      const second = yield* list(`order=desc&limit=1&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual(second.body.items, [all.at(-2)])
      assert.strictEqual((yield* list("order=desc&limit=1")).body.items[0].data.name, "third")
    }),
  )

  it.effect("a cursor belongs to its order, and a live stream has only one", () =>
    Effect.gen(function* () {
      const { core, list, token } = yield* fixture
      const [newest, oldest] = [yield* list("order=desc&limit=1"), yield* list("limit=1")]
      for (const query of [`cursor=${newest.body.nextCursor}`, `order=desc&cursor=${oldest.body.nextCursor}`]) {
        assert.strictEqual((yield* list(query)).body.code, "Request.InvalidCursor", query)
      }
      assert.strictEqual((yield* list(`order=asc&cursor=${oldest.body.nextCursor}`)).status, 200)
      const live = yield* core("GET", "/events?order=desc", { token, headers: { accept: "text/event-stream" } })
      assert.deepStrictEqual([live.status, live.body.errors[0].location], [422, "query.order"])
      assert.strictEqual((yield* list("order=newest")).body.errors[0].location, "query.order")
      const empty = yield* list("order=desc&type=RELEASE_CREATED")
      assert.deepStrictEqual(empty.body, { items: [], hasMore: false, nextCursor: "" })
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
        ["resource=", "query.resource[0]"],
        ["actor=", "query.actor"],
        ["since=yesterday", "query.since"],
        ["until=2026-01-31T09:00:00", "query.until"],
        [`resource=${"x".repeat(256)}`, "query.resource[0]"],
        ["resource=%00", "query.resource[0]"],
        [Array.from({ length: 201 }, (_, index) => `resource=${index}`).join("&"), "query.resource"],
      ]) {
        const { body, status } = yield* list(query ?? "")
        assert.strictEqual(status, 422, query)
        assert.strictEqual(body.errors[0].location, location, query)
      }
    }),
  )
})
