/** Consumption at an edge, which answers from tranches. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { randomIntegers } from "../usage/RandomGenerator.ts"
import { randomBody } from "./amounts.ts"
import { comparable, startEdge, unspentAt } from "./edge.ts"
import { INSTANCE_SLUGS, openWorld, SLUGS, twinOf } from "./World.ts"

/** Mostly what can be consumed: one check of another kind rejects the whole request. */
const NO_HEADERS: Readonly<Record<string, string>> = {}

const CONSUMED = ["exports", "api-calls", "jobs", "gigabytes", "large", "messages"].flatMap((slug) => [
  slug,
  slug,
  slug,
])

const AMOUNTS = ["0", "1", "2", "3", "7", "20", "0.1", "0.05", "0.25", "1e1", "123456789012.345", "1100"]

type Edge = Effect.Success<ReturnType<typeof startEdge>>

const open = Effect.gen(function* () {
  const world = yield* openWorld
  const { origin, service, tenant } = world
  const { token } = tenant
  const start = (tokens: ReadonlyArray<string> = [token], directory?: string) =>
    startEdge({ origin, tokens, ...(directory === undefined ? {} : { directory }) })
  return {
    ...world,
    token,
    start,
    /** What the origin has counted of an instance, and what is held of it. */
    usageOf: (slug: string, entitlement: string) =>
      Effect.map(
        service.core("POST", `/instances/${slug}/check`, { token, body: { checks: [{ entitlement }], explain: true } }),
        ({ body }) => ({ usage: Number(body.checks[0].usage), held: Number(body.checks[0].explanation.held) }),
      ),
  }
})

const consume = (
  { call }: Edge,
  token: string,
  { entitlement = "exports", headers = NO_HEADERS, requested = 1, slug = "prod" } = {},
) =>
  call("POST", `/api/instances/${slug}/check`, {
    token,
    headers,
    body: { consume: true, checks: [{ entitlement, requested }] },
  })

/** Waits until a token may consume: an edge must know its scopes, and a fetch must have succeeded. */
const ready = (edge: Edge, token: string, slug = "prod") =>
  until(
    "the edge answers consumption itself",
    Effect.map(consume(edge, token, { slug, entitlement: "sso" }), ({ headers }) => headers.has("keyshelf-age")),
  )

const isHere = ({ headers }: { readonly headers: Headers }) => headers.has("keyshelf-age")

layer(TestService.layer, { excludeTestServices: true })("consumption at an edge", (it) => {
  it.effect(
    "has the bytes of the origin but for the instant, for 1,000 random requests, and counts the same",
    () =>
      Effect.gen(function* () {
        const { service, start, token, usageOf, use } = yield* open
        for (const slug of ["prod", "grace"]) {
          for (const one of [slug, twinOf(slug)]) yield* use(one, "api-calls", 980)
        }
        const edge = yield* start()
        for (const slug of INSTANCE_SLUGS) yield* ready(edge, token, slug)
        const reasons = new Set<string>()
        let here = 0
        /** The same requests one after the other: through the edge, and for the twin at the origin. */
        const compare = Effect.fnUntraced(function* (slug: string, seed: number, count: number) {
          const pick = randomIntegers(seed)
          for (let index = 0; index < count; index++) {
            const rawBody = randomBody(pick, AMOUNTS, { slugs: [...CONSUMED, ...SLUGS], more: `,"consume":true` })
            const through = yield* edge.call("POST", `/api/instances/${slug}/check`, { token, rawBody })
            const direct = yield* service.core("POST", `/instances/${twinOf(slug)}/check`, { token, rawBody })
            const expected = comparable({ ...direct, text: direct.text.replaceAll(twinOf(slug), slug) })
            assert.deepStrictEqual(comparable(through), expected, `${slug} ${index} ${rawBody}`)
            if (isHere(through)) here++
            for (const { reason } of through.body.checks ?? []) reasons.add(reason)
            reasons.add(String(through.status))
          }
        })
        yield* Effect.all(
          [compare("prod", 1, 700), compare("grace", 2, 200), compare("ended", 3, 50), compare("coming", 4, 50)],
          { concurrency: "unbounded" },
        )
        assert.sameMembers(
          [...reasons],
          [
            "200",
            "400",
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
        assert.isAbove(here, 300)
        yield* edge.stop
        for (const entitlement of ["exports", "api-calls", "jobs", "gigabytes", "large", "messages"]) {
          for (const slug of ["prod", "grace"]) {
            assert.deepStrictEqual(yield* usageOf(slug, entitlement), yield* usageOf(twinOf(slug), entitlement))
          }
        }
      }),
    240_000,
  )

  it.effect("is answered without the origin once a tranche covers it, and counted within seconds", () =>
    Effect.gen(function* () {
      const { cable, start, token, usageOf } = yield* open
      const edge = yield* start()
      yield* ready(edge, token)
      yield* consume(edge, token, { entitlement: "api-calls", requested: 20 })
      yield* until(
        "the origin has counted it",
        Effect.map(usageOf("prod", "api-calls"), ({ usage }) => usage === 20),
      )
      yield* until(
        "the edge has more",
        Effect.sync(() => unspentAt(edge, "api-calls") >= 3),
      )
      const snapshot = yield* edge.call("GET", "/api/instances/prod/snapshot", { token })
      assert.strictEqual(snapshot.status, 200, snapshot.text)
      const claims = JSON.parse(Buffer.from(snapshot.text.split(".")[1] ?? "", "base64url").toString())
      assert.notProperty(claims, "tranche", "clients of the edge do not get what the edge may spend")
      cable.cut()
      const covered = yield* consume(edge, token, { entitlement: "api-calls", requested: 3 })
      assert.deepInclude(covered.body.checks[0], { allowed: true, reason: "GRANTED", usage: 23, remaining: 977 })
      assert.isFalse(covered.headers.has("keyshelf-source"))
    }),
  )

  it.effect("with a key, at a past instant or explained is forwarded, and so is that of a token that only reads", () =>
    Effect.gen(function* () {
      const { cable, licenseKey, start, token } = yield* open
      const reading = yield* licenseKey("prod", ["read:instances"])
      const edge = yield* start([token, reading.token])
      yield* ready(edge, token)
      const keyed = { headers: { "idempotency-key": "one" }, requested: 4 }
      const first = yield* consume(edge, token, keyed)
      assert.deepInclude(first.body.checks[0], { allowed: true, usage: 4 })
      assert.isFalse(isHere(first))
      const second = yield* consume(edge, token, keyed)
      assert.deepStrictEqual([second.text, second.headers.get("idempotent-replayed")], [first.text, "true"])
      const denied = yield* consume(edge, reading.token)
      assert.deepStrictEqual([denied.status, denied.body.code], [403, "Auth.MissingScope"])
      const explained = yield* edge.call("POST", "/api/instances/prod/check", {
        token,
        body: { consume: true, explain: true, checks: [{ entitlement: "exports" }] },
      })
      assert.property(explained.body.checks[0], "explanation")
      cable.cut()
      // It may have been counted before: only the origin knows.
      const away = yield* consume(edge, token, keyed)
      assert.deepStrictEqual([away.status, away.body.code], [503, "Service.Unavailable"])
    }),
  )

  it.effect("with two credentials is from one ledger, and each sees what the other consumed", () =>
    Effect.gen(function* () {
      const { call, licenseKey, start, token, usageOf } = yield* open
      const key = yield* licenseKey("prod")
      const edge = yield* start([token, key.token])
      yield* ready(edge, token)
      yield* ready(edge, key.token)
      assert.deepInclude((yield* consume(edge, token, { requested: 2 })).body.checks[0], { usage: 2 })
      assert.deepInclude((yield* consume(edge, key.token, { requested: 3 })).body.checks[0], { usage: 5 })
      const checked = yield* edge.call("POST", "/api/instances/prod/check", {
        token: key.token,
        body: { checks: [{ entitlement: "exports" }] },
      })
      assert.deepInclude(checked.body.checks[0], { usage: 5, remaining: 95 })
      const { body } = yield* call("GET", "/instances/prod/tranches")
      assert.strictEqual(new Set(body.items.map(({ holder }: { holder: string }) => holder)).size, 1)
      yield* edge.stop
      assert.deepStrictEqual(yield* usageOf("prod", "exports"), { usage: 5, held: 0 })
    }),
  )

  it.effect("goes on with another credential when that of the ledger is denied", () =>
    Effect.gen(function* () {
      const { call, licenseKey, start, token, usageOf } = yield* open
      const key = yield* licenseKey("prod")
      const edge = yield* start([token, key.token])
      yield* ready(edge, key.token)
      assert.deepInclude((yield* consume(edge, key.token, { requested: 2 })).body.checks[0], { usage: 2 })
      yield* call("DELETE", `/instances/prod/keys/${key.slug}`)
      yield* until(
        "the key is denied",
        Effect.map(consume(edge, key.token), ({ status }) => status === 401),
      )
      yield* ready(edge, token)
      assert.deepInclude((yield* consume(edge, token, { requested: 3 })).body.checks[0], { allowed: true })
      yield* edge.stop
      assert.deepInclude(yield* usageOf("prod", "exports"), { usage: 5 })
    }),
  )

  it.effect(
    "at two edges never passes the limit, and all of it can be used",
    () =>
      Effect.gen(function* () {
        const { start, token, usageOf } = yield* open
        const one = yield* start()
        // In the same directory: each process has a slot of its own.
        const other = yield* start([token], one.folder)
        yield* ready(one, token)
        yield* ready(other, token)
        const slots = yield* Effect.promise(() => readdir(join(one.folder, "state")))
        assert.includeMembers(slots, ["slot-0", "slot-1"])
        let allowed = 0
        const take = (edge: Edge) =>
          Effect.map(consume(edge, token), ({ body, status, text }) => {
            assert.strictEqual(status, 200, text)
            const { allowed: isAllowed, reason } = body.checks[0]
            if (isAllowed) allowed++
            else assert.strictEqual(reason, "LIMIT_REACHED")
            return isAllowed as boolean
          })
        yield* Effect.forEach(
          Array.from({ length: 150 }, (_, index) => (index % 2 === 0 ? one : other)),
          take,
          { concurrency: 8 },
        )
        assert.isAtMost(allowed, 100)
        // Units that one edge does not use any more come back.
        yield* until(
          "one edge can use the rest",
          Effect.gen(function* () {
            while (yield* take(one));
            return allowed === 100
          }),
        )
        yield* one.stop
        yield* other.stop
        assert.deepStrictEqual(yield* usageOf("prod", "exports"), { usage: 100, held: 0 })
      }),
    60_000,
  )
})
