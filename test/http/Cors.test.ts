import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option } from "effect"
import { request as httpRequest } from "node:http"
import * as Cors from "../../src/http/middleware/Cors.ts"
import type { CorsOrigins } from "../../src/infra/SettingFormats.ts"
import { inMemoryBudgets } from "../../src/infra/RateLimitStores.ts"
import { Settings } from "../../src/infra/Settings.ts"
import { CurrentBudgets } from "../../src/kernel/ports/RateBudgets.ts"
import { TestService } from "../support/TestService.ts"
import type { Call, HttpResponse } from "../support/TestService.ts"

const APP = "https://app.example.com"
const OTHER = "https://other.example.com"

const EXPOSED =
  "x-request-id, etag, location, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, idempotent-replayed"

const corsHeaders = ({ headers }: HttpResponse) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")))

const preflight = (call: Call, path: string, origin: string, method = "POST") =>
  call("OPTIONS", path, {
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization, content-type, idempotency-key",
    },
  })

const serviceFor = (origins: CorsOrigins | undefined) =>
  TestService.separate.pipe(Layer.provide(Layer.succeed(Cors.AllowedOrigins, origins)))

const limited = serviceFor(new Set([APP, "http://localhost:5173"])).pipe(
  Layer.provide(Layer.effect(CurrentBudgets, inMemoryBudgets({ requests: 6, unit: "hour" }))),
)

layer(limited, { excludeTestServices: true })("a core listener that allows an origin", (it) => {
  it.effect("responses to that origin, including problems, may be read with the headers of the contract", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const headers = { origin: APP }
      const responses = [
        yield* core("GET", "/me", { token, headers }),
        yield* core("GET", "/me", { headers }),
        yield* core("GET", "/components/none", { token, headers }),
        yield* core("GET", "/no-such-path", { token, headers }),
        yield* core("DELETE", "/me", { token, headers }),
        yield* core("POST", "/components", { token, headers, body: {} }),
        yield* core("GET", "/me?x=1", { token, headers }),
        yield* core("POST", "/components", { token, headers, rawBody: "{" }),
        yield* core("GET", "/me", { token, headers }),
        yield* core("GET", "/me", { token, headers }),
      ]
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 401, 404, 404, 405, 422, 422, 400, 200, 429],
      )
      for (const response of responses) {
        assert.deepStrictEqual(corsHeaders(response), {
          "access-control-allow-origin": APP,
          "access-control-expose-headers": EXPOSED,
        })
        assert.strictEqual(response.headers.get("vary"), "origin")
        assert.isNotNull(response.headers.get("x-request-id"))
      }
    }),
  )

  it.effect("a request that is rejected before it is routed can be read too", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const headers = yield* Effect.promise(
        () =>
          new Promise<NodeJS.Dict<string | Array<string>>>((resolve, reject) => {
            const sent = httpRequest(`${origins.core}/api/me`, { setHost: false, headers: ["Origin", APP] })
            sent.on("response", (response) => {
              response.resume()
              resolve({ ...response.headers, status: String(response.statusCode) })
            })
            sent.on("error", reject)
            sent.end()
          }),
      )
      assert.strictEqual(headers["status"], "400")
      assert.strictEqual(headers["access-control-allow-origin"], APP)
    }),
  )

  it.effect("a preflight is answered without credential, for any path and query, and counts against no budget", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const path of ["/components", "/components?unknown=1", "/no-such-path", "/instances/prod/check"]) {
        const response = yield* preflight(core, path, APP)
        assert.strictEqual(response.status, 204, path)
        const { "access-control-allow-headers": requestHeaders, ...others } = corsHeaders(response)
        assert.deepStrictEqual(others, {
          "access-control-allow-origin": APP,
          "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
          "access-control-max-age": "7200",
        })
        assert.strictEqual(response.headers.get("vary"), "origin")
        assert.isNotNull(response.headers.get("x-request-id"))
        assert.includeMembers(requestHeaders?.split(", ") ?? [], [
          "authorization",
          "content-type",
          "idempotency-key",
          "if-none-match",
          "last-event-id",
          "ce-id",
        ])
      }
      for (let index = 0; index < 10; index++) {
        yield* core("OPTIONS", "/me", {
          token,
          headers: { origin: APP, "access-control-request-method": "GET" },
        })
      }
      const { headers } = yield* core("GET", "/me", { token })
      assert.strictEqual(headers.get("ratelimit-remaining"), "5")
    }),
  )

  it.effect("an origin that is not allowed, or none, gets the response without any CORS header", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const responses = [
        yield* core("GET", "/me", { token }),
        yield* core("GET", "/me", { token, headers: { origin: OTHER } }),
        yield* core("GET", "/me", { token, headers: { origin: "null" } }),
        yield* core("GET", "/me", { token, headers: { origin: `${APP}.attacker.example` } }),
        yield* core("GET", "/me", { headers: { origin: OTHER } }),
        yield* preflight(core, "/me", OTHER, "GET"),
      ]
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 200, 200, 200, 401, 204],
      )
      for (const response of responses) {
        assert.deepStrictEqual(corsHeaders(response), {})
        assert.strictEqual(response.headers.get("vary"), "origin")
      }
    }),
  )

  it.effect("OPTIONS that is no preflight stays a method that paths do not support", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const response = yield* core("OPTIONS", "/me", { headers: { origin: APP } })
      assert.strictEqual(response.status, 405)
      assert.strictEqual(response.headers.get("allow"), "GET, HEAD")
    }),
  )
})

layer(serviceFor("*"), { excludeTestServices: true })("a core listener that allows every origin", (it) => {
  it.effect("answers `*`, and never allows credentials", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const response = yield* core("GET", "/me", { headers: { origin: OTHER } })
      assert.deepStrictEqual(corsHeaders(response), {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": EXPOSED,
      })
      const allowed = yield* preflight(core, "/me", OTHER, "GET")
      assert.strictEqual(allowed.status, 204)
      assert.strictEqual(allowed.headers.get("access-control-allow-origin"), "*")
      assert.isNull(allowed.headers.get("access-control-allow-credentials"))
      assert.deepStrictEqual(corsHeaders(yield* core("GET", "/me")), {})
    }),
  )

  it.effect("the Platform API stays closed to browsers", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const response = yield* platform("GET", "/platform/me", { token: operator, headers: { origin: APP } })
      assert.strictEqual(response.status, 200)
      assert.deepStrictEqual(corsHeaders(response), {})
      assert.strictEqual((yield* preflight(platform, "/platform/me", APP, "GET")).status, 405)
    }),
  )
})

layer(serviceFor(undefined), { excludeTestServices: true })("a core listener without the setting", (it) => {
  it.effect("sends no CORS header and answers a preflight as any other OPTIONS", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const response = yield* core("GET", "/me", { headers: { origin: APP } })
      assert.deepStrictEqual(corsHeaders(response), {})
      assert.isNull(response.headers.get("vary"))
      const sent = yield* preflight(core, "/me", APP, "GET")
      assert.strictEqual(sent.status, 405)
      assert.deepStrictEqual(corsHeaders(sent), {})
    }),
  )
})

const originsOf = (text: string) =>
  Effect.provide(Settings, Layer.fresh(Settings.layer)).pipe(
    Effect.map(({ corsOrigins }) => Option.getOrUndefined(corsOrigins)),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ SERVICE_CORS_ORIGINS: text }))),
  )

describe("SERVICE_CORS_ORIGINS", () => {
  it.effect("is `*` or a list of origins, and off if it is empty", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* originsOf(""))
      assert.strictEqual(yield* originsOf(" * "), "*")
      assert.deepStrictEqual(
        yield* originsOf("https://app.example.com, http://localhost:5173"),
        new Set(["https://app.example.com", "http://localhost:5173"]),
      )
    }),
  )

  it.effect("ends the start with one sentence if no browser could send such an origin", () =>
    Effect.gen(function* () {
      for (const text of [
        "app.example.com",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://App.example.com",
        "https://app.example.com:443",
        "null",
        "https://*.example.com",
        "*,https://app.example.com",
        "ftp://a.example",
        "https://app.example.com,",
        "https://user@app.example.com",
        "file:///srv",
      ]) {
        const error = yield* Effect.flip(originsOf(text))
        assert.strictEqual(
          error.message,
          "SERVICE_CORS_ORIGINS is not valid: expected * or a comma-separated list of origins without path, such as https://app.example.com.",
          text,
        )
      }
    }),
  )
})
