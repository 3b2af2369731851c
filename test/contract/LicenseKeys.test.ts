import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { endpoints } from "./endpoints.ts"
import { populate, scenarioOf } from "./scenarios.ts"

/** What a license key may call. Everything else refuses it. */
const OPEN = [
  "changes.follow",
  "check.check",
  "instanceReleases.get",
  "instanceReleases.list",
  "instances.get",
  "leases.acquire",
  "leases.list",
  "leases.release",
  "me.me",
  "offlineBundles.get",
  "offlineBundles.list",
  "offlineLedgers.list",
  "offlineLedgers.upload",
  "ofrep.evaluate",
  "ofrep.evaluateAll",
  "reservations.commit",
  "reservations.get",
  "reservations.release",
  "reservations.reserve",
  "snapshots.get",
  "tranches.list",
  "tranches.refill",
  "usage.get",
  "usage.list",
  "usage.report",
  "usage.reportEvents",
  "usageEvents.history",
  "usageEvents.list",
]

const ALL_SCOPES = ["read:instances", "write:instances", "read:feature_flags", "read:licenses", "read:releases"]

const open = Effect.gen(function* () {
  const service = yield* TestService
  const tenant = yield* service.tenant()
  const fixture = yield* populate({ ...service, ...tenant })
  const call = (method: string, path: string, body?: object, token = tenant.token) =>
    service.core(method, path, { token, ...(body === undefined ? {} : { body }) })
  const createKey = Effect.fnUntraced(function* (body: object = {}, instance = fixture.instance) {
    const created = yield* call("POST", `/instances/${instance}/keys`, { name: "on site", ...body })
    assert.strictEqual(created.status, 201, created.text)
    return created.body
  })
  const other = yield* call("POST", "/instances", {
    name: "Other",
    slug: "other",
    customerSlug: fixture.customer,
    licenseSlug: fixture.license,
    startLicenseDate: "2026-01-01T00:00:00Z",
    endLicenseDate: null,
  })
  assert.strictEqual(other.status, 201, other.text)
  return { service, tenant, fixture, call, createKey }
})

layer(TestService.layer, { excludeTestServices: true })("a license key", (it) => {
  it.effect("may call what its instance needs, and every other operation refuses it", () =>
    Effect.gen(function* () {
      const { createKey, fixture, service, tenant } = yield* open
      const { token } = yield* createKey({ scopes: ALL_SCOPES })
      const isOpen = (id: string) => OPEN.includes(id) || endpoints.some((each) => each.id === id && each.isPublic)
      // Those that refuse it come first: they change nothing.
      for (const endpoint of endpoints.toSorted((one, two) => Number(isOpen(one.id)) - Number(isOpen(two.id)))) {
        const { path, ...scenario } = scenarioOf(endpoint, fixture)
        const body = endpoint.group === "ofrep" ? { context: { targetingKey: fixture.instance } } : scenario.body
        const send = endpoint.api === "platform" ? service.platform : service.core
        const answer = yield* send(endpoint.method, path, { token, ...(body === undefined ? {} : { body }) })
        if (endpoint.api === "platform") {
          assert.include([401, 403], answer.status, endpoint.id)
        } else if (isOpen(endpoint.id)) {
          assert.isTrue(answer.status < 300 || answer.status === 409, `${endpoint.id}: ${answer.status} ${answer.text}`)
        } else {
          assert.deepStrictEqual([answer.status, answer.body.code], [403, "Auth.MissingScope"], endpoint.id)
        }
      }
      assert.strictEqual((yield* service.core("GET", "/me", { token: tenant.token })).status, 200)
    }),
  )

  it.effect("finds no instance but its own", () =>
    Effect.gen(function* () {
      const { call, createKey, fixture } = yield* open
      const { token } = yield* createKey({ scopes: ALL_SCOPES })
      for (const endpoint of endpoints.filter(({ id, path }) => OPEN.includes(id) && path.includes(":instanceSlug"))) {
        const { body, path } = scenarioOf(endpoint, { ...fixture, instance: "other" })
        const answer = yield* call(endpoint.method, path, body, token)
        assert.deepStrictEqual([answer.status, answer.body?.code], [404, "Instance.NotFound"], endpoint.id)
        // Written in another way, it is not another instance.
        for (const encoded of ["%6fther", "other%00", "Other"]) {
          const disguised = yield* call(endpoint.method, path.replace("other", encoded), body, token)
          assert.include([400, 404, 422], disguised.status, `${endpoint.id} ${encoded}`)
        }
      }
      const foreign = yield* call("POST", "/instances/other/entitlements/api-calls/reservations", { quantity: 1 })
      const reservation = `/reservations/${foreign.body.id}`
      for (const [method, path] of [
        ["GET", reservation],
        ["POST", `${reservation}/commit`],
        ["DELETE", reservation],
      ] as const) {
        const answer = yield* call(method, path, undefined, token)
        assert.deepStrictEqual([answer.status, answer.body.code], [404, "Reservation.NotFound"])
      }
      assert.strictEqual((yield* call("GET", reservation)).body.state, "HELD")
      const event = (subject: string) => ({
        specversion: "1.0",
        id: "1",
        source: "/t",
        type: "api-calls",
        subject,
        data: { value: 1 },
      })
      const elsewhere = yield* call("POST", "/usage-events", event("other"), token)
      assert.deepStrictEqual([elsewhere.status, elsewhere.body.code], [422, "Instance.NotFound"])
      assert.strictEqual((yield* call("POST", "/usage-events", event(fixture.instance), token)).status, 200)
      for (const path of ["/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/entitlement.api-calls"]) {
        const own = yield* call("POST", path, { context: { targetingKey: fixture.instance } }, token)
        assert.strictEqual(own.status, 200)
        for (const context of [{}, { targetingKey: "other" }, { targetingKey: "anna" }]) {
          const { body } = yield* call("POST", path, { context }, token)
          // Each response has a ticket of its own.
          assert.deepStrictEqual({ ...body, eventStreams: [] }, { ...own.body, eventStreams: [] })
        }
      }
    }),
  )

  it.effect("is confined behind a gateway too", () =>
    Effect.gen(function* () {
      const { call, createKey, fixture, service } = yield* open
      const { token } = yield* createKey()
      const exchanged = yield* service.internal("POST", "/tokens/validate", { token })
      const jwt = exchanged.headers.get("authorization")?.replace("Bearer ", "") ?? ""
      assert.strictEqual((yield* call("GET", `/instances/${fixture.instance}`, undefined, jwt)).status, 200)
      assert.strictEqual((yield* call("GET", "/instances/other", undefined, jwt)).status, 404)
      assert.strictEqual((yield* call("GET", "/customers", undefined, jwt)).status, 403)
    }),
  )

  it.effect("says whom it stands for, and has no more scopes than its creator and its kind", () =>
    Effect.gen(function* () {
      const { call, createKey, fixture, service, tenant } = yield* open
      const key = yield* createKey()
      assert.match(key.token, /^ksh_/)
      assert.deepStrictEqual(key.scopes, ALL_SCOPES.slice(0, 3))
      const { body: me } = yield* call("GET", "/me", undefined, key.token)
      assert.deepStrictEqual(
        [me.kind, me.instance.slug, me.identity.id, me.credential.id],
        ["INSTANCE", fixture.instance, me.instance.id, key.id],
      )
      assert.notProperty((yield* call("GET", "/me")).body, "instance")
      const path = `/instances/${fixture.instance}/keys`
      const wide = yield* call("POST", path, { name: "wide", scopes: ["write:licenses"] })
      assert.deepStrictEqual([wide.status, wide.body.errors[0].location], [422, "body.scopes[0]"])
      const weak = yield* service.tokenWith(tenant, ["write:tokens", "read:instances"])
      const refused = yield* call("POST", path, { name: "more" }, weak)
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "IssueToken.ScopeNotHeld"])
      const listed = yield* call("GET", path)
      assert.isTrue(listed.body.items.some(({ id }: { id: string }) => id === key.id))
      assert.notInclude(listed.text, key.token)
      assert.strictEqual((yield* call("POST", "/instances/nope/keys", { name: "x" })).body.code, "Instance.NotFound")
    }),
  )

  it.effect("is rotated, revoked, and ends with its instance", () =>
    Effect.gen(function* () {
      const { call, createKey, fixture } = yield* open
      const path = "/instances/other/keys"
      const works = (token: string) =>
        Effect.map(call("GET", "/instances/other", undefined, token), ({ status }) => status === 200)
      const first = yield* createKey({}, "other")
      const second = yield* call("POST", `${path}/${first.slug}/rotate`, { gracePeriodSeconds: 60 })
      assert.strictEqual(second.status, 201, second.text)
      assert.deepStrictEqual([yield* works(first.token), yield* works(second.body.token)], [true, true])
      assert.strictEqual((yield* call("GET", "/customers", undefined, second.body.token)).status, 403)
      assert.strictEqual((yield* call("DELETE", `${path}/${first.slug}`)).status, 204)
      assert.deepStrictEqual([yield* works(first.token), yield* works(second.body.token)], [false, true])
      // The key of another instance is not found under this one.
      const foreign = yield* call("DELETE", `${path}/${fixture.licenseKey}`)
      assert.deepStrictEqual([foreign.status, foreign.body.code], [404, "AccessToken.NotFound"])
      assert.strictEqual((yield* call("DELETE", "/instances/other")).status, 204)
      assert.isFalse(yield* works(second.body.token))
      const events = yield* call("GET", "/events?limit=200&type=TOKEN_ISSUED,TOKEN_ROTATED,TOKEN_REVOKED")
      const told = events.body.items
        .filter(({ data }: { data: { instanceSlug?: string } }) => data.instanceSlug === "other")
        .map(({ data, type }: { data: { slug: string }; type: string }) => [type, data.slug])
      assert.deepStrictEqual(told, [
        ["TOKEN_ISSUED", first.slug],
        ["TOKEN_ISSUED", second.body.slug],
        ["TOKEN_ROTATED", first.slug],
        ["TOKEN_REVOKED", first.slug],
        ["TOKEN_REVOKED", second.body.slug],
      ])
      // A new instance of the same slug is another one.
      const again = yield* call("POST", "/instances", {
        name: "Other",
        slug: "other",
        customerSlug: fixture.customer,
        licenseSlug: fixture.license,
        startLicenseDate: "2026-01-01T00:00:00Z",
        endLicenseDate: null,
      })
      assert.strictEqual(again.status, 201)
      assert.isFalse(yield* works(second.body.token))
    }),
  )
})
