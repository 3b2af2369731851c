import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { randomIntegers } from "../usage/RandomGenerator.ts"
import { randomBody } from "./amounts.ts"
import { comparable, startEdge } from "./edge.ts"
import { INSTANCE_SLUGS, openWorld } from "./World.ts"

/** Amounts as JSON: all digits reach the decision. */
const AMOUNTS = [
  "0",
  "1",
  "2",
  "5",
  "19",
  "20",
  "100",
  "101",
  "1100",
  "0.1",
  "0.2",
  "0.30",
  "1e2",
  "123456789012345.123",
]

const open = Effect.gen(function* () {
  const world = yield* openWorld
  const { service, tenant, use } = world
  yield* use("prod", "api-calls", 995)
  yield* use("prod", "exports", 96)
  yield* use("prod", "gigabytes", 0.1)
  yield* use("prod", "peak", 19.5)
  yield* use("grace", "jobs", 1)
  yield* use("prod", "projects", 7)
  const edge = yield* startEdge({ origin: world.origin, tokens: [tenant.token] })
  /** Sends the same request to both. */
  const both = (method: string, path: string, rawBody: string, headers: Record<string, string> = {}) =>
    Effect.all(
      [
        edge.call(method, `/api${path}`, { token: tenant.token, rawBody, headers }),
        service.core(method, path, { token: tenant.token, rawBody, headers }),
      ],
      { concurrency: 2 },
    )
  return { ...world, edge, both }
})

/** How often the origin was asked. Edges of one process share their metrics. */
const askedBy = (edge: Effect.Success<ReturnType<typeof startEdge>>) =>
  Effect.map(edge.call("GET", "/metrics"), ({ text }) => {
    const [, asked] = /^keyshelf_edge_origin_requests_total\{result="ok"\} (\d+)$/m.exec(text) ?? []
    return Number(asked ?? 0)
  })

layer(TestService.layer, { excludeTestServices: true })("a check at an edge", (it) => {
  it.effect(
    "has the bytes of the origin but for the instant, for 1,000 random requests",
    () =>
      Effect.gen(function* () {
        const { both, edge } = yield* open
        const askedBefore = yield* askedBy(edge)
        const pick = randomIntegers(4711)
        const instances = [...INSTANCE_SLUGS, "prod", "prod", "no-such-instance"]
        const cases = Array.from(
          { length: 1000 },
          () => [instances[pick(instances.length)] ?? "", randomBody(pick, AMOUNTS)] as const,
        )
        const reasons = new Set<string>()
        yield* Effect.forEach(
          cases,
          ([slug, body]) =>
            Effect.map(both("POST", `/instances/${slug}/check`, body), ([here, there]) => {
              assert.deepStrictEqual(comparable(here), comparable(there), `${slug} ${body}`)
              for (const { reason } of here.body.checks ?? []) reasons.add(reason)
              reasons.add(String(here.status))
            }),
          { concurrency: 8 },
        )
        assert.sameMembers(
          [...reasons],
          [
            "200",
            "400",
            "404",
            "422",
            "GRANTED",
            "UNLIMITED",
            "SOFT_LIMIT",
            "LIMIT_REACHED",
            "IN_GRACE",
            "NOT_GRANTED",
            "ENTITLEMENT_NOT_FOUND",
            "LICENSE_NOT_STARTED",
            "LICENSE_EXPIRED",
          ],
        )
        // None of them was forwarded: the origin was asked for snapshots alone.
        assert.isBelow((yield* askedBy(edge)) - askedBefore, 30)
      }),
    120_000,
  )

  it.effect("about the past, or with an explanation, is forwarded", () =>
    Effect.gen(function* () {
      const { both } = yield* open
      for (const more of [`"explain":true`, `"at":"2026-11-01T00:00:00.000Z"`]) {
        const body = `{"checks":[{"entitlement":"exports"}],${more}}`
        const [here, there] = yield* both("POST", "/instances/prod/check", body)
        assert.strictEqual(here.status, 200, here.text)
        assert.deepStrictEqual(comparable(here), comparable(there))
        assert.isNull(here.headers.get("keyshelf-age"))
      }
    }),
  )

  it.effect("that consumes is counted by the origin, and seen by the next check", () =>
    Effect.gen(function* () {
      const { edge, tenant } = yield* open
      const consume = (requested: number) =>
        edge.call("POST", "/api/instances/prod/check", {
          token: tenant.token,
          body: { consume: true, checks: [{ entitlement: "exports", requested }] },
        })
      const first = yield* consume(4)
      assert.deepInclude(first.body.checks[0], { allowed: true, usage: 100, remaining: 0 })
      assert.deepInclude((yield* consume(1)).body.checks[0], { allowed: false, reason: "LIMIT_REACHED", usage: 100 })
    }),
  )

  it.effect("is for callers of the file alone: others get 401, and the origin is not asked", () =>
    Effect.gen(function* () {
      const { cable, edge, service, tenant } = yield* open
      const other = yield* service.tokenWith(tenant, ["read:instances"])
      const options = { body: { checks: [{ entitlement: "sso" }] } }
      cable.cut()
      for (const token of [other, "ksh_unknown", ""]) {
        for (const [method, path] of [
          ["POST", "/api/instances/prod/check"],
          ["GET", "/api/customers"],
          ["GET", "/api/instances/prod/snapshot"],
          ["GET", "/api/no-such-path"],
        ] as const) {
          const response = yield* edge.call(method, path, method === "POST" ? { ...options, token } : { token })
          assert.deepStrictEqual([response.status, response.body.code], [401, "Auth.InvalidCredential"], path)
          assert.strictEqual(response.headers.get("www-authenticate"), "Bearer")
        }
      }
    }),
  )

  it.effect("of a license key is one of its own instance", () =>
    Effect.gen(function* () {
      const { licenseKey, origin, service } = yield* open
      const { token } = yield* licenseKey("grace")
      const edge = yield* startEdge({ origin, tokens: [token] })
      for (const slug of ["grace", "prod", "nowhere"]) {
        const options = { token, body: { checks: [{ entitlement: "sso" }] } }
        const here = yield* edge.call("POST", `/api/instances/${slug}/check`, options)
        const there = yield* service.core("POST", `/instances/${slug}/check`, options)
        assert.deepStrictEqual(comparable(here), comparable(there))
      }
    }),
  )
})
