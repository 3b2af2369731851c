import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { followChanges } from "../events/changes.ts"
import { createShop } from "../instances/Shop.ts"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"

const FLAGS = "/ofrep/v1/evaluate/flags"

const boolean = {
  type: "boolean",
  variants: [
    { name: "on", value: true },
    { name: "off", value: false },
  ],
  defaultVariant: "off",
}

const flagShop = Effect.gen(function* () {
  const service = yield* TestService
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.customer("Acme")
  yield* shop.instance("Prod", "acme", "pro", { endLicenseDate: "2099-01-01T00:00:00.000Z" })
  const evaluate = (token: string, context: object, headers: Record<string, string> = {}) =>
    service.core("POST", FLAGS, { token, body: { context }, headers })
  /** The path of the stream that a bulk evaluation names, below `/api`. */
  const streamOf = (token: string, context: object) =>
    Effect.map(evaluate(token, context), ({ body }) =>
      String(body.eventStreams[0].endpoint.requestUri).replace(/^\/api/, ""),
    )
  const follow = (path: string) => followChanges(service.origins.core, "none", "", path)
  return { ...service, ...shop, evaluate, streamOf, follow }
})

layer(TestService.separate.pipe(Layer.provideMerge(MovableClock.layer)), { excludeTestServices: true })(
  "the event stream of evaluated flags",
  (it) => {
    it.effect("is named by a bulk evaluation, and no part of its entity tag", () =>
      Effect.gen(function* () {
        const { evaluate, tenant } = yield* flagShop
        const [first, second] = [yield* evaluate(tenant.token, {}), yield* evaluate(tenant.token, {})]
        const [stream] = first.body.eventStreams
        assert.deepStrictEqual(
          { ...stream, endpoint: { requestUri: stream.endpoint.requestUri.slice(0, 26) } },
          { type: "sse", endpoint: { requestUri: "/api/ofrep/v1/streams/kst_" }, inactivityDelaySec: 120 },
        )
        assert.notStrictEqual(second.body.eventStreams[0].endpoint.requestUri, stream.endpoint.requestUri)
        const etag = String(first.headers.get("etag"))
        assert.strictEqual(second.headers.get("etag"), etag)
        const same = yield* evaluate(tenant.token, {}, { "if-none-match": etag })
        assert.deepStrictEqual([same.status, same.text], [304, ""])
      }),
    )

    it.effect("says that flags changed, and what is granted to the instance of the context", () =>
      Effect.gen(function* () {
        const { call, entitlement, follow, grant, streamOf, tenant } = yield* flagShop
        const instance = yield* follow(yield* streamOf(tenant.token, { targetingKey: "prod" }))
        const visitor = yield* follow(yield* streamOf(tenant.token, { targetingKey: "anna" }))
        yield* entitlement("seats")
        assert.deepStrictEqual([yield* instance.nextNamed, yield* visitor.nextNamed], [{}, {}])
        yield* grant("pro", "seats", 5)
        assert.deepStrictEqual(yield* instance.nextNamed, { license: "pro" })
        yield* call("POST", "/feature-flags", { key: "dark", ...boolean })
        assert.deepStrictEqual([yield* instance.nextNamed, yield* visitor.nextNamed], [{}, {}])
      }),
    )

    it.effect("of a license key names its instance alone, whatever the targeting key is", () =>
      Effect.gen(function* () {
        const { call, follow, streamOf } = yield* flagShop
        const key = yield* call("POST", "/instances/prod/keys", {
          name: "on site",
          scopes: ["read:instances", "read:feature_flags"],
        })
        const reader = yield* follow(yield* streamOf(String(key.body.token), { targetingKey: "anna" }))
        yield* call("PATCH", "/customers/acme", { domain: "acme.example" })
        assert.deepStrictEqual(yield* reader.nextNamed, { instance: "prod" })
      }),
    )

    it.effect("ends with its credential, and its ticket with it", () =>
      Effect.gen(function* () {
        const { call, core, follow, streamOf } = yield* flagShop
        const key = yield* call("POST", "/instances/prod/keys", { name: "on site", scopes: ["read:feature_flags"] })
        const path = yield* streamOf(String(key.body.token), {})
        const reader = yield* follow(path)
        yield* call("DELETE", `/instances/prod/keys/${key.body.slug}`)
        yield* reader.ended.pipe(Effect.timeout("1500 millis"))
        const { body, status } = yield* core("GET", path)
        assert.deepStrictEqual([status, body.code], [401, "Auth.InvalidCredential"])
        assert.strictEqual(body.instance, "/api/ofrep/v1/streams/kst_***")
      }),
    )

    it.effect("a ticket lives for a day, and an altered one never did", () =>
      Effect.gen(function* () {
        const { core, streamOf, tenant } = yield* flagShop
        const clock = yield* MovableClock
        const path = yield* streamOf(tenant.token, {})
        const middle = path.length - 40
        const altered = `${path.slice(0, middle)}${path[middle] === "A" ? "B" : "A"}${path.slice(middle + 1)}`
        for (const wrong of [altered, `${path}x`, "/ofrep/v1/streams/none", "/ofrep/v1/streams/kst_eA"]) {
          const { body, status } = yield* core("GET", wrong)
          assert.deepStrictEqual([status, body.code], [401, "Auth.InvalidCredential"], wrong)
        }
        const json = yield* core("GET", path, { headers: { accept: "application/json" } })
        assert.strictEqual(json.body.code, "Request.NotAcceptable")
        yield* clock.pass(24 * 3_600_000)
        assert.strictEqual((yield* core("GET", path)).status, 401)
      }),
    )

    it.effect("is not named by a response that is stored for replay", () =>
      Effect.gen(function* () {
        const { evaluate, tenant } = yield* flagShop
        const { body, status } = yield* evaluate(tenant.token, {}, { "idempotency-key": "once" })
        assert.deepStrictEqual([status, body.eventStreams], [200, undefined])
      }),
    )
  },
)
