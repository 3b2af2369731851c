import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { Uuid } from "../../src/kernel/values/Identifiers.ts"
import { coreModules } from "../../src/kernel/contract/Scope.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse, CallOptions } from "../support/TestService.ts"
import { aboutTheInstallation, endpoints, withCredential } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"
import type { Fixture } from "./scenarios.ts"

const isUuid = Schema.is(Uuid)

const PROPERTIES = ["code", "detail", "errorId", "errors", "instance", "status", "title", "type"]

// The OpenFeature CLI prints `error.message`, so problems of its endpoint have that property too (contract, section 5).
const propertiesOf = ({ id }: Endpoint) =>
  id === "featureFlags.manifest" ? [...PROPERTIES, "error"].sort() : PROPERTIES

/**
 * Endpoints of OFREP, which defines its own bodies for 400 and 404, and allows unknown properties (contract, section 9,
 * "Flags"). test/flags/Ofrep.test.ts covers these. Their other errors are problem documents.
 */
const hasOwnErrors = ["ofrep.evaluate", "ofrep.evaluateAll"]
const isProblem = ({ id }: Endpoint) => !hasOwnErrors.includes(id)

const assertProblem = (endpoint: Endpoint, response: HttpResponse, status: number, code: string | RegExp) => {
  const label = `${endpoint.method} ${endpoint.path}: ${response.text}`
  assert.strictEqual(response.status, status, label)
  assert.strictEqual(response.headers.get("content-type"), "application/problem+json", label)
  assert.deepStrictEqual(Object.keys(response.body).sort(), propertiesOf(endpoint), label)
  if (typeof code === "string") assert.strictEqual(response.body.code, code, label)
  else assert.match(response.body.code, code, label)
}

// Scopes that do not include the required one: write access to all other modules.
const otherScopes = (scope: string) => {
  const module = scope.split(":")[1]
  return coreModules.filter((other) => other !== module).map((other) => `write:${other}`)
}

const setup = Effect.gen(function* () {
  const service = yield* TestService
  const owner = yield* service.tenant()
  const fixture = yield* populate({ ...service, ...owner })
  const call = (endpoint: Endpoint, options: CallOptions = {}, at: Fixture = fixture, query = "") => {
    const { body, path } = scenarioOf(endpoint, at)
    const listener = endpoint.api === "platform" ? service.platform : service.core
    return listener(endpoint.method, path + (path.includes("?") ? query.replace("?", "&") : query), {
      ...(body === undefined || options.rawBody !== undefined ? {} : { body }),
      ...options,
    })
  }
  return {
    ...service,
    owner,
    fixture,
    call,
    right: (endpoint: Endpoint) => (endpoint.api === "platform" ? service.operator : owner.token),
  }
})

/** All but the public ones. */
const withBody = endpoints.filter(({ hasBody }) => hasBody)

// CloudEvents can have extension attributes, hence unknown properties.
const allowsUnknownProperties = ["usage.reportEvents"]
// All properties have defaults, so the body can be missing or `null`.
const hasOptionalBody = [
  "licenseKeys.rotate",
  "offlineBundles.issue",
  "reservations.reserve",
  "reservations.commit",
  "serviceAccounts.rotateToken",
]
const withStrictBody = withBody.filter(isProblem)

layer(TestService.layer, { excludeTestServices: true })("every endpoint rejects", (it) => {
  it.effect("a request without a credential", () =>
    Effect.gen(function* () {
      const { call } = yield* setup
      for (const endpoint of withCredential) {
        assertProblem(endpoint, yield* call(endpoint), 401, "Auth.InvalidCredential")
      }
    }),
  )

  it.effect("a credential of the wrong family", () =>
    Effect.gen(function* () {
      const { call, operator, owner } = yield* setup
      for (const endpoint of withCredential) {
        if (endpoint.api === "platform") {
          assertProblem(endpoint, yield* call(endpoint, { token: owner.token }), 403, "Auth.WrongCredentialKind")
        } else {
          assertProblem(endpoint, yield* call(endpoint, { token: operator }), 401, "Auth.InvalidCredential")
        }
      }
    }),
  )

  it.effect("a token without the required scope", () =>
    Effect.gen(function* () {
      const { call, operator, owner, platform, tokenWith } = yield* setup
      for (const endpoint of endpoints) {
        if (endpoint.scope === undefined || endpoint.scope === "any-credential") continue
        const scopes = otherScopes(endpoint.scope)
        const token =
          endpoint.api === "platform"
            ? String(
                (yield* platform("POST", "/platform/credentials", { token: operator, body: { name: "x", scopes } }))
                  .body.token,
              )
            : yield* tokenWith(owner, scopes)
        assertProblem(endpoint, yield* call(endpoint, { token }), 403, "Auth.MissingScope")
      }
    }),
  )

  it.effect("a token with only read scopes on a write", () =>
    Effect.gen(function* () {
      const { call, owner, tokenWith } = yield* setup
      const token = yield* tokenWith(owner, ["read:*"])
      for (const endpoint of endpoints) {
        if (endpoint.api === "platform" || endpoint.scope?.startsWith("write:") !== true) continue
        assertProblem(endpoint, yield* call(endpoint, { token }), 403, "Auth.MissingScope")
      }
    }),
  )

  it.effect("a token of another organization with the same 404 as for a record that does not exist", () =>
    Effect.gen(function* () {
      const { call, tenant, fixture } = yield* setup
      const stranger = yield* tenant()
      const nowhere: Fixture = Object.fromEntries(
        // Ids must be UUIDs: other path values are rejected before the lookup.
        Object.entries(fixture).map(([key, name]) => [key, isUuid(name) ? randomUUID() : "never-existed"]),
      ) as never
      for (const endpoint of withCredential) {
        if (endpoint.api === "platform" || !endpoint.path.includes(":") || !isProblem(endpoint)) continue
        if (aboutTheInstallation.includes(endpoint.id)) continue
        const response = yield* call(endpoint, { token: stranger.token })
        assertProblem(endpoint, response, 404, /\.NotFound$/)
        assert.isTrue(
          endpoint.problems.has(response.body.code),
          `${endpoint.id} does not declare ${response.body.code}`,
        )
        const random = yield* call(endpoint, { token: stranger.token }, nowhere)
        assert.strictEqual(random.body.code, response.body.code, endpoint.id)
      }
    }),
  )

  it.effect("ids of another organization in a body with their location", () =>
    Effect.gen(function* () {
      const { core, owner, tenant, fixture } = yield* setup
      const stranger = yield* tenant()
      const idOf = (path: string) =>
        Effect.map(core("GET", path, { token: owner.token }), ({ body }) => String(body.id))
      const ids = {
        component: yield* idOf(`/components/${fixture.component}`),
        release: yield* idOf(`/releases/${fixture.release}`),
        zone: yield* idOf(`/deployment-zones/${fixture.zone}`),
        license: yield* idOf(`/licenses/${fixture.license}`),
        customer: yield* idOf(`/customers/${fixture.customer}`),
      }
      const dates = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
      const own = yield* populate({ ...(yield* TestService), ...stranger })
      const cases = [
        ["/components", { name: "a", version: "1", previousComponentId: ids.component }, "body.previousComponentId"],
        ["/releases", { version: "9", componentIds: [ids.component] }, "body.componentIds[0]"],
        ["/deployment-zones", { name: "z", type: "t", releaseId: ids.release }, "body.releaseId"],
        ["/instances", { name: "i", customerId: ids.customer, licenseSlug: own.license, ...dates }, "body.customerId"],
        ["/instances", { name: "i", customerSlug: own.customer, licenseId: ids.license, ...dates }, "body.licenseId"],
        [
          "/instances",
          { name: "i", customerSlug: own.customer, licenseSlug: own.license, deploymentZoneId: ids.zone, ...dates },
          "body.deploymentZoneId",
        ],
      ] as const
      for (const [path, body, location] of cases) {
        const response = yield* core("POST", path, { token: stranger.token, body })
        assert.strictEqual(response.status, 422, response.text)
        assert.strictEqual(response.body.errors[0].location, location)
      }
    }),
  )

  it.effect("a malformed body", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      for (const endpoint of withStrictBody) {
        assertProblem(
          endpoint,
          yield* call(endpoint, { token: right(endpoint), rawBody: '{"name": ' }),
          400,
          "Request.MalformedBody",
        )
      }
    }),
  )

  it.effect("a body that is missing or not an object", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      for (const endpoint of withStrictBody) {
        const missing = hasOptionalBody.includes(endpoint.id) ? [] : ["null", ""]
        for (const rawBody of ["[]", '"text"', "7", ...missing]) {
          assertProblem(
            endpoint,
            yield* call(endpoint, { token: right(endpoint), rawBody }),
            422,
            "Request.ValidationFailed",
          )
        }
      }
    }),
  )

  it.effect("an unknown property of a body with its location", () =>
    Effect.gen(function* () {
      const { call, right, fixture } = yield* setup
      for (const endpoint of withStrictBody) {
        if (allowsUnknownProperties.includes(endpoint.id)) continue
        const body = { ...scenarioOf(endpoint, fixture).body, surprise: 1 }
        const response = yield* call(endpoint, { token: right(endpoint), body })
        assertProblem(endpoint, response, 422, "Request.ValidationFailed")
        assert.deepInclude(
          response.body.errors.map(({ location }: { location: string }) => location),
          "body.surprise",
        )
      }
    }),
  )

  it.effect("a body of wrong values with plain messages", () =>
    Effect.gen(function* () {
      const { call, right, fixture } = yield* setup
      for (const endpoint of withStrictBody) {
        const names = Object.keys({ ...endpoint.example, ...scenarioOf(endpoint, fixture).body })
        for (const value of [[[1]], {}, "", -1.5, null, undefined]) {
          const body = { ...Object.fromEntries(names.map((name) => [name, value])), surprise: 1 }
          const response = yield* call(endpoint, { token: right(endpoint), body })
          if (allowsUnknownProperties.includes(endpoint.id)) continue
          assertProblem(endpoint, response, 422, "Request.ValidationFailed")
          for (const { message } of response.body.errors) {
            assert.match(message, /^(unknown property|required|must )/, `${endpoint.id}: ${response.text}`)
            assert.notMatch(message, /undefined|<filter>|RegExp/, `${endpoint.id}: ${response.text}`)
          }
        }
      }
    }),
  )

  it.effect("an unknown query member with its location, and does nothing", () =>
    Effect.gen(function* () {
      const { call, fixture, owner, right, core } = yield* setup
      for (const endpoint of endpoints) {
        const response = yield* call(endpoint, { token: right(endpoint) }, fixture, "?dryRun=true&dryRun=false")
        assertProblem(endpoint, response, 422, "Request.ValidationFailed")
        // One that has dry runs takes the member only once.
        const expected = endpoint.hasDryRun
          ? { location: "query.dryRun", message: "must be sent only once" }
          : { location: "query.dryRun", message: "unknown property", value: "true" }
        assert.deepStrictEqual(response.body.errors, [expected])
      }
      assert.strictEqual((yield* core("GET", `/instances/${fixture.instance}`, { token: owner.token })).status, 200)
    }),
  )

  it.effect("a query member that is sent twice, unless it is a list", () =>
    Effect.gen(function* () {
      const { core, owner } = yield* setup
      const twice = yield* core("GET", "/licenses?limit=1&limit=2", { token: owner.token })
      assert.strictEqual(twice.status, 422, twice.text)
      assert.deepStrictEqual(twice.body.errors, [{ location: "query.limit", message: "must be sent only once" }])
      const list = yield* core("GET", "/events?type=INSTANCE_CREATION&type=INSTANCE_DELETED", { token: owner.token })
      assert.strictEqual(list.status, 200, list.text)
    }),
  )

  it.effect("a body of more than 1 MiB", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      const rawBody = JSON.stringify({ name: "x".repeat(1024 * 1024) })
      for (const endpoint of withBody) {
        assertProblem(endpoint, yield* call(endpoint, { token: right(endpoint), rawBody }), 413, "Request.BodyTooLarge")
      }
    }),
  )

  it.effect("a body of an unsupported media type", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      const headers = { "content-type": "text/plain" }
      for (const endpoint of withBody) {
        assertProblem(
          endpoint,
          yield* call(endpoint, { token: right(endpoint), headers, rawBody: "{}" }),
          415,
          "Request.UnsupportedMediaType",
        )
      }
    }),
  )

  it.effect("a compressed body with the accepted encoding", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      for (const endpoint of withBody) {
        const response = yield* call(endpoint, { token: right(endpoint), headers: { "content-encoding": "gzip" } })
        assertProblem(endpoint, response, 415, "Request.UnsupportedMediaType")
        assert.include(response.body.detail, "`Content-Encoding`")
        assert.strictEqual(response.headers.get("accept-encoding"), "identity")
      }
    }),
  )

  it.effect("an unsupported method on its path", () =>
    Effect.gen(function* () {
      const { owner, operator, core, platform, fixture } = yield* setup
      for (const endpoint of endpoints) {
        const taken = new Set(endpoints.filter(({ path }) => path === endpoint.path).map(({ method }) => method))
        for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
          if (taken.has(method)) continue
          const path = scenarioOf(endpoint, fixture).path
          const response =
            endpoint.api === "platform"
              ? yield* platform(method, path, { token: operator })
              : yield* core(method, path, { token: owner.token })
          assertProblem(endpoint, response, 405, "Request.MethodNotAllowed")
          for (const allowed of taken) assert.include(response.headers.get("allow") ?? "", allowed)
        }
      }
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("every public endpoint", (it) => {
  it.effect(
    "answers everyone alike: without a credential, with one of another organization, and with a wrong one",
    () =>
      Effect.gen(function* () {
        const { call, operator, owner, tenant } = yield* setup
        const stranger = yield* tenant()
        for (const endpoint of endpoints.filter(({ isPublic }) => isPublic)) {
          const answer = yield* call(endpoint)
          // Each stream has ids and a time of its own.
          const said = ({ text }: HttpResponse) => text.replaceAll(/^(id|retry): .*$/gm, "")
          assert.strictEqual(answer.status, 200, `${endpoint.id}: ${answer.text}`)
          for (const token of [owner.token, stranger.token, operator, "nonsense"]) {
            const same = yield* call(endpoint, { token })
            assert.deepStrictEqual([same.status, said(same)], [200, said(answer)], endpoint.id)
          }
          const misspelt = yield* call(endpoint, {}, undefined, "?verbose=true")
          assertProblem(endpoint, misspelt, 422, "Request.ValidationFailed")
        }
      }),
  )
})
