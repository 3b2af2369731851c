import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import * as Listeners from "../../src/http/Listeners.ts"
import * as ProblemResponses from "../../src/http/middleware/ProblemResponses.ts"
import { expire } from "../../src/http/middleware/RequestDeadlines.ts"
import { request } from "../support/http.ts"

const stuck = { running: false, interrupted: false }

const routes = Layer.mergeAll(
  HttpRouter.add(
    "GET",
    "/stuck",
    Effect.sync(() => (stuck.running = true)).pipe(
      Effect.andThen(Effect.never),
      Effect.onInterrupt(() => Effect.sync(() => (stuck.interrupted = true))),
    ),
  ),
  HttpRouter.add("GET", "/quick", HttpServerResponse.text("here")),
).pipe(Layer.provideMerge(ProblemResponses.layer))

const listening = Effect.gen(function* () {
  const built = yield* Layer.build(Listeners.serve(routes, { host: "127.0.0.1", port: 0, setting: "none" }))
  const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, HttpServer.HttpServer)
  return "port" in address ? `http://127.0.0.1:${address.port}` : ""
})

describe("a request that takes too long", () => {
  it.live("a request over the time limit is interrupted and gets a 503 problem; other requests continue", () =>
    Effect.gen(function* () {
      const origin = yield* listening
      const response = request("GET", `${origin}/stuck`)
      while (!stuck.running) yield* Effect.sleep("5 millis")
      // Expires all requests that began before now.
      expire(performance.now())
      const { body, headers, status } = yield* Effect.promise(() => response)
      assert.strictEqual(status, 503)
      assert.strictEqual(body.code, "Service.Unavailable")
      assert.match(body.detail, /took too long/)
      assert.isNotNull(headers.get("retry-after"))
      assert.isNotNull(headers.get("x-request-id"))
      assert.isTrue(stuck.interrupted)
      const quick = yield* Effect.promise(() => request("GET", `${origin}/quick`))
      assert.strictEqual(quick.text, "here")
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))),
  )
})
