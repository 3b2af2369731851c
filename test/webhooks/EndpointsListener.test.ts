import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { coreRoutesWithoutWebhooks, webhookRoutes } from "../../src/app/Routes.ts"
import { AllowedOrigins } from "../../src/http/middleware/Cors.ts"
import * as Listeners from "../../src/http/Listeners.ts"
import { request } from "../support/http.ts"
import { TestService } from "../support/TestService.ts"

const open = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  Effect.gen(function* () {
    const built = yield* Layer.build(Listeners.serve(routes, { host: "127.0.0.1", port: 0, setting: "none" }))
    const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, HttpServer.HttpServer)
    if (!("port" in address)) return yield* Effect.die(new Error("The test listener has no port"))
    const origin = `http://127.0.0.1:${address.port}/api`
    return (method: string, path: string, token?: string, body?: object, headers?: Record<string, string>) =>
      Effect.promise(() =>
        request(method, origin + path, {
          ...(token === undefined ? {} : { token }),
          ...(body === undefined ? {} : { body }),
          ...(headers === undefined ? {} : { headers }),
        }),
      )
  })

layer(TestService.layer, { excludeTestServices: true })("webhook management on a separate listener", (it) => {
  it.effect("only serves webhooks, and the core listener serves everything else", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { token } = yield* tenant()
      const webhooks = yield* open(webhookRoutes)
      const core = yield* open(coreRoutesWithoutWebhooks)
      const body = { url: "https://example.com", eventNames: ["*"] }
      assert.strictEqual((yield* webhooks("POST", "/webhooks", token, body)).status, 201)
      assert.strictEqual((yield* webhooks("GET", "/webhooks/history", token)).status, 200)
      const missing = yield* webhooks("GET", "/customers", token)
      assert.deepStrictEqual([missing.status, missing.body.code], [404, "Request.RouteNotFound"])
      const wrong = yield* webhooks("DELETE", "/webhooks", token)
      assert.deepStrictEqual([wrong.status, wrong.body.code], [405, "Request.MethodNotAllowed"])
      assert.strictEqual(wrong.headers.get("allow"), "GET, HEAD, POST")
      assert.strictEqual((yield* webhooks("GET", "/webhooks")).status, 401)
      assert.strictEqual((yield* core("GET", "/customers", token)).status, 200)
      for (const path of ["/webhooks", "/webhooks/history"]) {
        const gone = yield* core("GET", path, token)
        assert.deepStrictEqual([gone.status, gone.body.code], [404, "Request.RouteNotFound"])
      }
    }),
  )

  it.effect("honours the origins that may call from a browser, such as the console's", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { token } = yield* tenant()
      const console = "https://keyshelf.example"
      const webhooks = yield* open(webhookRoutes.pipe(Layer.provide(Layer.succeed(AllowedOrigins, new Set([console])))))
      const listed = yield* webhooks("GET", "/webhooks", token, undefined, { origin: console })
      assert.deepStrictEqual([listed.status, listed.headers.get("access-control-allow-origin")], [200, console])
      const preflight = yield* webhooks("OPTIONS", "/webhooks", undefined, undefined, {
        origin: console,
        "access-control-request-method": "POST",
      })
      assert.deepStrictEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [204, console])
      const other = yield* webhooks("GET", "/webhooks", token, undefined, { origin: "https://other.example" })
      assert.deepStrictEqual([other.status, other.headers.get("access-control-allow-origin")], [200, null])
    }),
  )
})
