import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { Call } from "../support/TestService.ts"

const eventTypes = (items: ReadonlyArray<{ type: string }>) => items.map((event) => event.type)

/** Components of these names, in this order. */
const components = (core: Call, token: string, names: ReadonlyArray<string>) =>
  Effect.forEach(names, (name) =>
    Effect.map(core("POST", "/components", { token, body: { name, version: "1" } }), ({ body }) => body),
  )

layer(TestService.layer, { excludeTestServices: true })("releases", (it) => {
  it.effect("a release links its components in the order that was given", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [a, b, c] = yield* components(core, token, ["a", "b", "c"])
      const componentIds = [c.id, a.id, b.id]
      const created = yield* core("POST", "/releases", {
        token,
        body: { version: "2026.1", description: "spring", componentIds },
      })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), "/api/releases/2026-1")
      assert.deepStrictEqual(created.body, {
        id: created.body.id,
        slug: "2026-1",
        version: "2026.1",
        description: "spring",
        componentIds,
        components: [c, a, b],
        createdAt: created.body.createdAt,
        createdBy: { id: created.body.createdBy.id, name: "system:platform" },
      })
      assert.deepStrictEqual((yield* core("GET", "/releases/2026-1", { token })).body, created.body)
    }),
  )

  it.effect("a release without components is a release", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/releases", { token, body: { version: "1.0.0" } })
      assert.strictEqual(created.status, 201)
      assert.deepStrictEqual([created.body.componentIds, created.body.components], [[], []])
      assert.isNull(created.body.description)
    }),
  )

  it.effect("a second release of the same version gets a slug with a random suffix", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const first = yield* core("POST", "/releases", { token, body: { version: "1.0.0" } })
      const second = yield* core("POST", "/releases", { token, body: { version: "1.0.0" } })
      assert.strictEqual(first.body.slug, "1-0-0")
      assert.match(second.body.slug, /^1-0-0-[a-z0-9]{6}$/)
    }),
  )

  it.effect("an explicit slug that is taken is refused", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { version: "1", slug: "spring" }
      assert.strictEqual((yield* core("POST", "/releases", { token, body })).status, 201)
      const refused = yield* core("POST", "/releases", { token, body })
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(refused.body.code, "CreateRelease.SlugTaken")
    }),
  )

  it.effect("every component that does not exist is named with its place", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [known] = yield* components(core, token, ["known"])
      const elsewhere = yield* tenant()
      const [foreign] = yield* components(core, elsewhere.token, ["foreign"])
      const missing = "0199aaaa-0000-7000-8000-000000000000"
      const refused = yield* core("POST", "/releases", {
        token,
        body: { version: "1", componentIds: [missing, known.id, foreign.id] },
      })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(refused.body.errors, [
        { location: "body.componentIds[0]", message: "names no component", value: missing },
        { location: "body.componentIds[2]", message: "names no component", value: foreign.id },
      ])
      assert.deepStrictEqual((yield* core("GET", "/releases", { token })).body.items, [])
    }),
  )

  it.effect("a component that is named twice is refused, whatever its letters' case", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [component] = yield* components(core, token, ["part"])
      const refused = yield* core("POST", "/releases", {
        token,
        body: { version: "1", componentIds: [component.id, component.id.toUpperCase()] },
      })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(
        refused.body.errors.map((fault: { location: string }) => fault.location),
        ["body.componentIds[1]"],
      )
    }),
  )

  it.effect("200 components are linked, 201 are refused", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const many = yield* components(
        core,
        token,
        Array.from({ length: 200 }, (_, index) => `part ${index}`),
      )
      const componentIds = many.map(({ id }) => id)
      const created = yield* core("POST", "/releases", { token, body: { version: "1", componentIds } })
      assert.strictEqual(created.status, 201)
      assert.deepStrictEqual(created.body.componentIds, componentIds)
      const refused = yield* core("POST", "/releases", {
        token,
        body: { version: "2", componentIds: [...componentIds, "0199aaaa-0000-7000-8000-000000000000"] },
      })
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(refused.body.errors[0].location, "body.componentIds")
    }),
  )

  it.effect("releases are listed newest first, page by page, each with its own components", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [a, b] = yield* components(core, token, ["a", "b"])
      const linked: Record<string, ReadonlyArray<string>> = { "1": [a.id], "2": [], "3": [b.id, a.id] }
      for (const [version, componentIds] of Object.entries(linked)) {
        yield* core("POST", "/releases", { token, body: { version, componentIds } })
      }
      const summary = (items: ReadonlyArray<{ version: string; componentIds: ReadonlyArray<string> }>) =>
        items.map((item) => [item.version, item.componentIds])
      const first = yield* core("GET", "/releases?limit=2", { token })
      assert.deepStrictEqual(summary(first.body.items), [
        ["3", [b.id, a.id]],
        ["2", []],
      ])
      assert.deepStrictEqual(first.body.items[0].components, [b, a])
      const last = yield* core("GET", `/releases?limit=2&cursor=${first.body.nextCursor}`, { token })
      assert.deepStrictEqual(summary(last.body.items), [["1", [a.id]]])
      assert.deepStrictEqual([last.body.hasMore, last.body.nextCursor], [false, ""])
    }),
  )

  it.effect("a component is not deleted while a release contains it, and is afterwards", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [component] = yield* components(core, token, ["part"])
      yield* core("POST", "/releases", { token, body: { version: "1", componentIds: [component.id] } })
      const refused = yield* core("DELETE", "/components/part-1", { token })
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(refused.body.code, "DeleteComponent.LinkedToRelease")
      assert.strictEqual((yield* core("DELETE", "/releases/1", { token })).status, 404)
      assert.strictEqual((yield* core("DELETE", "/releases/release-1", { token })).status, 204)
      assert.strictEqual((yield* core("DELETE", "/components/part-1", { token })).status, 204)
    }),
  )

  it.effect("creating and deleting a release enters the stream", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [component] = yield* components(core, token, ["part"])
      const created = yield* core("POST", "/releases", {
        token,
        body: { version: "1.0", componentIds: [component.id] },
      })
      assert.strictEqual((yield* core("DELETE", "/releases/1-0", { token })).status, 204)
      const gone = yield* core("GET", "/releases/1-0", { token })
      assert.deepStrictEqual([gone.status, gone.body.code], [404, "Release.NotFound"])
      const { items } = (yield* core("GET", "/events", { token })).body
      assert.deepStrictEqual(eventTypes(items).slice(-2), ["RELEASE_CREATED", "RELEASE_DELETED"])
      assert.deepStrictEqual(
        items.slice(-2).map((event: { data: unknown }) => event.data),
        [created.body, created.body],
      )
    }),
  )

  it.effect("a retried creation answers the first release", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const request = { token, body: { version: "1.0" }, headers: { "idempotency-key": "release-1.0" } }
      const first = yield* core("POST", "/releases", request)
      const again = yield* core("POST", "/releases", request)
      assert.deepStrictEqual(again.body, first.body)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.strictEqual((yield* core("GET", "/releases", { token })).body.items.length, 1)
    }),
  )

  it.effect("reading needs read:releases, changing write:releases", () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const { core } = service
      const tenant = yield* service.tenant()
      const reader = yield* service.tokenWith(tenant, ["read:releases"])
      const stranger = yield* service.tokenWith(tenant, ["write:components"])
      assert.strictEqual((yield* core("GET", "/releases", { token: reader })).status, 200)
      assert.strictEqual((yield* core("GET", "/releases", { token: stranger })).status, 403)
      const refused = yield* core("POST", "/releases", { token: reader, body: { version: "1" } })
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "Auth.MissingScope"])
    }),
  )

  it.effect("a component that is deleted while a release links it is either kept or named as missing", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* Effect.forEach(
        Array.from({ length: 12 }, (_, index) => index),
        Effect.fnUntraced(function* (index) {
          const [component] = yield* components(core, token, [`racer ${index}`])
          const [release, deleted] = yield* Effect.all(
            [
              core("POST", "/releases", {
                token,
                body: { version: "1", slug: `race-${index}`, componentIds: [component.id] },
              }),
              core("DELETE", `/components/${component.slug}`, { token }),
            ],
            { concurrency: "unbounded" },
          )
          assert.include(
            [
              [201, 409],
              [422, 204],
            ].map(String),
            String([release.status, deleted.status]),
          )
        }),
        { concurrency: 4 },
      )
    }),
  )
})
