import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

layer(TestService.layer, { excludeTestServices: true })("components", (it) => {
  it.effect("a component is created, read and deleted", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/components", { token, body: { name: "Search Engine", version: "1.2.0" } })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.body.slug, "search-engine-1-2-0")
      assert.strictEqual(created.headers.get("location"), "/api/components/search-engine-1-2-0")
      assert.strictEqual(created.body.createdBy.name, "system:platform")
      const read = yield* core("GET", "/components/search-engine-1-2-0", { token })
      assert.deepStrictEqual(read.body, created.body)
      const deleted = yield* core("DELETE", "/components/search-engine-1-2-0", { token })
      assert.strictEqual(deleted.status, 204)
      assert.strictEqual((yield* core("GET", "/components/search-engine-1-2-0", { token })).status, 404)
      const events = yield* core("GET", "/events", { token })
      assert.deepStrictEqual(
        events.body.items.map((event: { type: string }) => event.type),
        ["SYSTEM_ORGANIZATION_TOKEN_ISSUED", "COMPONENT_CREATED", "COMPONENT_DELETED"],
      )
    }),
  )

  it.effect("a second component of the same name and version gets a slug with a random suffix", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "Search", version: "1" }
      const first = yield* core("POST", "/components", { token, body })
      const second = yield* core("POST", "/components", { token, body })
      assert.strictEqual(first.body.slug, "search-1")
      assert.match(second.body.slug, /^search-1-[a-z0-9]{6}$/)
    }),
  )

  it.effect("an explicit slug that is taken is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "Search", version: "1", slug: "search" }
      assert.strictEqual((yield* core("POST", "/components", { token, body })).status, 201)
      const rejected = yield* core("POST", "/components", { token, body })
      assert.strictEqual(rejected.status, 409)
      assert.strictEqual(rejected.body.code, "CreateComponent.SlugTaken")
    }),
  )

  it.effect("an unknown previous component is rejected with its location", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const previousComponentId = "0199aaaa-0000-7000-8000-000000000000"
      const rejected = yield* core("POST", "/components", {
        token,
        body: { name: "A", version: "1", previousComponentId },
      })
      assert.strictEqual(rejected.status, 422)
      assert.deepStrictEqual(rejected.body.errors, [
        {
          location: "body.previousComponentId",
          message: "must be the id of an existing component",
          value: previousComponentId,
        },
      ])
    }),
  )

  it.effect("components are listed newest first, page by page", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const version of ["1", "2", "3", "4", "5"]) {
        yield* core("POST", "/components", { token, body: { name: "part", version } })
      }
      const first = yield* core("GET", "/components?limit=2", { token })
      assert.deepStrictEqual(
        first.body.items.map((item: { version: string }) => item.version),
        ["5", "4"],
      )
      assert.isTrue(first.body.hasMore)
      const second = yield* core("GET", `/components?limit=2&cursor=${first.body.nextCursor}`, { token })
      assert.deepStrictEqual(
        second.body.items.map((item: { version: string }) => item.version),
        ["3", "2"],
      )
      const last = yield* core("GET", `/components?limit=2&cursor=${second.body.nextCursor}`, { token })
      assert.deepStrictEqual(last.body, { items: last.body.items, hasMore: false, nextCursor: "" })
      assert.strictEqual(last.body.items.length, 1)
    }),
  )
})
