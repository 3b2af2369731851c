import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Scope } from "effect"
import { ChangeStreamLimits } from "../../src/domains/events/changes/Limits.ts"
import { ChangeStreams } from "../../src/domains/events/changes/Service.ts"
import { createShop } from "../instances/Shop.ts"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { followChanges } from "./changes.ts"
import { anotherNode } from "./support.ts"

/** A shop with two instances, each of a customer, a license and a zone of its own. */
const market = Effect.gen(function* () {
  const service = yield* TestService
  const shop = yield* createShop
  const zone = (name: string) => Effect.map(shop.zone(name), ({ id, slug }) => ({ id: String(id), slug: String(slug) }))
  const [eu, us] = [yield* zone("Europe"), yield* zone("America")]
  yield* shop.license("pro")
  yield* shop.license("free")
  yield* shop.customer("Acme")
  yield* shop.customer("Initech")
  const term = { endLicenseDate: "2099-01-01T00:00:00.000Z" }
  yield* shop.instance("Prod", "acme", "pro", { ...term, deploymentZoneId: eu.id })
  yield* shop.instance("Test", "initech", "free", { ...term, deploymentZoneId: us.id })
  const keyOf = (instance: string, more: object = {}) =>
    Effect.map(
      shop.call("POST", `/instances/${instance}/keys`, { name: "on site", scopes: ["read:instances"], ...more }),
      ({ body }) => ({ slug: String(body.slug), token: String(body.token) }),
    )
  return { ...service, ...shop, eu, keyOf }
})

const limits = {
  streamsPerProcess: 10_000,
  framesPerSecond: 1000,
  commentSeconds: 1,
  verificationMillis: 200,
  maxUnreadBytes: 65_536,
}

const serviceWith = (changed: Partial<typeof limits>) =>
  TestService.separate.pipe(
    Layer.provide(Layer.succeed(ChangeStreamLimits, { ...limits, ...changed })),
    Layer.provideMerge(MovableClock.layer),
  )

layer(serviceWith({ verificationMillis: 3_600_000 }), { excludeTestServices: true })("the stream of changes", (it) => {
  it.effect("begins with the time until a reconnection and an open frame, and sends comments", () =>
    Effect.gen(function* () {
      const { origins, tenant } = yield* market
      const reader = yield* followChanges(origins.core, tenant.token)
      assert.strictEqual(reader.status, 200)
      assert.strictEqual(reader.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(reader.headers.get("x-accel-buffering"), "no")
      assert.match(reader.text(), /^retry: \d{4,5}\nid: \w+\ndata: \{"type":"open"\}\n\n/)
      yield* until(
        "a comment arrives",
        Effect.sync(() => reader.text().includes("\n\n:\n\n")),
      )
    }),
  )

  it.effect("each kind of change reaches the streams that it concerns within a second, and no others", () =>
    Effect.gen(function* () {
      const { call, entitlement, eu, grant, keyOf, origins, tenant } = yield* market
      const key = yield* keyOf("prod")
      const prod = yield* followChanges(origins.core, tenant.token, "?instance=prod")
      const other = yield* followChanges(origins.core, tenant.token, "?instance=test")
      const all = yield* followChanges(origins.core, tenant.token)
      const site = yield* followChanges(origins.core, key.token)
      const readers = [prod, other, all, site]
      const concerned = Effect.fnUntraced(function* (
        change: Effect.Effect<{ readonly status?: number; readonly text?: string }>,
        named: Record<string, string>,
        others: "prod only" | "everyone" = "prod only",
      ) {
        const { status = 200, text } = yield* change
        assert.isBelow(status, 300, text)
        const received = [yield* prod.nextNamed, yield* all.nextNamed, yield* site.nextNamed]
        assert.deepStrictEqual(received, [named, named, { instance: "prod" }])
        if (others === "everyone") assert.deepStrictEqual(yield* other.nextNamed, named)
      })
      yield* concerned(entitlement("seats"), {}, "everyone")
      yield* concerned(grant("pro", "seats", 5), { license: "pro" })
      yield* concerned(call("PATCH", "/instances/prod", { endLicenseDate: "2098-01-01T00:00:00.000Z" }), {
        instance: "prod",
      })
      yield* concerned(call("PUT", "/instances/prod/entitlements/seats/override", { mode: "SET", value: 7 }), {
        instance: "prod",
      })
      yield* concerned(call("PATCH", "/customers/acme", { domain: "acme.example" }), { customer: "acme" })
      yield* concerned(call("PUT", `/deployment-zones/${eu.slug}`, { name: "Europe 2", type: "production" }), {
        zone: eu.slug,
      })
      yield* concerned(
        call("POST", "/feature-flags", {
          key: "dark",
          type: "boolean",
          variants: [
            { name: "on", value: true },
            { name: "off", value: false },
          ],
          defaultVariant: "off",
        }),
        {},
        "everyone",
      )
      yield* call("POST", "/components", { name: "part", version: "1" })
      // What comes next proves that nothing came between.
      yield* concerned(call("DELETE", "/feature-flags/dark"), {}, "everyone")
      assert.deepStrictEqual(
        readers.map((reader) => reader.frames().length),
        [8, 3, 8, 8],
      )
    }),
  )

  it.effect("an instance that moves to another license follows that one", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, origins, tenant } = yield* market
      yield* entitlement("seats")
      const reader = yield* followChanges(origins.core, tenant.token, "?instance=prod")
      yield* call("PATCH", "/instances/prod", { licenseSlug: "free" })
      assert.deepStrictEqual(yield* reader.nextNamed, { instance: "prod" })
      yield* grant("pro", "seats", 5)
      yield* grant("free", "seats", 5)
      assert.deepStrictEqual(yield* reader.nextNamed, { license: "free" })
    }),
  )

  it.effect("a change on one node reaches the streams of another one", () =>
    Effect.gen(function* () {
      const { keyOf, origins, tenant } = yield* market
      const there = yield* anotherNode
      const here = yield* followChanges(origins.core, (yield* keyOf("prod")).token)
      const elsewhere = yield* followChanges(there.origins.core, tenant.token, "?instance=prod")
      yield* there.core("PATCH", "/instances/prod", { token: tenant.token, body: { name: "Production" } })
      assert.deepStrictEqual(
        [yield* here.nextNamed, yield* elsewhere.nextNamed],
        [{ instance: "prod" }, { instance: "prod" }],
      )
    }),
  )

  it.effect("ends within a second when its key is revoked, its instance deleted or its time over", () =>
    Effect.gen(function* () {
      const { call, keyOf, origins, tenant } = yield* market
      const clock = yield* MovableClock
      const expiresAt = new Date(clock.now() + 3_600_000).toISOString()
      const [revoked, rotated, expiring] = [
        yield* keyOf("prod"),
        yield* keyOf("prod", { name: "second" }),
        yield* keyOf("prod", { name: "third", expiresAt }),
      ]
      const readerOf = ({ token }: { readonly token: string }) => followChanges(origins.core, token)
      const ends = (reader: Effect.Success<ReturnType<typeof readerOf>>, because: Effect.Effect<unknown>) =>
        Effect.gen(function* () {
          yield* because
          yield* reader.ended.pipe(Effect.timeout("1500 millis"))
        })
      const readers = [yield* readerOf(revoked), yield* readerOf(rotated), yield* readerOf(expiring)] as const
      const both = yield* followChanges(origins.core, tenant.token, "?instance=prod&instance=test")
      const only = yield* followChanges(origins.core, tenant.token, "?instance=prod")
      yield* ends(readers[0], call("DELETE", `/instances/prod/keys/${revoked.slug}`))
      yield* ends(readers[1], call("POST", `/instances/prod/keys/${rotated.slug}/rotate`, { gracePeriodSeconds: 0 }))
      yield* ends(readers[2], clock.pass(3_600_001))
      const last = yield* readerOf(yield* keyOf("prod", { name: "fourth" }))
      yield* ends(last, call("DELETE", "/instances/prod"))
      yield* only.ended.pipe(Effect.timeout("1500 millis"))
      assert.deepStrictEqual(yield* both.nextNamed, { instance: "prod" })
      const rejected = yield* call("GET", "/changes?instance=prod")
      assert.deepStrictEqual([rejected.status, rejected.body.code], [404, "Instance.NotFound"])
    }),
  )

  it.effect("a license key follows its own instance, and no other exists for it", () =>
    Effect.gen(function* () {
      const { core, keyOf, origins } = yield* market
      const { token } = yield* keyOf("prod")
      const own = yield* followChanges(origins.core, token, "?instance=prod")
      assert.strictEqual(own.status, 200)
      const other = yield* core("GET", "/changes?instance=test", { token })
      assert.deepStrictEqual([other.status, other.body.code], [404, "Instance.NotFound"])
    }),
  )

  it.effect("an unknown instance, another organization's, too many, and another media type are rejected", () =>
    Effect.gen(function* () {
      const { call, core, tenant, tokenWith } = yield* market
      const stranger = yield* (yield* TestService).tenant()
      for (const [token, path] of [
        [tenant.token, "/changes?instance=prod&instance=ghost"],
        [stranger.token, "/changes?instance=prod"],
      ] as const) {
        const { body, status } = yield* core("GET", path, { token })
        assert.deepStrictEqual([status, body.code], [404, "Instance.NotFound"])
      }
      const many = Array.from({ length: 1001 }, (_, index) => `instance=i${index}`).join("&")
      assert.deepStrictEqual((yield* call("GET", `/changes?${many}`)).body.errors[0].location, "query.instance")
      const json = yield* core("GET", "/changes", { token: tenant.token, headers: { accept: "application/json" } })
      assert.deepStrictEqual([json.status, json.body.code], [406, "Request.NotAcceptable"])
      const blind = yield* tokenWith(tenant, ["read:licenses"])
      assert.strictEqual((yield* core("GET", "/changes", { token: blind })).body.code, "Auth.MissingScope")
      const head = yield* core("HEAD", "/changes", { token: tenant.token })
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      const streams = yield* ChangeStreams
      yield* until(
        "no stream is left",
        Effect.map(streams.open, (open) => open === 0),
      )
    }),
  )

  it.effect("ends when its node stops", () =>
    Effect.gen(function* () {
      const { tenant } = yield* market
      const scope = yield* Scope.make()
      const node = yield* anotherNode.pipe(Scope.provide(scope))
      const reader = yield* followChanges(node.origins.core, tenant.token)
      const begin = performance.now()
      yield* Scope.close(scope, Exit.void)
      yield* reader.ended
      assert.isBelow(performance.now() - begin, 5000)
    }),
  )
})

layer(serviceWith({ streamsPerProcess: 4 }), { excludeTestServices: true })(
  "the limits of streams of changes",
  (it) => {
    it.effect("an organization has half of a node's streams, and a closed one makes room", () =>
      Effect.gen(function* () {
        const { call, origins, tenant } = yield* market
        const streams = yield* ChangeStreams
        const left = (count: number) =>
          until(
            `${count} streams are open`,
            Effect.map(streams.open, (open) => open === count),
          )
        const [first] = yield* Effect.replicateEffect(followChanges(origins.core, tenant.token), 2)
        const third = yield* call("GET", "/changes")
        assert.deepStrictEqual([third.status, third.body.code], [429, "FollowChanges.TooManyStreams"])
        assert.strictEqual(third.headers.get("retry-after"), "15")
        const service = yield* TestService
        const other = yield* service.tenant()
        yield* Effect.replicateEffect(followChanges(origins.core, other.token), 2)
        const last = yield* service.core("GET", "/changes", { token: (yield* service.tenant()).token })
        assert.deepStrictEqual([last.status, last.body.code], [503, "FollowChanges.NodeFull"])
        assert.strictEqual(last.headers.get("retry-after"), "15")
        yield* first?.close ?? Effect.void
        yield* left(3)
        yield* followChanges(origins.core, tenant.token)
      }),
    )

    it.effect("streams of an organization that was removed end without an event", () =>
      Effect.gen(function* () {
        const { operator, origins, platform, tenant } = yield* market
        const reader = yield* followChanges(origins.core, tenant.token)
        const path = `/platform/organizations/${tenant.organizationId}`
        const { body } = yield* platform("GET", path, { token: operator })
        const removed = yield* platform("DELETE", `${path}?confirm=${body.slug}`, { token: operator })
        assert.isBelow(removed.status, 300, removed.text)
        const ended = yield* reader.ended.pipe(Effect.timeoutOption("5 seconds"))
        assert.isTrue(Option.isSome(ended))
      }),
    )
  },
)
