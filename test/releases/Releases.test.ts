import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { Call } from "../support/TestService.ts"

const eventTypes = (items: ReadonlyArray<{ type: string }>) => items.map((event) => event.type)

/** Creates components with these names, in this order. */
const components = (core: Call, token: string, names: ReadonlyArray<string>) =>
  Effect.forEach(names, (name) =>
    Effect.map(core("POST", "/components", { token, body: { name, version: "1" } }), ({ body }) => body),
  )

layer(TestService.layer, { excludeTestServices: true })("releases", (it) => {
  it.effect("a release links its components in the given order", () =>
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
        releasedAt: created.body.createdAt,
        access: {
          offered: false,
          entitlements: [],
          withdrawnAt: null,
          withdrawnReason: null,
          updatedAt: null,
          updatedBy: null,
        },
        createdAt: created.body.createdAt,
        createdBy: { id: created.body.createdBy.id, name: "system:platform" },
      })
      assert.deepStrictEqual((yield* core("GET", "/releases/2026-1", { token })).body, created.body)
    }),
  )

  it.effect("a release can be created without components", () =>
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

  it.effect("an explicit slug that is taken is rejected", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { version: "1", slug: "spring" }
      assert.strictEqual((yield* core("POST", "/releases", { token, body })).status, 201)
      const rejected = yield* core("POST", "/releases", { token, body })
      assert.strictEqual(rejected.status, 409)
      assert.strictEqual(rejected.body.code, "CreateRelease.SlugTaken")
    }),
  )

  it.effect("every unknown component is reported with its location", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [known] = yield* components(core, token, ["known"])
      const elsewhere = yield* tenant()
      const [foreign] = yield* components(core, elsewhere.token, ["foreign"])
      const missing = "0199aaaa-0000-7000-8000-000000000000"
      const rejected = yield* core("POST", "/releases", {
        token,
        body: { version: "1", componentIds: [missing, known.id, foreign.id] },
      })
      assert.strictEqual(rejected.status, 422)
      assert.deepStrictEqual(rejected.body.errors, [
        { location: "body.componentIds[0]", message: "must be the id of an existing component", value: missing },
        { location: "body.componentIds[2]", message: "must be the id of an existing component", value: foreign.id },
      ])
      assert.deepStrictEqual((yield* core("GET", "/releases", { token })).body.items, [])
    }),
  )

  it.effect("a repeated component id is rejected, regardless of letter case", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [component] = yield* components(core, token, ["part"])
      const rejected = yield* core("POST", "/releases", {
        token,
        body: { version: "1", componentIds: [component.id, component.id.toUpperCase()] },
      })
      assert.strictEqual(rejected.status, 422)
      assert.deepStrictEqual(
        rejected.body.errors.map((error: { location: string }) => error.location),
        ["body.componentIds[1]"],
      )
    }),
  )

  it.effect("200 components are accepted, 201 are rejected", () =>
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
      const rejected = yield* core("POST", "/releases", {
        token,
        body: { version: "2", componentIds: [...componentIds, "0199aaaa-0000-7000-8000-000000000000"] },
      })
      assert.strictEqual(rejected.status, 422)
      assert.strictEqual(rejected.body.errors[0].location, "body.componentIds")
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

  it.effect("a component can be deleted only after the releases that contain it", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const [component] = yield* components(core, token, ["part"])
      yield* core("POST", "/releases", { token, body: { version: "1", componentIds: [component.id] } })
      const rejected = yield* core("DELETE", "/components/part-1", { token })
      assert.strictEqual(rejected.status, 409)
      assert.strictEqual(rejected.body.code, "DeleteComponent.LinkedToRelease")
      assert.strictEqual((yield* core("DELETE", "/releases/1", { token })).status, 404)
      assert.strictEqual((yield* core("DELETE", "/releases/release-1", { token })).status, 204)
      assert.strictEqual((yield* core("DELETE", "/components/part-1", { token })).status, 204)
    }),
  )

  it.effect("creating and deleting a release emits events", () =>
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

  it.effect("a retried creation returns the first release", () =>
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

  it.effect("reading requires read:releases, writing requires write:releases", () =>
    Effect.gen(function* () {
      const service = yield* TestService
      const { core } = service
      const tenant = yield* service.tenant()
      const reader = yield* service.tokenWith(tenant, ["read:releases"])
      const stranger = yield* service.tokenWith(tenant, ["write:components"])
      assert.strictEqual((yield* core("GET", "/releases", { token: reader })).status, 200)
      assert.strictEqual((yield* core("GET", "/releases", { token: stranger })).status, 403)
      const rejected = yield* core("POST", "/releases", { token: reader, body: { version: "1" } })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.MissingScope"])
    }),
  )

  it.effect("when a component is deleted while a release links it, exactly one of both requests succeeds", () =>
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
