import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"

allowInventedEvents()

interface EventItem {
  readonly id: string
  readonly type: string
  readonly data: { readonly name: string }
}

layer(TestService.layer, { excludeTestServices: true })("the event stream", (it) => {
  it.effect("is read forward by a cursor that stays usable on the last page", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const start = yield* core("GET", "/events", { token })
      assert.isFalse(start.body.hasMore)
      const nothing = yield* core("GET", `/events?cursor=${start.body.nextCursor}`, { token })
      assert.deepStrictEqual(nothing.body.items, [])
      for (const name of ["a1", "b1", "c1"]) yield* core("POST", "/components", { token, body: { name, version: "1" } })
      const first = yield* core("GET", `/events?limit=2&cursor=${nothing.body.nextCursor}`, { token })
      assert.deepStrictEqual(
        first.body.items.map((event: EventItem) => event.data.name),
        ["a1", "b1"],
      )
      assert.isTrue(first.body.hasMore)
      const rest = yield* core("GET", `/events?limit=2&cursor=${first.body.nextCursor}`, { token })
      assert.deepStrictEqual(
        rest.body.items.map((event: EventItem) => event.data.name),
        ["c1"],
      )
    }),
  )

  it.effect("contains the actor, the credential and the record after the change", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const { body } = yield* core("POST", "/components", { token, body: { name: "part", version: "1" } })
      const event = (yield* core("GET", "/events", { token })).body.items.at(-1)
      assert.deepStrictEqual(Object.keys(event).sort(), [
        "actor",
        "credential",
        "data",
        "id",
        "organizationId",
        "timestamp",
        "type",
      ])
      assert.deepStrictEqual(event.data, body)
      assert.deepStrictEqual(event.actor, body.createdBy)
      assert.strictEqual(event.organizationId, organizationId)
    }),
  )

  it.effect("contains no event of a change that was rolled back", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const events = yield* Events
      const transactions = yield* Transactions
      const source = { ...bySystem, organizationId }
      yield* transactions
        .run(Effect.andThen(events.emit(source, "COMPONENT_CREATED", { name: "ghost" }), Effect.fail("no")))
        .pipe(Effect.flip)
      const types = (yield* core("GET", "/events", { token })).body.items.map((event: EventItem) => event.type)
      assert.notInclude(types, "COMPONENT_CREATED")
    }),
  )

  it.effect("shows events of a transaction that commits late to a client that has read further", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const events = yield* Events
      const transactions = yield* Transactions
      const source = { ...bySystem, organizationId }
      const emitted = yield* Deferred.make<void>()
      const mayCommit = yield* Deferred.make<void>()
      const late = yield* transactions
        .run(
          Effect.gen(function* () {
            yield* events.emit(source, "COMPONENT_CREATED", { name: "late" })
            yield* Deferred.succeed(emitted, undefined)
            yield* Deferred.await(mayCommit)
          }),
        )
        .pipe(Effect.forkChild)
      yield* Deferred.await(emitted)
      yield* core("POST", "/components", { token, body: { name: "early", version: "1" } })
      const snapshot = yield* core("GET", "/events", { token })
      assert.strictEqual(snapshot.body.items.at(-1).data.name, "early")
      yield* Deferred.succeed(mayCommit, undefined)
      yield* Fiber.join(late)
      const then = yield* core("GET", `/events?cursor=${snapshot.body.nextCursor}`, { token })
      assert.deepStrictEqual(
        then.body.items.map((event: EventItem) => event.data.name),
        ["late"],
      )
    }),
  )

  it.effect("shows each of many concurrent changes exactly once to a polling client", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const seen: Array<string> = []
      let cursor = (yield* core("GET", "/events", { token })).body.nextCursor as string
      const poll = Effect.gen(function* () {
        const page = yield* core("GET", `/events?limit=7&cursor=${cursor}`, { token })
        cursor = page.body.nextCursor
        for (const event of page.body.items as ReadonlyArray<EventItem>) seen.push(event.data.name)
        return page.body.hasMore as boolean
      })
      const writer = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, index) => `part ${index}`),
        (name) => core("POST", "/components", { token, body: { name, version: "1" } }),
        { concurrency: 10, discard: true },
      ).pipe(Effect.forkChild)
      for (let round = 0; round < 20; round++) yield* poll
      yield* Fiber.join(writer)
      while ((yield* poll) || seen.length < 100) continue
      assert.strictEqual(seen.length, 100)
      assert.strictEqual(new Set(seen).size, 100)
    }),
  )

  it.effect("rejects a cursor that is altered, or from another organization or listing", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const stranger = yield* tenant()
      const cursor = String((yield* core("GET", "/events", { token })).body.nextCursor)
      const altered = `${cursor.slice(0, -2)}${cursor.at(-2) === "A" ? "B" : "A"}${cursor.at(-1)}`
      const attempts = [
        core("GET", `/events?cursor=${altered}`, { token }),
        core("GET", "/events?cursor=nonsense", { token }),
        core("GET", "/events?cursor=", { token }),
        core("GET", `/events?cursor=${cursor}`, { token: stranger.token }),
        core("GET", `/components?cursor=${cursor}`, { token }),
      ]
      for (const attempt of attempts) {
        const response = yield* attempt
        assert.strictEqual(response.status, 400, response.text)
        assert.strictEqual(response.body.code, "Request.InvalidCursor")
        assert.strictEqual(response.body.errors[0].location, "query.cursor")
      }
    }),
  )

  it.effect("stores the properties of a record in their order", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const { text } = yield* core("POST", "/components", { token, body: { name: "ordered", version: "1" } })
      const sql = yield* PgClient.PgClient
      const [row] = yield* sql<{ data: string }>`
        SELECT data::text AS data FROM events WHERE organization_id = ${organizationId} AND type = 'COMPONENT_CREATED'`
      assert.deepStrictEqual(JSON.parse(row?.data ?? ""), JSON.parse(text))
    }),
  )
})
