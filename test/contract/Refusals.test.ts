import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { Uuid } from "../../src/kernel/values/Identifiers.ts"
import { coreModules } from "../../src/kernel/contract/Scope.ts"
import { TestService } from "../support/TestService.ts"
import type { Answer, CallOptions } from "../support/TestService.ts"
import { aboutTheInstallation, endpoints } from "./endpoints.ts"
import type { Endpoint } from "./endpoints.ts"
import { populate, scenarios } from "./scenarios.ts"
import type { World } from "./scenarios.ts"

const isUuid = Schema.is(Uuid)

const MEMBERS = ["code", "detail", "errorId", "errors", "instance", "status", "title", "type"]

// The OpenFeature CLI prints `error.message`: the problems of what it calls carry that too (contract, section 5).
const membersOf = ({ id }: Endpoint) => (id === "featureFlags.manifest" ? [...MEMBERS, "error"].sort() : MEMBERS)

/**
 * Endpoints of OFREP, which publishes the bodies of its own 400 and 404, and tolerates unknown members (contract,
 * section 9, "Flags"). test/flags/Ofrep.test.ts holds them to it. Their other refusals are problems like all others.
 */
const refusesAsPublished = ["ofrep.evaluate", "ofrep.evaluateAll"]
const isProblem = ({ id }: Endpoint) => !refusesAsPublished.includes(id)

const refuses = (endpoint: Endpoint, answer: Answer, status: number, code: string | RegExp) => {
  const label = `${endpoint.method} ${endpoint.path}: ${answer.text}`
  assert.strictEqual(answer.status, status, label)
  assert.strictEqual(answer.headers.get("content-type"), "application/problem+json", label)
  assert.deepStrictEqual(Object.keys(answer.body).sort(), membersOf(endpoint), label)
  if (typeof code === "string") assert.strictEqual(answer.body.code, code, label)
  else assert.match(answer.body.code, code, label)
}

// Scopes that do not cover the one an endpoint needs: everything of another module.
const otherScopes = (scope: string) => {
  const module = scope.split(":")[1]
  return coreModules.filter((other) => other !== module).map((other) => `write:${other}`)
}

const setup = Effect.gen(function* () {
  const service = yield* TestService
  const owner = yield* service.tenant()
  const world = yield* populate({ ...service, ...owner })
  const call = (endpoint: Endpoint, options: CallOptions = {}, at: World = world) => {
    const scenario = scenarios[endpoint.id]
    if (scenario === undefined) return Effect.die(new Error(`No scenario for ${endpoint.id}`))
    const body = scenario.body?.(at)
    const listener = endpoint.api === "platform" ? service.platform : service.core
    return listener(endpoint.method, scenario.path(at), {
      ...(body === undefined || options.rawBody !== undefined ? {} : { body }),
      ...options,
    })
  }
  return {
    ...service,
    owner,
    world,
    call,
    right: (endpoint: Endpoint) => (endpoint.api === "platform" ? service.operator : owner.token),
  }
})

const withBody = endpoints.filter(({ hasBody }) => hasBody)

// CloudEvents may carry extension attributes, which are unknown members on purpose.
const takesUnknownMembers = ["usage.reportEvents"]
// Every member has a default, so the body may be missing; `null` says the same.
const bodyMayBeMissing = ["reservations.reserve", "reservations.commit", "serviceAccounts.rotateToken"]
const withStrictBody = withBody.filter(isProblem)

layer(TestService.layer, { excludeTestServices: true })("every endpoint refuses", (it) => {
  it.effect("a request without a credential", () =>
    Effect.gen(function* () {
      const { call } = yield* setup
      for (const endpoint of endpoints) refuses(endpoint, yield* call(endpoint), 401, "Auth.InvalidCredential")
    }),
  )

  it.effect("a credential of the wrong family", () =>
    Effect.gen(function* () {
      const { call, operator, owner } = yield* setup
      for (const endpoint of endpoints) {
        if (endpoint.api === "platform") {
          refuses(endpoint, yield* call(endpoint, { token: owner.token }), 403, "Auth.WrongCredentialKind")
        } else {
          refuses(endpoint, yield* call(endpoint, { token: operator }), 401, "Auth.InvalidCredential")
        }
      }
    }),
  )

  it.effect("a token without its scope", () =>
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
        refuses(endpoint, yield* call(endpoint, { token }), 403, "Auth.MissingScope")
      }
    }),
  )

  it.effect("a token that may only read, where something changes", () =>
    Effect.gen(function* () {
      const { call, owner, tokenWith } = yield* setup
      const token = yield* tokenWith(owner, ["read:*"])
      for (const endpoint of endpoints) {
        if (endpoint.api === "platform" || endpoint.scope?.startsWith("write:") !== true) continue
        refuses(endpoint, yield* call(endpoint, { token }), 403, "Auth.MissingScope")
      }
    }),
  )

  it.effect("another organization's token, exactly as if nothing were there", () =>
    Effect.gen(function* () {
      const { call, tenant, world } = yield* setup
      const stranger = yield* tenant()
      const nowhere: World = Object.fromEntries(
        // What is named by its id is a UUID, else its path would be refused before anything is looked up.
        Object.entries(world).map(([key, name]) => [key, isUuid(name) ? randomUUID() : "never-existed"]),
      ) as never
      for (const endpoint of endpoints) {
        if (endpoint.api === "platform" || !endpoint.path.includes(":") || !isProblem(endpoint)) continue
        if (aboutTheInstallation.includes(endpoint.id)) continue
        const answer = yield* call(endpoint, { token: stranger.token })
        refuses(endpoint, answer, 404, /\.NotFound$/)
        assert.isTrue(endpoint.problems.has(answer.body.code), `${endpoint.id} does not declare ${answer.body.code}`)
        const random = yield* call(endpoint, { token: stranger.token }, nowhere)
        assert.strictEqual(random.body.code, answer.body.code, endpoint.id)
      }
    }),
  )

  it.effect("another organization's ids in a body, with their place", () =>
    Effect.gen(function* () {
      const { core, owner, tenant, world } = yield* setup
      const stranger = yield* tenant()
      const idOf = (path: string) =>
        Effect.map(core("GET", path, { token: owner.token }), ({ body }) => String(body.id))
      const ids = {
        component: yield* idOf(`/components/${world.component}`),
        release: yield* idOf(`/releases/${world.release}`),
        zone: yield* idOf(`/deployment-zones/${world.zone}`),
        license: yield* idOf(`/licenses/${world.license}`),
        customer: yield* idOf(`/customers/${world.customer}`),
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
        const answer = yield* core("POST", path, { token: stranger.token, body })
        assert.strictEqual(answer.status, 422, answer.text)
        assert.strictEqual(answer.body.errors[0].location, location)
      }
    }),
  )

  it.effect("a malformed body, and changes nothing", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      for (const endpoint of withStrictBody) {
        refuses(
          endpoint,
          yield* call(endpoint, { token: right(endpoint), rawBody: '{"name": ' }),
          400,
          "Request.MalformedBody",
        )
      }
    }),
  )

  it.effect("a body that is no object, or is missing", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      for (const endpoint of withStrictBody) {
        const missing = bodyMayBeMissing.includes(endpoint.id) ? [] : ["null", ""]
        for (const rawBody of ["[]", '"text"', "7", ...missing]) {
          refuses(endpoint, yield* call(endpoint, { token: right(endpoint), rawBody }), 422, "Request.ValidationFailed")
        }
      }
    }),
  )

  it.effect("an unknown member of a body, and names it", () =>
    Effect.gen(function* () {
      const { call, right, world } = yield* setup
      for (const endpoint of withStrictBody) {
        if (takesUnknownMembers.includes(endpoint.id)) continue
        const body = { ...scenarios[endpoint.id]?.body?.(world), surprise: 1 }
        const answer = yield* call(endpoint, { token: right(endpoint), body })
        refuses(endpoint, answer, 422, "Request.ValidationFailed")
        assert.deepInclude(
          answer.body.errors.map(({ location }: { location: string }) => location),
          "body.surprise",
        )
      }
    }),
  )

  it.effect("a body of more than 1 MiB", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      const rawBody = JSON.stringify({ name: "x".repeat(1024 * 1024) })
      for (const endpoint of withBody) {
        refuses(endpoint, yield* call(endpoint, { token: right(endpoint), rawBody }), 413, "Request.BodyTooLarge")
      }
    }),
  )

  it.effect("a body of another media type", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      const headers = { "content-type": "text/plain" }
      for (const endpoint of withBody) {
        refuses(
          endpoint,
          yield* call(endpoint, { token: right(endpoint), headers, rawBody: "{}" }),
          415,
          "Request.UnsupportedMediaType",
        )
      }
    }),
  )

  it.effect("a compressed body, and says what to send", () =>
    Effect.gen(function* () {
      const { call, right } = yield* setup
      for (const endpoint of withBody) {
        const answer = yield* call(endpoint, { token: right(endpoint), headers: { "content-encoding": "gzip" } })
        refuses(endpoint, answer, 415, "Request.UnsupportedMediaType")
        assert.include(answer.body.detail, "`Content-Encoding`")
        assert.strictEqual(answer.headers.get("accept-encoding"), "identity")
      }
    }),
  )

  it.effect("a wrong method on its path", () =>
    Effect.gen(function* () {
      const { owner, operator, core, platform, world } = yield* setup
      for (const endpoint of endpoints) {
        const taken = new Set(endpoints.filter(({ path }) => path === endpoint.path).map(({ method }) => method))
        for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
          if (taken.has(method)) continue
          const path = scenarios[endpoint.id]?.path(world) ?? ""
          const answer =
            endpoint.api === "platform"
              ? yield* platform(method, path, { token: operator })
              : yield* core(method, path, { token: owner.token })
          refuses(endpoint, answer, 405, "Request.MethodNotAllowed")
          for (const allowed of taken) assert.include(answer.headers.get("allow") ?? "", allowed)
        }
      }
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("every endpoint works", (it) => {
  it.effect(
    "for a token that has just its scope",
    () =>
      Effect.gen(function* () {
        const { operator, platform, tenant, tokenWith } = yield* TestService
        for (const endpoint of endpoints) {
          const service = yield* TestService
          const owner = yield* tenant()
          const world = yield* populate({ ...service, ...owner })
          const scenario = scenarios[endpoint.id]
          const scopes = endpoint.scope === "any-credential" ? ["read:webhooks"] : [endpoint.scope ?? ""]
          const token =
            endpoint.api === "platform"
              ? String(
                  (yield* platform("POST", "/platform/credentials", {
                    token: operator,
                    body: { name: "x", scopes: [...scopes, "read:releases", "read:organizations"] },
                  })).body.token,
                )
              : yield* tokenWith(owner, [...scopes, "read:releases", "read:organizations"])
          const body = scenario?.body?.(world)
          const listener = endpoint.api === "platform" ? service.platform : service.core
          const answer = yield* listener(endpoint.method, scenario?.path(world) ?? "", {
            token,
            ...(body === undefined ? {} : { body }),
          })
          const works = answer.status < 300
          // Deletions and archives of what is in use are refused by their own rule, which is an answer of the operation too.
          const declared = endpoint.problems.get(answer.body?.code)
          assert.isTrue(
            works || (declared === answer.status && ![401, 403, 422].includes(answer.status)),
            `${endpoint.id}: ${answer.text}`,
          )
        }
      }),
    120_000,
  )
})
