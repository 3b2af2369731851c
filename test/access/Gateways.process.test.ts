import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { freePorts } from "../support/ServiceProcess.ts"
import { request } from "../support/http.ts"
import type { CallOptions } from "../support/http.ts"
import { TestService } from "../support/TestService.ts"
import { CONTACT, forEachGateway, Gatewayed, hostOf, PAGE } from "./gateways.ts"

const call = (origin: string, method: string, path: string, options?: CallOptions) =>
  Effect.promise(() => request(method, origin + path, options))

/** The parts of an error response that must be equal with and without the gateway. */
const shapeOf = ({ body, headers, status }: Effect.Success<ReturnType<typeof call>>) => ({
  status,
  body: { ...body, errorId: "" },
  contentType: headers.get("content-type"),
  challenge: headers.get("www-authenticate"),
})

forEachGateway((gatewayed, gateway) => {
  layer(gatewayed, { excludeTestServices: true })("in front of the Core API", (it) => {
    it.effect("a token works within its scopes, although the Core API itself rejects it", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const { tenant } = yield* TestService
        const { organizationId, token } = yield* tenant(["read:components"])
        assert.strictEqual((yield* call(core, "GET", "/api/me", { token })).status, 401)
        const me = yield* call(origin, "GET", "/api/me", { token })
        assert.strictEqual(me.status, 200)
        assert.strictEqual(me.body.organizationId, organizationId)
        assert.deepStrictEqual(me.body.scopes, ["read:components"])
        assert.isNull(me.headers.get("authorization"))
        const body = { name: "a", version: "1" }
        const rejected = yield* call(origin, "POST", "/api/components", { token, body })
        assert.strictEqual(rejected.body.code, "Auth.MissingScope")
      }),
    )

    it.effect("bodies, queries, headers and problems of requests and responses pass unchanged", () =>
      Effect.gen(function* () {
        const { origin } = yield* Gatewayed
        const { tenant } = yield* TestService
        const { token } = yield* tenant()
        const headers = { "idempotency-key": "once", "x-request-id": "mine-1" }
        const body = { name: "Übergröße", version: "1", metadata: undefined }
        const created = yield* call(origin, "POST", "/api/components", { token, body, headers })
        assert.strictEqual(created.status, 201, created.text)
        assert.strictEqual(created.headers.get("x-request-id"), "mine-1")
        assert.strictEqual(created.body.name, "Übergröße")
        const again = yield* call(origin, "POST", "/api/components", { token, body, headers })
        assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
        const page = yield* call(origin, "GET", "/api/components?limit=1", { token })
        assert.strictEqual(page.body.items[0].slug, created.body.slug)
        const bad = yield* call(origin, "GET", "/api/components?limit=0", { token })
        assert.strictEqual(bad.status, 422)
        assert.strictEqual(bad.body.errors[0].location, "query.limit")
        const deleted = yield* call(origin, "DELETE", `/api/components/${created.body.slug}`, { token })
        assert.strictEqual(deleted.status, 204)
      }),
    )

    it.effect("the operator's security.txt is read without a credential, with any, and unchanged", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const path = "/.well-known/security.txt"
        const expected = yield* call(core, "GET", path)
        assert.include(expected.text, CONTACT)
        for (const token of [undefined, `ksh_${"a".repeat(43)}`, "nonsense"]) {
          const response = yield* call(origin, "GET", path, token === undefined ? {} : { token })
          assert.strictEqual(response.status, 200, response.text)
          assert.strictEqual(response.text, expected.text)
          assert.strictEqual(response.headers.get("content-type"), "text/plain; charset=utf-8")
        }
      }),
    )

    it.effect("an invalid credential gets the same response as from the Core API", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const { operator } = yield* TestService
        const path = "/api/components?limit=2"
        const expected = shapeOf(yield* call(core, "GET", path))
        assert.strictEqual(expected.status, 401)
        assert.strictEqual(expected.body.instance, "/api/components")
        for (const authorization of [
          undefined,
          `Bearer ksh_${"a".repeat(43)}`,
          `bearer  ksh_${"a".repeat(43)}`,
          "Bearer ksh_",
          `Bearer ${operator}`,
          "Bearer nonsense",
          "Basic a3NoXzp4",
        ]) {
          const response = yield* call(
            origin,
            "GET",
            path,
            authorization === undefined ? {} : { headers: { authorization } },
          )
          assert.deepStrictEqual(shapeOf(response), expected, authorization)
        }
        const posted = yield* call(origin, "POST", "/api/components", {
          token: `ksh_${"a".repeat(43)}`,
          body: { name: "a", version: "1" },
        })
        assert.deepStrictEqual(shapeOf(posted), shapeOf(yield* call(core, "POST", "/api/components", { body: {} })))
      }),
    )

    it.effect("several credentials in one header get the 400 of the Core API", () =>
      Effect.gen(function* () {
        const { origin } = yield* Gatewayed
        const { tenant } = yield* TestService
        const { token } = yield* tenant()
        for (const authorization of [`Bearer ${token}, Bearer ${token}`, `Bearer a.b.c, Bearer ${token}`]) {
          const response = yield* call(origin, "GET", "/api/components", { headers: { authorization } })
          assert.deepStrictEqual([response.status, response.body.code], [400, "Request.MalformedBody"])
        }
      }),
    )

    it.effect("a revocation applies to the next request", () =>
      Effect.gen(function* () {
        const { origin } = yield* Gatewayed
        const { operator, platform, tenant } = yield* TestService
        const { organizationId } = yield* tenant()
        const tokens = `/platform/organizations/${organizationId}/tokens`
        for (let round = 0; round < 10; round++) {
          const { body } = yield* platform("POST", tokens, { token: operator, body: { name: `round ${round}` } })
          assert.strictEqual((yield* call(origin, "GET", "/api/me", { token: body.token })).status, 200)
          yield* platform("DELETE", `${tokens}/${body.slug}`, { token: operator })
          assert.strictEqual((yield* call(origin, "GET", "/api/me", { token: body.token })).status, 401)
        }
      }),
    )

    it.effect("a person's token passes unchanged and is verified by the Core API", () =>
      Effect.gen(function* () {
        const { issuer, origin } = yield* Gatewayed
        const { tenant } = yield* TestService
        const { organizationId } = yield* tenant()
        const token = yield* issuer.token({ claims: { sub: "anna", org_id: organizationId } })
        const me = yield* call(origin, "GET", "/api/me", { token })
        assert.strictEqual(me.status, 200, me.text)
        assert.strictEqual(me.body.kind, "PERSON")
        const altered = yield* call(origin, "GET", "/api/me", { token: `${token.slice(0, -6)}AAAAAA` })
        assert.strictEqual(altered.body.code, "Auth.InvalidCredential")
      }),
    )

    it.effect("an internal JWT from outside is rejected", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const { internal, tenant } = yield* TestService
        const { token } = yield* tenant()
        const exchanged = (yield* internal("GET", "/tokens/validate", { token })).headers.get("authorization") ?? ""
        const headers = { authorization: exchanged }
        assert.strictEqual((yield* call(core, "GET", "/api/me", { headers })).status, 200)
        for (const authorization of [exchanged, exchanged.replace("Bearer ", "bEARER   ")]) {
          assert.strictEqual((yield* call(origin, "GET", "/api/me", { headers: { authorization } })).status, 401)
        }
      }),
    )

    it.effect("public documents are served, and the internal listener cannot be reached", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const { tenant } = yield* TestService
        const { organizationId, token } = yield* tenant()
        assert.strictEqual((yield* call(origin, "GET", "/openapi.json")).status, 200)
        assert.strictEqual((yield* call(origin, "GET", `/api/offline/${organizationId}/keys`)).text, '{"keys":[]}')
        for (const path of ["/tokens/validate", "/health/ready", "/metrics", "/.keyshelf/validate"]) {
          const response = yield* call(origin, "GET", path, { token })
          assert.strictEqual(response.status, 404, path)
          assert.isNull(response.headers.get("authorization"))
          assert.deepStrictEqual(shapeOf(response), shapeOf(yield* call(core, "GET", path)))
        }
      }),
    )

    it.effect("the console passes without a credential, with its headers unchanged", () =>
      Effect.gen(function* () {
        const { core, origin } = yield* Gatewayed
        const config = yield* call(origin, "GET", "/console/config.json")
        assert.deepStrictEqual([config.status, config.body.surface], [200, "core"])
        for (const path of ["/console", "/console/customers/globex?tab=usage"]) {
          const page = yield* call(origin, "GET", path)
          assert.deepStrictEqual([page.status, page.text], [200, PAGE], path)
          const direct = yield* call(core, "GET", path)
          for (const name of ["content-security-policy", "cache-control", "etag"]) {
            assert.isNotNull(page.headers.get(name), name)
            assert.strictEqual(page.headers.get(name), direct.headers.get(name), name)
          }
        }
        const start = yield* call(origin, "GET", "/", { headers: { accept: "text/html" } })
        assert.deepStrictEqual(
          [start.status, new URL(start.headers.get("location") ?? "", `${origin}/`).href],
          [303, `${origin}/console`],
        )
      }),
    )

    it.effect("a body that is too large is rejected with a problem document", () =>
      Effect.gen(function* () {
        const { origin } = yield* Gatewayed
        const { tenant } = yield* TestService
        const { token } = yield* tenant()
        const body = { name: "a", version: "1", description: "x".repeat(1_100_000) }
        const rejected = yield* call(origin, "POST", "/api/components", { token, body })
        assert.strictEqual(rejected.status, 413)
        assert.strictEqual(rejected.body.code, "Request.BodyTooLarge")
        assert.include(rejected.headers.get("content-type"), "application/problem+json")
      }),
    )

    it.effect("an unreachable Core API or validation endpoint gives a 503 problem with Retry-After", () =>
      Effect.gen(function* () {
        const { core } = yield* Gatewayed
        const { origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const [closed] = yield* freePorts(1)
        const nowhere = `127.0.0.1:${closed}`
        for (const behind of [
          { core: hostOf(core), internal: nowhere },
          { core: nowhere, internal: hostOf(origins.internal) },
        ]) {
          const origin = yield* gateway.start(behind)
          const response = yield* call(origin, "GET", "/api/me?a=1", { token })
          assert.strictEqual(response.status, 503, response.text)
          assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
          assert.strictEqual(response.headers.get("retry-after"), "1")
          const { errorId, ...problem } = response.body
          assert.match(errorId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
          assert.deepStrictEqual(problem, {
            type: "urn:keyshelf:problem:Service.Unavailable",
            title: "Temporarily unavailable",
            status: 503,
            code: "Service.Unavailable",
            detail: "The service cannot be reached. Try again shortly.",
            instance: "/api/me",
            errors: [],
          })
          assert.isNotNull(response.headers.get("x-request-id"))
        }
      }).pipe(Effect.scoped),
    )
  })
})
