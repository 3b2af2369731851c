import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { TestService } from "../support/TestService.ts"
import type { Answer } from "../support/TestService.ts"

const MEMBERS = ["code", "detail", "errorId", "errors", "instance", "status", "title", "type"]
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const assertProblem = (answer: Answer, status: number, code: string, instance?: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
  assert.deepStrictEqual(Object.keys(answer.body).sort(), MEMBERS)
  assert.strictEqual(answer.body.status, status)
  assert.strictEqual(answer.body.code, code)
  assert.strictEqual(answer.body.type, `urn:keyshelf:problem:${code}`)
  assert.match(answer.body.errorId, UUID)
  assert.isTrue(Array.isArray(answer.body.errors))
  if (instance !== undefined) assert.strictEqual(answer.body.instance, instance)
  assert.isNotNull(answer.headers.get("x-request-id"))
}

const raw = (origin: string, text: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve, reject) => {
        const { hostname, port } = new URL(origin)
        const socket = connect(Number(port), hostname, () => socket.end(text))
        let answer = ""
        socket.on("data", (chunk: Buffer) => (answer += chunk.toString()))
        socket.on("end", () => resolve(answer))
        socket.on("error", reject)
      }),
  )

layer(TestService.layer, { excludeTestServices: true })("HTTP", (it) => {
  it.effect("an unknown path is a problem on every listener", () =>
    Effect.gen(function* () {
      const { core, internal, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      assertProblem(yield* core("GET", "/nowhere", { token }), 404, "Request.RouteNotFound", "/api/nowhere")
      assertProblem(yield* core("GET", "/nowhere"), 404, "Request.RouteNotFound")
      assertProblem(yield* platform("GET", "/nowhere", { token: operator }), 404, "Request.RouteNotFound")
      assertProblem(yield* internal("GET", "/health/nowhere"), 404, "Request.RouteNotFound")
    }),
  )

  it.effect("a path has one spelling", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const path of ["//components", "/COMPONENTS"]) {
        assertProblem(yield* core("GET", path, { token }), 404, "Request.RouteNotFound")
      }
      assertProblem(yield* core("GET", "/components/", { token }), 404, "Component.NotFound")
    }),
  )

  it.effect("a body with very many faults is answered by a document that is smaller than the body", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`member${index}`, index]))
      const answer = yield* core("POST", "/components", { token, body })
      assertProblem(answer, 422, "Request.ValidationFailed")
      assert.strictEqual(answer.body.errors.length, 100)
    }),
  )

  it.effect("a wrong method names those that the path takes", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const answer = yield* core("PUT", "/components", { token, body: {} })
      assertProblem(answer, 405, "Request.MethodNotAllowed")
      assert.strictEqual(answer.headers.get("allow"), "GET, HEAD, POST")
    }),
  )

  it.effect("pages and probes that belong to no API name their methods too", () =>
    Effect.gen(function* () {
      const { core, internal } = yield* TestService
      const answers = [
        yield* core("POST", "/docs"),
        yield* core("DELETE", "/openapi/platform.json"),
        yield* internal("PUT", "/health/live"),
        yield* internal("POST", "/metrics"),
      ]
      for (const answer of answers) {
        assertProblem(answer, 405, "Request.MethodNotAllowed")
        assert.strictEqual(answer.headers.get("allow"), "GET, HEAD")
      }
    }),
  )

  it.effect("a body whose bytes are no UTF-8 is malformed, and nothing of it is kept", () =>
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
      const refused = yield* post("Caf\u00e9")
      assert.strictEqual(refused.status, 400)
      assert.include(yield* Effect.promise(() => refused.text()), "Request.MalformedBody")
      assert.strictEqual((yield* post("Cafe")).status, 201)
      assert.strictEqual((yield* core("GET", "/components", { token })).body.items.length, 1)
    }),
  )

  it.effect("a body that is no JSON is malformed, one of the wrong shape is invalid", () =>
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

  it.effect("every fault of a body is named with its place and what was sent", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const answer = yield* core("POST", "/components", { token, body: { name: "", version: 7, extra: true } })
      assertProblem(answer, 422, "Request.ValidationFailed")
      const faults = new Map<string, unknown>(
        answer.body.errors.map((fault: { location: string; value: unknown }) => [fault.location, fault.value]),
      )
      assert.deepStrictEqual([...faults.keys()].sort(), ["body.extra", "body.name", "body.version"])
      assert.strictEqual(faults.get("body.name"), "")
      assert.strictEqual(faults.get("body.version"), 7)
      assert.strictEqual(faults.get("body.extra"), true)
    }),
  )

  it.effect("faults of the query and the path carry their places", () =>
    Effect.gen(function* () {
      const { core, operator, platform, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const limit of ["0", "201", "1.5", "many", "-1", "", "1e2", "0x10", "+5", "%205"]) {
        const answer = yield* core("GET", `/components?limit=${limit}`, { token })
        assertProblem(answer, 422, "Request.ValidationFailed")
        assert.strictEqual(answer.body.errors[0].location, "query.limit")
      }
      const answer = yield* platform("GET", "/platform/organizations/not-a-uuid", { token: operator })
      assertProblem(answer, 422, "Request.ValidationFailed")
      assert.strictEqual(answer.body.errors[0].location, "path.orgId")
    }),
  )

  it.effect("NUL and broken text are refused, in bodies and in paths", () =>
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
      const broken = yield* core("GET", "/components/%ff%fe", { token })
      assert.isTrue(broken.status === 400 || broken.status === 404, broken.text)
    }),
  )

  it.effect("a body of another media type is refused", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const answer = yield* core("POST", "/components", {
        token,
        rawBody: "name=x",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      })
      assertProblem(answer, 415, "Request.UnsupportedMediaType")
    }),
  )

  it.effect("a body that is encoded as identity, or a request without one, is taken", () =>
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

  it.effect("a body of more than 1 MiB is refused", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { name: "x".repeat(1024 * 1024), version: "1" }
      assertProblem(yield* core("POST", "/components", { token, body }), 413, "Request.BodyTooLarge")
    }),
  )

  it.effect("the caller's request id comes back if it is sane, else a fresh one", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const kept = yield* core("GET", "/me", { headers: { "x-request-id": "deploy-42.a" } })
      assert.strictEqual(kept.headers.get("x-request-id"), "deploy-42.a")
      const replaced = yield* core("GET", "/me", { headers: { "x-request-id": "a b\tc" } })
      assert.match(replaced.headers.get("x-request-id") ?? "", UUID)
    }),
  )

  it.effect("what is no HTTP is still answered by a problem", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const answer = yield* raw(origins.core, "NONSENSE\r\n\r\n")
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, /content-type: application\/problem\+json/)
    }),
  )

  it.effect("what Node.js refuses by itself is a problem too, on every listener", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const refusals = [
        ["GET /api/me HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
        ["GET /api/me HTTP/1.1\r\nhost: x\r\nexpect: more\r\n\r\n", 417],
        ["CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", 404],
        [`GET /api/me HTTP/1.1\r\nhost: x\r\nx-large: ${"x".repeat(32_768)}\r\n\r\n`, 431],
      ] as const
      for (const origin of [origins.core, origins.platform, origins.internal]) {
        for (const [request, status] of refusals) {
          const [head = "", body = ""] = (yield* raw(origin, request)).split("\r\n\r\n")
          assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
          assert.match(head, /content-type: application\/problem\+json/i)
          assert.match(head, /x-request-id: /i)
          assert.deepStrictEqual(Object.keys(JSON.parse(body)).sort(), MEMBERS)
          assert.strictEqual(JSON.parse(body).status, status)
        }
      }
    }),
  )

  it.effect("a caller that hangs up on such a refusal harms nobody", () =>
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

  it.effect("HTTP 1.0 needs no `Host`", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      assert.match(yield* raw(origins.core, "GET /docs HTTP/1.0\r\n\r\n"), /^HTTP\/1\.1 200 /)
    }),
  )

  it.effect("a GET path answers HEAD", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const answer = yield* core("HEAD", "/components", { token })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.text, "")
    }),
  )

  it.effect("the documentation and its three documents are served without the internet", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const page = yield* core("GET", "/docs")
      assert.strictEqual(page.status, 200)
      for (const name of ["core", "platform", "webhooks"]) {
        assert.include(page.text, `/docs/${name}`)
        const viewer = yield* core("GET", `/docs/${name}`)
        assert.strictEqual(viewer.status, 200)
        assert.notMatch(viewer.text, /<(script|link)[^>]+(src|href)="https?:/)
      }
      for (const path of ["/openapi.json", "/openapi/platform.json", "/openapi/webhooks.json"]) {
        const document = yield* core("GET", path)
        assert.strictEqual(document.status, 200)
        assert.match(document.body.openapi, /^3\.1/)
      }
    }),
  )

  it.effect("health tells liveness from readiness", () =>
    Effect.gen(function* () {
      const { internal } = yield* TestService
      assert.strictEqual((yield* internal("GET", "/health/live")).status, 200)
      const ready = yield* internal("GET", "/health/ready")
      assert.strictEqual(ready.body.status, "ready")
    }),
  )
})
