import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { decodeJwt } from "jose"
import { randomBytes } from "node:crypto"
import { connect } from "node:net"
import { databaseProxy } from "../support/cable.ts"
import { request } from "../support/http.ts"
import { freePorts, randomCredential, start } from "../support/ServiceProcess.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"

interface Raw {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Sends a raw request and reads the response, even if the request's body is incomplete. */
const send = (origin: string, lines: ReadonlyArray<string>, body = ""): Effect.Effect<Raw> =>
  Effect.promise(
    () =>
      new Promise<Raw>((resolve, reject) => {
        const { hostname, port } = new URL(origin)
        const socket = connect(Number(port), hostname)
        let text = ""
        const isComplete = () => {
          const end = text.indexOf("\r\n\r\n")
          const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
          return end !== -1 && (lines[0]?.startsWith("HEAD") === true || text.length >= end + 4 + length)
        }
        socket.setTimeout(10_000, () => reject(new Error(`No response: ${text}`)))
        socket.on("error", reject)
        socket.on("data", (chunk) => {
          text += chunk.toString()
          if (!isComplete()) return
          socket.destroy()
          const [head = "", rest = ""] = text.split("\r\n\r\n")
          resolve({ status: Number(head.split(" ")[1]), head, body: rest })
        })
        socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`)
      }),
  )

const jwtOf = ({ head }: Raw) => /^authorization: Bearer (\S+)$/im.exec(head)?.[1] ?? ""

/** The requests that gateways send for validation. */
const shapes = (token: string) => ({
  "nginx's auth_request": ["GET /tokens/validate HTTP/1.0", "Host: keyshelf", `Authorization: Bearer ${token}`],
  "Envoy's ext_authz, with the method of the request, and its path after the prefix": [
    "POST /tokens/validate/api/customers/caf%C3%A9?limit=1&cursor=%7B HTTP/1.1",
    "host: api.example.com",
    `authorization: Bearer ${token}`,
    "content-length: 0",
    "x-envoy-internal: true",
    "x-forwarded-for: 10.0.0.7",
    "x-envoy-expected-rq-timeout-ms: 200",
  ],
  "Envoy's ext_authz for a malformed path": [
    "DELETE /tokens/validate//..//%zz/%00?%=%&&? HTTP/1.1",
    "host: api.example.com",
    `authorization: Bearer ${token}`,
    "content-length: 0",
  ],
  "Traefik's forwardAuth": [
    "GET /tokens/validate HTTP/1.1",
    "Host: 127.0.0.1:8082",
    "User-Agent: curl/8.5.0",
    "Accept: */*",
    "Accept-Encoding: gzip",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    "X-Forwarded-For: 10.0.0.7",
    "X-Forwarded-Host: api.example.com",
    "X-Forwarded-Method: PATCH",
    "X-Forwarded-Port: 443",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Uri: /api/customers?limit=1",
  ],
  "Caddy's forward_auth": [
    "GET /tokens/validate HTTP/1.1",
    "Host: api.example.com",
    `Authorization: Bearer ${token}`,
    "Idempotency-Key: once",
    "X-Forwarded-Method: POST",
    "X-Forwarded-Uri: /api/customers",
  ],
  "a body that does not arrive": [
    "PUT /tokens/validate HTTP/1.1",
    "Host: keyshelf",
    `Authorization: bearer  ${token}`,
    "Content-Type: application/octet-stream",
    "Content-Length: 10000000000",
  ],
  "a body without an end": [
    "PATCH /tokens/validate?a=b HTTP/1.1",
    "Host: keyshelf",
    `Authorization: BEARER ${token}`,
    "Transfer-Encoding: chunked",
  ],
  "a WebSocket upgrade": [
    "GET /tokens/validate/api/events HTTP/1.1",
    "Host: keyshelf",
    `Authorization: Bearer ${token}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ],
  ...Object.fromEntries(
    ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "QUERY"].map((method) => [
      method,
      [
        `${method} /tokens/validate/x HTTP/1.1`,
        "Host: keyshelf",
        `Authorization: Bearer ${token}`,
        "Content-Length: 0",
      ],
    ]),
  ),
})

layer(TestService.separate, { excludeTestServices: true })("the validation endpoint", (it) => {
  it.effect("returns 200 with an empty body and the internal JWT for every form of request", () =>
    Effect.gen(function* () {
      const { core, origins, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      for (const [name, lines] of Object.entries(shapes(token))) {
        const response = yield* send(origins.internal, lines)
        assert.strictEqual(response.status, 200, name)
        assert.strictEqual(response.body, "", name)
        assert.match(response.head, /^cache-control: no-store$/im, name)
        assert.strictEqual(decodeJwt(jwtOf(response)).iss, "urn:keyshelf:token-validation", name)
        assert.notInclude(response.head, token.slice(4), name)
        const me = yield* core("GET", "/me", { token: jwtOf(response) })
        assert.strictEqual(me.body.organizationId, organizationId, name)
      }
    }),
  )

  it.effect("rejects an unknown token with the problem of the Core API for every form of request", () =>
    Effect.gen(function* () {
      const { core, origins } = yield* TestService
      const { errorId: _, instance: __, ...expected } = (yield* core("GET", "/me")).body
      for (const [name, lines] of Object.entries(shapes(`ksh_${"a".repeat(43)}`))) {
        const response = yield* send(origins.internal, lines)
        assert.strictEqual(response.status, 401, name)
        assert.match(response.head, /^www-authenticate: Bearer$/im, name)
        assert.match(response.head, /^content-type: application\/problem\+json$/im, name)
        assert.strictEqual(jwtOf(response), "", name)
        if (name === "HEAD") continue
        const { errorId: ___, instance, ...problem } = JSON.parse(response.body)
        assert.deepStrictEqual(problem, expected, name)
        assert.isTrue(lines[0]?.includes(` ${instance}`), instance)
      }
    }),
  )

  it.effect("accepts only live tokens of organizations", () =>
    Effect.gen(function* () {
      const { internal, operator, tenant } = yield* TestService
      const { token } = yield* tenant()
      const exchanged = (yield* internal("GET", "/tokens/validate", { token })).headers.get("authorization") ?? ""
      for (const authorization of [
        "",
        "Bearer",
        token,
        `Basic ${token}`,
        `Bearer ${operator}`,
        `Bearer ${token}x`,
        "Bearer eyJhbGciOiJSUzI1NiJ9.e30.AAAA",
        exchanged,
      ]) {
        const response = yield* internal("GET", "/tokens/validate", { headers: { authorization } })
        assert.strictEqual(response.status, 401, authorization)
        assert.strictEqual(response.body.code, "Auth.InvalidCredential")
        assert.isNull(response.headers.get("authorization"))
      }
    }),
  )

  it.effect("is served only under its path and only on the internal listener", () =>
    Effect.gen(function* () {
      const { internal, operator, origins, tenant } = yield* TestService
      const { token } = yield* tenant()
      assert.strictEqual((yield* internal("GET", "/tokens/validateX", { token })).status, 404)
      const elsewhere = (origin: string, credential: string) =>
        Effect.promise(() => request("GET", `${origin}/tokens/validate`, { token: credential }))
      assert.strictEqual((yield* elsewhere(origins.core, token)).status, 404)
      assert.strictEqual((yield* elsewhere(origins.platform, operator)).status, 404)
    }),
  )

  it.effect("returns to each of many concurrent requests the JWT of its own token", () =>
    Effect.gen(function* () {
      const { core, internal, tenant } = yield* TestService
      const tenants = yield* Effect.all(Array.from({ length: 5 }, () => tenant()))
      yield* Effect.forEach(
        Array.from({ length: 100 }, (_, index) => tenants[index % 5] ?? { organizationId: "", token: "" }),
        ({ organizationId, token }) =>
          Effect.gen(function* () {
            const response = yield* internal("GET", "/tokens/validate", { token })
            const me = yield* core("GET", "/me", {
              headers: { authorization: response.headers.get("authorization") ?? "" },
            })
            assert.strictEqual(me.body.organizationId, organizationId)
          }),
        { concurrency: 25 },
      )
    }),
  )
})

describe("a process with SERVICE_AUTH_MODE=gateway", { timeout: 120_000 }, () => {
  it.live("accepts internal JWTs but no ksh_ tokens, and validation without the database returns 503, not 401", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const wire = yield* databaseProxy(Redacted.value(url))
      const operator = randomCredential()
      const [core, platform, internal] = yield* freePorts(3)
      const service = yield* start(["serve"], {
        SERVICE_AUTH_MODE: "gateway",
        SERVICE_DATABASE_URL: wire.url,
        SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
        SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
        SERVICE_CORE_PORT: String(core),
        SERVICE_PLATFORM_PORT: String(platform),
        SERVICE_INTERNAL_PORT: String(internal),
      })
      yield* service.ready
      const call = (method: string, to: string, token: string, body?: object) =>
        Effect.promise(() => request(method, to, { token, ...(body === undefined ? {} : { body }) }))
      const organizations = `${service.platform}/api/platform/organizations`
      const { id } = (yield* call("POST", organizations, operator, { name: "Acme" })).body
      const { token } = (yield* call("POST", `${organizations}/${id}/tokens`, operator, { name: "t" })).body
      const validate = call("GET", `http://127.0.0.1:${internal}/tokens/validate/api/me`, token)
      const exchanged = ((yield* validate).headers.get("authorization") ?? "").replace("Bearer ", "")
      assert.strictEqual((yield* call("GET", `${service.core}/api/me`, token)).body.code, "Auth.InvalidCredential")
      assert.strictEqual((yield* call("GET", `${service.core}/api/me`, exchanged)).status, 200)

      wire.cut()
      const away = yield* validate
      assert.strictEqual(away.status, 503)
      assert.strictEqual(away.body.code, "Service.Unavailable")
      assert.isNotNull(away.headers.get("retry-after"))
      assert.isNull(away.headers.get("authorization"))

      wire.mend()
      let status = 0
      for (let attempt = 0; attempt < 100 && status !== 200; attempt++) {
        status = (yield* validate).status
        if (status !== 200) yield* Effect.sleep(100)
      }
      assert.strictEqual(status, 200)
    }).pipe(Effect.provide(Layer.fresh(testSql))),
  )
})
