import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

const PROPERTIES = ["code", "detail", "errorId", "errors", "instance", "status", "title", "type"]
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const assertProblem = (response: HttpResponse, status: number, code: string, instance?: string) => {
  assert.strictEqual(response.status, status, response.text)
  assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
  assert.deepStrictEqual(Object.keys(response.body).sort(), PROPERTIES)
  assert.strictEqual(response.body.status, status)
  assert.strictEqual(response.body.code, code)
  assert.strictEqual(response.body.type, `urn:keyshelf:problem:${code}`)
  assert.match(response.body.errorId, UUID)
  assert.isTrue(Array.isArray(response.body.errors))
  if (instance !== undefined) assert.strictEqual(response.body.instance, instance)
  assert.isNotNull(response.headers.get("x-request-id"))
}

const raw = (origin: string, text: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve, reject) => {
        const { hostname, port } = new URL(origin)
        const socket = connect(Number(port), hostname, () => socket.end(text))
        let response = ""
        socket.on("data", (chunk: Buffer) => (response += chunk.toString()))
        socket.on("end", () => resolve(response))
        socket.on("error", reject)
      }),
  )

layer(TestService.layer, { excludeTestServices: true })("HTTP", (it) => {
  it.effect("an unknown path returns a 404 problem on every listener", () =>
    Effect.gen(function* () {
      const { core, internal, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      assertProblem(yield* core("GET", "/nowhere", { token }), 404, "Request.RouteNotFound", "/api/nowhere")
      assertProblem(yield* core("GET", "/nowhere"), 404, "Request.RouteNotFound")
      assertProblem(yield* platform("GET", "/nowhere", { token: operator }), 404, "Request.RouteNotFound")
      assertProblem(yield* internal("GET", "/health/nowhere"), 404, "Request.RouteNotFound")
    }),
  )

  it.effect("other spellings of a path are not found", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const path of ["//components", "/COMPONENTS"]) {
        assertProblem(yield* core("GET", path, { token }), 404, "Request.RouteNotFound")
      }
      assertProblem(yield* core("GET", "/components/", { token }), 404, "Component.NotFound")
    }),
  )

  it.effect("a body with many validation errors gets the first 100", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`property${index}`, index]))
      const response = yield* core("POST", "/components", { token, body })
      assertProblem(response, 422, "Request.ValidationFailed")
      assert.strictEqual(response.body.errors.length, 100)
    }),
  )

  it.effect("a wrong method gets 405 with the methods of the path in `Allow`", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const response = yield* core("PUT", "/components", { token, body: {} })
      assertProblem(response, 405, "Request.MethodNotAllowed")
      assert.strictEqual(response.headers.get("allow"), "GET, HEAD, POST")
    }),
  )

  it.effect("a wrong method on a page or probe outside the APIs gets 405 with `Allow`", () =>
    Effect.gen(function* () {
      const { core, internal } = yield* TestService
      const responses = [
        yield* core("POST", "/docs"),
        yield* core("PUT", "/docs/viewer.js"),
        yield* core("DELETE", "/openapi/platform.json"),
        yield* internal("PUT", "/health/live"),
        yield* internal("POST", "/metrics"),
      ]
      for (const response of responses) {
        assertProblem(response, 405, "Request.MethodNotAllowed")
        assert.strictEqual(response.headers.get("allow"), "GET, HEAD")
      }
    }),
  )

  it.effect("a body that is not UTF-8 is rejected and stores nothing", () =>
    Effect.gen(function* () {
      const { core, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      const post = (name: string) =>
        Effect.promise(() =>
          fetch(`${origins.core}/api/components`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: Buffer.from(`{"name":"${name}","version":"1"}`, "latin1"),
          }),
        )
      const rejected = yield* post("Caf\u00e9")
      assert.strictEqual(rejected.status, 400)
      assert.include(yield* Effect.promise(() => rejected.text()), "Request.MalformedBody")
      assert.strictEqual((yield* post("Cafe")).status, 201)
      assert.strictEqual((yield* core("GET", "/components", { token })).body.items.length, 1)
    }),
  )

  it.effect("a body that is not JSON gets 400, and one of the wrong shape 422", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const post = (rawBody: string) => core("POST", "/components", { token, rawBody })
      assertProblem(yield* post("{"), 400, "Request.MalformedBody")
      assertProblem(yield* post("{'a': 1}"), 400, "Request.MalformedBody")
      for (const body of ["", "null", "[]", "7", '"text"', "{}"]) {
        assertProblem(yield* post(body), 422, "Request.ValidationFailed")
      }
    }),
  )

  it.effect("every validation error of a body is listed with its location and value", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const response = yield* core("POST", "/components", { token, body: { name: "", version: 7, extra: true } })
      assertProblem(response, 422, "Request.ValidationFailed")
      const errors = new Map<string, unknown>(
        response.body.errors.map((error: { location: string; value: unknown }) => [error.location, error.value]),
      )
      assert.deepStrictEqual([...errors.keys()].sort(), ["body.extra", "body.name", "body.version"])
      assert.strictEqual(errors.get("body.name"), "")
      assert.strictEqual(errors.get("body.version"), 7)
      assert.strictEqual(errors.get("body.extra"), true)
    }),
  )

  it.effect("validation errors of query and path have their location", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const limit of ["0", "201", "1.5", "many", "-1", "", "1e2", "0x10", "+5", "%205"]) {
        const response = yield* core("GET", `/components?limit=${limit}`, { token })
        assertProblem(response, 422, "Request.ValidationFailed")
        assert.strictEqual(response.body.errors[0].location, "query.limit")
      }
      const response = yield* platform("GET", "/platform/organizations/not-a-uuid", { token: operator })
      assertProblem(response, 422, "Request.ValidationFailed")
      assert.strictEqual(response.body.errors[0].location, "path.orgId")
    }),
  )

  it.effect("NUL and invalid Unicode are rejected in bodies and paths", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      assertProblem(
        yield* core("POST", "/components", { token, rawBody: String.raw`{"name":"a\u0000b","version":"1"}` }),
        422,
        "Request.ValidationFailed",
      )
      assertProblem(
        yield* core("POST", "/components", { token, rawBody: String.raw`{"name":"\ud800","version":"1"}` }),
        422,
        "Request.ValidationFailed",
      )
      assertProblem(yield* core("GET", "/components/a%00b", { token }), 422, "Request.ValidationFailed")
      const invalid = yield* core("GET", "/components/%ff%fe", { token })
      assert.isTrue(invalid.status === 400 || invalid.status === 404, invalid.text)
    }),
  )

  it.effect("a body of another media type gets 415", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const response = yield* core("POST", "/components", {
        token,
        rawBody: "name=x",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      })
      assertProblem(response, 415, "Request.UnsupportedMediaType")
    }),
  )

  it.effect("`Content-Encoding: identity` and an encoding without a body are accepted", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const headers = { "content-encoding": "Identity" }
      const body = { name: "plain", version: "1" }
      assert.strictEqual((yield* core("POST", "/components", { token, headers, body })).status, 201)
      const gzip = { "content-encoding": "gzip" }
      assert.strictEqual((yield* core("GET", "/components/plain-1", { token, headers: gzip })).status, 200)
    }),
  )

  it.effect("a body of more than 1 MiB gets 413", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "x".repeat(1024 * 1024), version: "1" }
      assertProblem(yield* core("POST", "/components", { token, body }), 413, "Request.BodyTooLarge")
    }),
  )

  it.effect("a well-formed request id is returned, and a malformed one is replaced", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const kept = yield* core("GET", "/me", { headers: { "x-request-id": "deploy-42.a" } })
      assert.strictEqual(kept.headers.get("x-request-id"), "deploy-42.a")
      const replaced = yield* core("GET", "/me", { headers: { "x-request-id": "a b\tc" } })
      assert.match(replaced.headers.get("x-request-id") ?? "", UUID)
    }),
  )

  it.effect("bytes that are not HTTP get a 400 problem", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const response = yield* raw(origins.core, "NONSENSE\r\n\r\n")
      assert.match(response, /^HTTP\/1\.1 400 /)
      assert.match(response, /content-type: application\/problem\+json/)
    }),
  )

  it.effect("requests that Node.js rejects itself get problems on every listener", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const cases = [
        ["GET /api/me HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
        ["GET /api/me HTTP/1.1\r\nhost: x\r\nexpect: more\r\n\r\n", 417],
        ["CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", 404],
        [`GET /api/me HTTP/1.1\r\nhost: x\r\nx-large: ${"x".repeat(32_768)}\r\n\r\n`, 431],
      ] as const
      for (const origin of [origins.core, origins.platform, origins.internal]) {
        for (const [request, status] of cases) {
          const [head = "", body = ""] = (yield* raw(origin, request)).split("\r\n\r\n")
          assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
          assert.match(head, /content-type: application\/problem\+json/i)
          assert.match(head, /x-request-id: /i)
          assert.deepStrictEqual(Object.keys(JSON.parse(body)).sort(), PROPERTIES)
          assert.strictEqual(JSON.parse(body).status, status)
        }
      }
    }),
  )

  it.effect("a client that resets its connection during a rejection does not affect other requests", () =>
    Effect.gen(function* () {
      const { core, origins } = yield* TestService
      const { hostname, port } = new URL(origins.core)
      yield* Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            const socket = connect(Number(port), hostname, () => {
              socket.write("CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", () => socket.resetAndDestroy())
            })
            socket.on("close", () => resolve())
            socket.on("error", () => {})
          }),
      )
      assert.strictEqual((yield* core("GET", "/nowhere")).status, 404)
    }),
  )

  it.effect("an HTTP 1.0 request without `Host` is accepted", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      assert.match(yield* raw(origins.core, "GET /docs HTTP/1.0\r\n\r\n"), /^HTTP\/1\.1 200 /)
    }),
  )

  it.effect("a GET path supports HEAD", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const response = yield* core("HEAD", "/components", { token })
      assert.strictEqual(response.status, 200)
      assert.strictEqual(response.text, "")
    }),
  )

  it.effect("liveness and readiness have separate probes", () =>
    Effect.gen(function* () {
      const { internal } = yield* TestService
      assert.strictEqual((yield* internal("GET", "/health/live")).status, 200)
      const ready = yield* internal("GET", "/health/ready")
      assert.strictEqual(ready.body.status, "ready")
    }),
  )
})
