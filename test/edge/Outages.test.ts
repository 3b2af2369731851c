import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { EdgeClock } from "../../src/edge/Clock.ts"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { movableClock, startEdge, unspentAt, withoutInstant } from "./edge.ts"
import { openWorld } from "./World.ts"

const open = Effect.gen(function* () {
  const world = yield* openWorld
  const start = (tokens: ReadonlyArray<string>, directory?: string) =>
    startEdge({ origin: world.origin, tokens, ...(directory === undefined ? {} : { directory }) })
  const edge = yield* start([world.tenant.token])
  return { ...world, edge, start }
})

type Edge = Effect.Success<ReturnType<typeof startEdge>>

const check = (
  { call }: Edge,
  token: string,
  { consume = false, entitlement = "exports", requested = 1, slug = "prod" } = {},
) =>
  call("POST", `/api/instances/${slug}/check`, {
    token,
    body: { checks: [{ entitlement, requested }], ...(consume ? { consume } : {}) },
  })

const sourceOf = ({ headers }: { readonly headers: Headers }) => headers.get("keyshelf-source")

const ready = ({ call }: Edge) => Effect.map(call("GET", "/health/ready"), ({ status }) => status === 200)

const DAY_MS = 86_400_000

layer(TestService.layer, { excludeTestServices: true })("while its origin is away, an edge", (it) => {
  it.effect("answers checks and flags with the same bytes, and what it cannot answer with 503", () =>
    Effect.gen(function* () {
      const { cable, edge, tenant } = yield* open
      const { token } = tenant
      const flags = () =>
        edge.call("POST", "/api/ofrep/v1/evaluate/flags", { token, body: { context: { targetingKey: "prod" } } })
      const before = [yield* check(edge, token), yield* flags()]
      cable.cut()
      const after = [yield* check(edge, token), yield* flags()]
      const [one, other] = [before, after].map(([checked, evaluated]) => [
        withoutInstant(checked?.text ?? ""),
        evaluated?.body.flags,
      ])
      assert.deepStrictEqual(one, other)
      assert.match(after[0]?.headers.get("keyshelf-age") ?? "", /^\d+$/)
      assert.isNull(sourceOf(after[0] as never))
      for (const [method, path] of [
        ["GET", "/api/customers"],
        ["GET", "/api/instances/unused/snapshot"],
        ["POST", "/api/ofrep/v1/evaluate/flags"],
      ] as const) {
        const options = method === "GET" ? { token } : { token, body: { context: { targetingKey: "nobody" } } }
        const response = yield* edge.call(method, path, options)
        assert.deepStrictEqual([response.status, response.body.code], [503, "Service.Unavailable"], path)
        assert.isNotNull(response.headers.get("retry-after"))
      }
      const unknown = yield* check(edge, token, { slug: "unused" })
      assert.deepStrictEqual([unknown.status, unknown.body.code], [503, "Service.Unavailable"])
    }),
  )

  it.effect(
    "spends its tranche, denies what that does not cover by the vendor's policy, and answers what needs none",
    () =>
      Effect.gen(function* () {
        const { cable, edge, service, tenant } = yield* open
        const { token } = tenant
        const consume = (entitlement: string, requested = 1) =>
          check(edge, token, { consume: true, entitlement, requested })
        yield* until(
          "the edge consumes itself",
          Effect.map(consume("sso"), ({ headers }) => headers.has("keyshelf-age")),
        )
        const { body } = yield* consume("api-calls", 20)
        const { usage } = body.checks[0]
        yield* until(
          "the edge has more than that",
          Effect.sync(() => unspentAt(edge, "api-calls") >= 4),
        )
        cable.cut()
        const covered = yield* consume("api-calls", 4)
        assert.deepInclude(covered.body.checks[0], { allowed: true, reason: "GRANTED", usage: usage + 4 })
        assert.isNull(sourceOf(covered))
        const denied = yield* consume("exports")
        assert.strictEqual(denied.status, 200, denied.text)
        assert.deepInclude(denied.body.checks[0], { allowed: false, reason: "LIMIT_REACHED" })
        assert.strictEqual(sourceOf(denied), "policy")
        const free = yield* consume("sso")
        assert.deepInclude(free.body.checks[0], { allowed: true, reason: "GRANTED" })
        const none = yield* consume("nothing")
        assert.deepInclude(none.body.checks[0], { allowed: false, reason: "NOT_GRANTED" })
        const unlimited = yield* consume("messages", 7)
        assert.deepInclude(unlimited.body.checks[0], { allowed: true, reason: "UNLIMITED", usage: 7 })
        // Only the service knows how its usage is measured.
        assert.strictEqual((yield* consume("projects")).status, 503)
        cable.mend()
        const counted = (entitlement: string, expected: number) =>
          until(
            `${entitlement} is counted`,
            Effect.map(
              service.core("POST", "/instances/prod/check", { token, body: { checks: [{ entitlement }] } }),
              (response) => response.body.checks[0].usage === expected,
            ),
          )
        yield* counted("api-calls", usage + 4)
        yield* counted("messages", 7)
      }),
  )

  it.effect("goes on above its tranche if the vendor allows that, and all of it is counted", () =>
    Effect.gen(function* () {
      const { cable, call, edge, service, tenant } = yield* open
      const { token } = tenant
      assert.strictEqual(
        (yield* call("PUT", "/licenses/pro", { away: { staleSeconds: 604_800, then: "ALLOW" } })).status,
        204,
      )
      yield* until(
        "the edge knows the policy",
        Effect.map(check(edge, token, { consume: true, entitlement: "sso" }), ({ headers }) =>
          headers.has("keyshelf-age"),
        ),
      )
      cable.cut()
      const above = yield* check(edge, token, { consume: true, requested: 130 })
      assert.deepInclude(above.body.checks[0], { allowed: true, reason: "GRANTED" })
      assert.strictEqual(sourceOf(above), "policy")
      cable.mend()
      yield* until(
        "it is counted",
        Effect.map(
          service.core("POST", "/instances/prod/check", { token, body: { checks: [{ entitlement: "exports" }] } }),
          ({ body }) => body.checks[0].usage === 130,
        ),
      )
    }),
  )

  it.effect("starts by what is stored, serves key sets, and goes on when the origin is back", () =>
    Effect.gen(function* () {
      const { cable, call, edge, licenseKey, organizationId, start, tenant } = yield* Effect.map(open, (world) => ({
        ...world,
        organizationId: world.tenant.organizationId,
      }))
      const key = yield* licenseKey("grace")
      const both = yield* start([tenant.token, key.token])
      yield* until("both license key and token are ready", ready(both))
      const first = yield* check(both, tenant.token)
      const keys = yield* both.call("GET", `/api/offline/${organizationId}/keys`)
      yield* both.stop
      yield* edge.stop
      cable.cut()

      const again = yield* start([tenant.token, key.token], both.folder)
      yield* until("it is ready by what was stored", ready(again))
      const restored = yield* check(again, tenant.token)
      assert.strictEqual(withoutInstant(restored.text), withoutInstant(first.text))
      assert.deepInclude((yield* check(again, key.token, { slug: "grace", entitlement: "sso" })).body.checks[0], {
        allowed: true,
        reason: "IN_GRACE",
      })
      assert.strictEqual((yield* again.call("GET", `/api/offline/${organizationId}/keys`)).text, keys.text)

      yield* call("PUT", "/instances/prod/entitlements/exports/override", { mode: "SET", value: 7 })
      cable.mend()
      yield* until(
        "the change is known",
        Effect.map(check(again, tenant.token), ({ body }) => body.checks[0].limit === 7),
      )
    }),
  )

  it.effect("denies by policy once a snapshot has expired, as a license that has ended", () =>
    Effect.gen(function* () {
      const { cable, origin, tenant } = yield* open
      const { clock, pass } = yield* movableClock
      const edge = yield* startEdge({ origin, tokens: [tenant.token] }).pipe(Effect.provideService(EdgeClock, clock))
      yield* check(edge, tenant.token)
      cable.cut()
      pass(6 * DAY_MS)
      assert.deepInclude((yield* check(edge, tenant.token)).body.checks[0], { allowed: true })
      pass(2 * DAY_MS)
      const expired = yield* check(edge, tenant.token)
      assert.strictEqual(expired.status, 200)
      assert.deepStrictEqual(expired.body.checks, [
        {
          entitlement: "exports",
          allowed: false,
          reason: "LICENSE_EXPIRED",
          limit: null,
          usage: null,
          remaining: null,
          overage: null,
          currentPeriodStart: null,
          currentPeriodEnd: null,
        },
      ])
      assert.strictEqual(sourceOf(expired), "policy")
      assert.isAtLeast(Number(expired.headers.get("keyshelf-age")), 7 * 86_400)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("a credential that the origin denies", (it) => {
  it.effect("is denied at once, also after a restart without the origin, until the origin accepts it again", () =>
    Effect.gen(function* () {
      const { cable, call, licenseKey, start, tenant } = yield* open
      const key = yield* licenseKey("prod")
      const edge = yield* start([tenant.token, key.token])
      yield* until("both are ready", ready(edge))
      assert.strictEqual((yield* check(edge, key.token)).status, 200)
      yield* call("DELETE", `/instances/prod/keys/${key.slug}`)
      const denied = (at: Edge) =>
        Effect.map(check(at, key.token), ({ body, status }) => status === 401 && body.code === "Auth.InvalidCredential")
      yield* until("the key is denied", denied(edge))
      assert.strictEqual((yield* edge.call("GET", "/api/me", { token: key.token })).status, 401)
      assert.isTrue(yield* ready(edge))
      yield* edge.stop
      cable.cut()
      const again = yield* start([tenant.token, key.token], edge.folder)
      assert.isTrue(yield* denied(again))
      assert.strictEqual((yield* again.call("GET", "/api/instances/prod/snapshot", { token: key.token })).status, 401)
      // The other credential sees the same instance as before.
      yield* check(again, tenant.token)
    }),
  )

  it.effect("of an instance that was deleted gets the origin's 404, also after a restart", () =>
    Effect.gen(function* () {
      const { cable, call, edge, start, tenant } = yield* open
      const { token } = tenant
      assert.strictEqual((yield* check(edge, token, { slug: "coming" })).status, 200)
      yield* call("DELETE", "/instances/coming")
      const isGone = (at: Edge) =>
        Effect.map(
          check(at, token, { slug: "coming" }),
          ({ body, status }) => status === 404 && body.code === "Instance.NotFound",
        )
      yield* until("the instance is gone", isGone(edge))
      yield* edge.stop
      cable.cut()
      const again = yield* start([token], edge.folder)
      assert.isTrue(yield* isGone(again))
    }),
  )
})
