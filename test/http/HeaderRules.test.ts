import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { webhookRoutes } from "../../src/app/Routes.ts"
import * as Listeners from "../../src/http/Listeners.ts"
import { codeOf, getWith } from "../support/rawText.ts"
import { TestService } from "../support/TestService.ts"

/** Returns the status of the response and its problem code, or "" for a success. */
const send = (origin: string, path: string, lines: ReadonlyArray<string>, version?: string) =>
  Effect.map(getWith(origin, path, lines, version), (reply) => [reply.status, codeOf(reply)] as const)

const MALFORMED = [400, "Request.MalformedBody"] as const
const WRONG_KIND = [403, "Auth.WrongCredentialKind"] as const

const webhookOrigin = Effect.gen(function* () {
  const built = yield* Layer.build(Listeners.serve(webhookRoutes, { host: "127.0.0.1", port: 0, setting: "none" }))
  const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, HttpServer.HttpServer)
  return "port" in address ? `http://127.0.0.1:${address.port}` : ""
})

layer(TestService.layer, { excludeTestServices: true })("a request with an ambiguous header", (it) => {
  it.effect("is rejected with two `Host` headers, on every listener and path", () =>
    Effect.gen(function* () {
      const { operator, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const webhooks = yield* webhookOrigin
      const cases = [
        [origins.core, "/api/me", token],
        [origins.core, "/docs", token],
        [origins.core, "/nowhere", token],
        [webhooks, "/api/webhooks", token],
        [origins.platform, "/api/platform/me", operator],
        [origins.internal, "/health/live", token],
        [origins.internal, "/tokens/validate", token],
      ] as const
      for (const [origin, path, credential] of cases) {
        const authorization = `authorization: Bearer ${credential}`
        for (const second of ["host: b", "HOST: a", "Host:"]) {
          assert.deepStrictEqual(yield* send(origin, path, ["host: a", authorization, second]), MALFORMED, path)
        }
        assert.deepStrictEqual(yield* send(origin, path, ["host: a", "host: a", authorization], "1.0"), MALFORMED, path)
      }
      // The target's authority takes the place of `Host`, but not of the rule.
      assert.deepStrictEqual(yield* send(origins.core, "http://a/docs", ["host: a", "host: b"]), MALFORMED)
      assert.deepStrictEqual(yield* send(origins.core, "/api/me", [`authorization: Bearer ${token}`]), MALFORMED)
    }),
  )

  it.effect("is rejected with two credentials, also if they are equal, or a proxy joined them", () =>
    Effect.gen(function* () {
      const { operator, origins, tenant } = yield* TestService
      const [{ token }, other] = [yield* tenant(), yield* tenant()]
      const webhooks = yield* webhookOrigin
      for (const [origin, path] of [
        [origins.core, "/api/me"],
        [origins.core, "/docs"],
        [origins.core, "/nowhere"],
        [webhooks, "/api/webhooks"],
        [origins.internal, "/health/live"],
        [origins.internal, "/tokens/validate"],
      ] as const) {
        for (const second of [token, other.token, operator, "ksh_x"]) {
          for (const lines of [
            [`authorization: Bearer ${token}`, `Authorization: Bearer ${second}`],
            [`authorization: Bearer ${second}`, "accept: */*", `AUTHORIZATION: Bearer ${token}`],
            [`authorization: Bearer ${token}, Bearer ${second}`],
            [`authorization: bearer ${token},${second}`],
            [`authorization: Basic eDp5, Bearer ${token}`],
            ["authorization:", `authorization: Bearer ${token}`],
          ]) {
            assert.deepStrictEqual(
              yield* send(origin, path, ["host: a", ...lines]),
              MALFORMED,
              `${path} ${lines.join()}`,
            )
          }
        }
      }
    }),
  )

  it.effect("gets 403 on the platform listener if one of its credentials is not a platform credential", () =>
    Effect.gen(function* () {
      const { operator, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const answer = (...lines: ReadonlyArray<string>) => send(origins.platform, "/nowhere", ["host: a", ...lines])
      const platform = `authorization: Bearer ${operator}`
      for (const other of [`Bearer ${token}`, "Basic eDp5", "Bearer a.b.c", "Bearer"]) {
        assert.deepStrictEqual(yield* answer(platform, `authorization: ${other}`), WRONG_KIND, other)
        assert.deepStrictEqual(yield* answer(`authorization: ${other}`, platform), WRONG_KIND, other)
        assert.deepStrictEqual(yield* answer(platform, platform, `authorization: ${other}`), WRONG_KIND, other)
        assert.deepStrictEqual(yield* answer(`${platform}, ${other}`), WRONG_KIND, other)
        assert.deepStrictEqual(yield* answer(`authorization: ${other}, Bearer ${operator}`), WRONG_KIND, other)
      }
      assert.deepStrictEqual(yield* answer(platform, platform), MALFORMED)
      assert.deepStrictEqual(yield* answer(`${platform}, Bearer ${operator}`), MALFORMED)
      assert.deepStrictEqual(yield* answer("authorization:", platform), MALFORMED)
    }),
  )

  it.effect("is served if only another header is repeated, or its one credential has a scheme with commas", () =>
    Effect.gen(function* () {
      const { operator, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const lines = ["host: a", "accept: text/html", "accept: */*", "x-host: b", "x-authorization: Bearer b"]
      assert.deepStrictEqual(yield* send(origins.core, "/api/me", [...lines, `authorization: Bearer ${token}`]), [
        200,
        "",
      ])
      assert.deepStrictEqual(
        yield* send(origins.platform, "/api/platform/me", [...lines, `authorization: Bearer ${operator}`]),
        [200, ""],
      )
      const digest = 'authorization: Digest username="bearer", realm="x"'
      assert.deepStrictEqual(yield* send(origins.core, "/api/me", ["host: a", digest]), [401, "Auth.InvalidCredential"])
      assert.deepStrictEqual(yield* send(origins.platform, "/api/platform/me", ["host: a", digest]), WRONG_KIND)
    }),
  )
})
