import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createProductClient } from "../../clients/typescript/src/product/node.ts"
import { request } from "node:http"
import { EdgeClock } from "../../src/edge/Clock.ts"
import { TestService } from "../support/TestService.ts"
import { payloadOf } from "../offline-bundles/Site.ts"
import { until } from "../support/until.ts"
import { movableClock, startEdge } from "./edge.ts"
import { openWorld } from "./World.ts"

/** A stream, and what it said until now. */
const openStream = (url: string, headers: Record<string, string> = {}) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ status: number; text: string; isEnded: boolean; end: () => void }>((resolve, reject) => {
          const sent = request(url, { headers: { accept: "text/event-stream", ...headers } }, (response) => {
            const stream = { status: response.statusCode ?? 0, text: "", isEnded: false, end: () => sent.destroy() }
            response.setEncoding("utf8")
            response.on("data", (text: string) => (stream.text += text))
            response.on("error", () => undefined)
            response.on("close", () => (stream.isEnded = true))
            resolve(stream)
          })
          sent.on("error", reject)
          sent.end()
        }),
    ),
    ({ end }) => Effect.sync(end),
  )

const product = (url: string, token: string) =>
  Effect.acquireRelease(
    Effect.sync(() => createProductClient({ baseUrl: url, token })),
    (client) => Effect.promise(() => client.close()),
  )

const open = Effect.gen(function* () {
  const world = yield* openWorld
  const { token } = world.tenant
  const { clock, pass } = yield* movableClock
  const edge = yield* startEdge({ origin: world.origin, tokens: [token] }).pipe(Effect.provideService(EdgeClock, clock))
  return {
    ...world,
    edge,
    pass,
    token,
    limit: (value: number) =>
      Effect.map(
        world.call("PUT", "/instances/prod/entitlements/exports/override", { mode: "SET", value }),
        ({ status, text }) => assert.isBelow(status, 300, text),
      ),
  }
})

layer(TestService.layer, { excludeTestServices: true })("behind an edge", (it) => {
  it.effect("a product decides locally, follows changes, and knows when the edge has lost its origin", () =>
    Effect.gen(function* () {
      const { cable, edge, limit, token } = yield* open
      const client = yield* product(edge.url, token)
      const status = Effect.sync(() => client.status("prod"))
      const exports = Effect.promise(() => client.check("prod", "exports"))
      assert.deepInclude(yield* exports, { allowed: true, source: "snapshot" })
      yield* until(
        "the product is live",
        Effect.map(status, ({ state }) => state === "LIVE"),
      )
      const before = performance.now()
      yield* limit(0)
      yield* until(
        "the change decides",
        Effect.map(exports, ({ allowed }) => !allowed),
      )
      assert.isBelow(performance.now() - before, 10_000)
      cable.cut()
      yield* until(
        "the product is no longer live",
        Effect.map(status, ({ state }) => state !== "LIVE"),
      )
      assert.deepInclude(yield* exports, { allowed: false, source: "snapshot" })
      cable.mend()
      yield* until(
        "it is live again",
        Effect.map(status, ({ state }) => state === "LIVE"),
      )
    }),
  )

  it.effect("another edge answers as the first one, and so does a product behind that", () =>
    Effect.gen(function* () {
      const { edge, limit, service, token } = yield* open
      const second = yield* startEdge({ origin: edge.url, tokens: [token] })
      const client = yield* product(second.url, token)
      const options = { token, body: { checks: [{ entitlement: "exports" }, { entitlement: "seats" }] } }
      const allowed = Effect.promise(() => client.check("prod", "exports"))
      assert.deepInclude(yield* allowed, { allowed: true })
      yield* until(
        "the product is live",
        Effect.sync(() => client.status("prod").state === "LIVE"),
      )
      yield* limit(0)
      yield* until(
        "the change decides",
        Effect.map(allowed, (answer) => !answer.allowed),
      )
      const [here, there] = [
        yield* second.call("POST", "/api/instances/prod/check", options),
        yield* service.core("POST", "/instances/prod/check", options),
      ]
      assert.deepStrictEqual(here.body.checks, there.body.checks)
    }),
  )

  it.effect("a snapshot is what the edge has: 304 for the same, and nothing for what only the origin can confirm", () =>
    Effect.gen(function* () {
      const { cable, edge, pass, token } = yield* open
      const fetch = (headers: Record<string, string> = {}) =>
        edge.call("GET", "/api/instances/prod/snapshot", { token, headers })
      const first = yield* fetch()
      assert.strictEqual(first.status, 200, first.text)
      assert.strictEqual(first.headers.get("content-type"), "application/jwt")
      const claims = payloadOf(first.text)
      assert.notProperty(claims, "tranche")
      assert.strictEqual(claims.instance.slug, "prod")
      const etag = first.headers.get("etag") ?? ""
      assert.strictEqual((yield* fetch({ "if-none-match": etag })).status, 304)
      cable.cut()
      pass(61_000)
      yield* until(
        "the edge no longer confirms",
        Effect.map(fetch({ "if-none-match": etag }), ({ status }) => status === 503),
      )
      const kept = yield* fetch()
      assert.strictEqual(kept.status, 200, kept.text)
      // The edge may have fetched it again before the cut.
      const { exp, iat, jti, nbf, renew } = payloadOf(kept.text)
      assert.deepStrictEqual(payloadOf(kept.text), { ...claims, exp, iat, jti, nbf, renew })
    }),
  )

  it.effect("one stream to the origin serves all streams of a token, and each gets what concerns it", () =>
    Effect.gen(function* () {
      const { edge, limit, token } = yield* open
      const headers = { authorization: `Bearer ${token}` }
      const prod = yield* openStream(`${edge.url}/api/changes?instance=prod`, headers)
      const grace = yield* openStream(`${edge.url}/api/changes?instance=grace`, headers)
      const all = yield* openStream(`${edge.url}/api/changes`, headers)
      assert.deepStrictEqual([prod.status, grace.status, all.status], [200, 200, 200])
      yield* limit(3)
      const frame = 'data: {"type":"refetchEvaluation","instance":"prod"}'
      yield* until(
        "frames arrive",
        Effect.sync(() => [prod, all].every(({ text }) => text.includes(frame))),
      )
      assert.notInclude(grace.text, "refetchEvaluation")
      assert.strictEqual(edge.edge.credentials.find(token)?.feed.isOpen, true)
    }),
  )

  it.effect("a stream ends when its token is no longer in the file", () =>
    Effect.gen(function* () {
      const { edge, service, tenant, token } = yield* open
      const stream = yield* openStream(`${edge.url}/api/changes`, { authorization: `Bearer ${token}` })
      yield* Effect.promise(() => edge.edge.credentials.replace([]))
      yield* until(
        "it has ended",
        Effect.sync(() => stream.isEnded),
      )
      assert.strictEqual((yield* edge.call("GET", "/api/me", { token })).status, 401)
      assert.strictEqual((yield* service.core("GET", "/me", { token: tenant.token })).status, 200)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("flags at an edge", (it) => {
  it.effect(
    "have the bytes of the origin, with its tag and a stream of the edge",
    () =>
      Effect.gen(function* () {
        const { edge, licenseKey, origin, service, tenant } = yield* open
        const key = yield* licenseKey("prod")
        const other = yield* startEdge({ origin, tokens: [key.token, tenant.token] })
        const contexts = [
          ...Array.from({ length: 8 }, (_, user) => ({ targetingKey: `user-${user}`, country: "de" })),
          { targetingKey: "prod" },
          { targetingKey: "grace", country: "fr" },
          {},
          { targetingKey: 7 },
          { targetingKey: "prod", keyshelf: { instance: { slug: "other" } } },
        ]
        const paths = [
          "",
          "/plain",
          "/without-value",
          "/by-country",
          "/entitlement.exports",
          "/entitlement.none",
          "/none",
        ]
        const withoutStreams = (text: string) => text.replace(/,"eventStreams":.*$/, "")
        for (const token of [key.token, tenant.token]) {
          for (const context of contexts) {
            for (const path of paths) {
              const options = { token, body: { context } }
              const here = yield* other.call("POST", `/api/ofrep/v1/evaluate/flags${path}`, options)
              const there = yield* service.core("POST", `/ofrep/v1/evaluate/flags${path}`, options)
              const about = JSON.stringify([path, context])
              assert.deepStrictEqual(
                [here.status, withoutStreams(here.text)],
                [there.status, withoutStreams(there.text)],
                about,
              )
              assert.strictEqual(here.headers.get("etag"), there.headers.get("etag"), about)
            }
          }
        }
        const options = { token: key.token, body: { context: {} } }
        const { body, headers } = yield* other.call("POST", "/api/ofrep/v1/evaluate/flags", options)
        const same = yield* other.call("POST", "/api/ofrep/v1/evaluate/flags", {
          ...options,
          headers: { "if-none-match": headers.get("etag") ?? "" },
        })
        assert.strictEqual(same.status, 304)
        const [{ endpoint, type }] = body.eventStreams
        assert.strictEqual(type, "sse")
        const stream = yield* openStream(other.url + endpoint.requestUri)
        assert.strictEqual(stream.status, 200)
        // The origin does not know the tickets of an edge, nor the edge those of another one.
        assert.strictEqual((yield* openStream(service.origins.core + endpoint.requestUri)).status, 401)
        assert.strictEqual((yield* openStream(edge.url + endpoint.requestUri)).status, 401)
        yield* service.core("PUT", "/feature-flags/plain", { token: tenant.token, body: { enabled: false } })
        yield* until(
          "the stream says so",
          Effect.sync(() => stream.text.includes("refetchEvaluation")),
        )
        const isDisabled = Effect.map(
          other.call("POST", "/api/ofrep/v1/evaluate/flags/plain", options),
          ({ body: evaluation }) => evaluation.reason === "DISABLED",
        )
        yield* until("the flag is off", isDisabled)
      }),
    60_000,
  )
})
