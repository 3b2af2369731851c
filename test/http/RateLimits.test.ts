import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { createConnection, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { CurrentBudgets } from "../../src/kernel/ports/RateBudgets.ts"
import type { Budgets } from "../../src/kernel/ports/RateBudgets.ts"
import { inMemoryBudgets, redisBudgets } from "../../src/infra/RateLimitStores.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

const THREE_PER_MINUTE = { requests: 3, unit: "minute" } as const

/** Takes requests in sequence; returns what remains after each, or `undefined` if it exceeds the budget. */
const take = (budgets: Budgets, key: string, times: number) =>
  Effect.forEach(Array.from({ length: times }), () =>
    Effect.map(budgets.take(key), (budget) =>
      budget === undefined || budget.retryMillis !== undefined ? undefined : budget.remaining,
    ),
  )

describe("a budget of three requests a minute", () => {
  it.effect("three requests at once are allowed and the fourth is rejected", () =>
    Effect.gen(function* () {
      const budgets = yield* inMemoryBudgets(THREE_PER_MINUTE)
      assert.deepStrictEqual(yield* take(budgets, "a", 4), [2, 1, 0, undefined])
    }),
  )

  it.effect("a budget of three per minute refills one request every twenty seconds", () =>
    Effect.gen(function* () {
      const budgets = yield* inMemoryBudgets(THREE_PER_MINUTE)
      yield* take(budgets, "a", 3)
      const rejected = yield* budgets.take("a")
      assert.strictEqual(rejected?.retryMillis, 20_000)
      assert.strictEqual(rejected?.remaining, 0)
      yield* TestClock.adjust("19999 millis")
      assert.deepStrictEqual(yield* take(budgets, "a", 1), [undefined])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* take(budgets, "a", 2), [0, undefined])
    }),
  )

  it.effect("a budget is full after a minute and never exceeds its limit", () =>
    Effect.gen(function* () {
      const budgets = yield* inMemoryBudgets(THREE_PER_MINUTE)
      yield* take(budgets, "a", 3)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* take(budgets, "a", 4), [2, 1, 0, undefined])
    }),
  )

  it.effect("each credential has a separate budget", () =>
    Effect.gen(function* () {
      const budgets = yield* inMemoryBudgets(THREE_PER_MINUTE)
      yield* take(budgets, "a", 4)
      assert.deepStrictEqual(yield* take(budgets, "b", 1), [2])
    }),
  )

  it.effect("a budget is evicted only if it is full", () =>
    Effect.gen(function* () {
      const budgets = yield* inMemoryBudgets(THREE_PER_MINUTE)
      yield* take(budgets, "spent", 3)
      yield* TestClock.adjust("10 seconds")
      // More credentials than the eviction threshold.
      for (let index = 0; index < 25_000; index++) yield* budgets.take(`other ${index}`)
      assert.deepStrictEqual(yield* take(budgets, "spent", 1), [undefined])
    }),
  )
})

const serviceWithLimits = TestService.separate.pipe(
  Layer.provide(Layer.effect(CurrentBudgets, inMemoryBudgets({ requests: 20, unit: "hour" }))),
)

const rateLimitOf = ({ headers }: HttpResponse) =>
  ["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`))

layer(serviceWithLimits, { excludeTestServices: true })("a service with limits", (it) => {
  it.effect("responses to authenticated callers, including problems, contain the remaining budget", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      assert.deepStrictEqual(rateLimitOf(yield* core("GET", "/me", { token })), ["20", "19", "180"])
      const missing = yield* core("GET", "/components/none", { token })
      assert.strictEqual(missing.status, 404)
      assert.deepStrictEqual(rateLimitOf(missing).slice(0, 2), ["20", "18"])
      const invalid = yield* core("POST", "/components", { token, body: {} })
      assert.strictEqual(invalid.status, 422)
      assert.deepStrictEqual(rateLimitOf(invalid).slice(0, 2), ["20", "17"])
    }),
  )

  it.effect("a request over the limit gets a 429 problem with `Retry-After`", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (let index = 0; index < 20; index++) yield* core("GET", "/me", { token })
      const response = yield* core("POST", "/components", { token, body: { name: "a", version: "1" } })
      assert.strictEqual(response.status, 429)
      assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
      assert.strictEqual(response.body.code, "Request.RateLimited")
      assert.deepStrictEqual(rateLimitOf(response).slice(0, 2), ["20", "0"])
      const retryAfter = Number(response.headers.get("retry-after"))
      assert.isTrue(retryAfter > 170 && retryAfter <= 180, String(retryAfter))
    }),
  )

  it.effect("credentials of one organization are limited separately", () =>
    Effect.gen(function* () {
      const { core, tenant, tokenWith } = yield* TestService
      const owner = yield* tenant()
      for (let index = 0; index < 21; index++) yield* core("GET", "/me", { token: owner.token })
      const other = yield* tokenWith(owner, ["read:releases"])
      assert.strictEqual((yield* core("GET", "/me", { token: other })).status, 200)
    }),
  )

  it.effect("an unauthenticated response has no rate limit headers", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const response = yield* core("GET", "/me", { token: "ksh_unknown" })
      assert.strictEqual(response.status, 401)
      assert.deepStrictEqual(rateLimitOf(response), [null, null, null])
    }),
  )
})

layer(TestService.separate, { excludeTestServices: true })("a service without limits", (it) => {
  it.effect("responses have no rate limit headers if limits are disabled", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      assert.deepStrictEqual(rateLimitOf(yield* core("GET", "/me", { token })), [null, null, null])
    }),
  )
})

layer(
  TestService.separate.pipe(
    Layer.provide(Layer.effect(CurrentBudgets, inMemoryBudgets({ requests: 2, unit: "hour" }))),
  ),
  {
    excludeTestServices: true,
  },
)("the Platform API with limits", (it) => {
  it.effect("platform credentials are serviceWithLimits", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const responses = yield* Effect.forEach([1, 2, 3], () => platform("GET", "/platform/me", { token: operator }))
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 200, 429],
      )
      assert.deepStrictEqual(rateLimitOf(responses[2] as HttpResponse).slice(0, 2), ["2", "0"])
    }),
  )
})

const REDIS = process.env["TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379"

const isRedisUp = await new Promise<boolean>((resolve) => {
  const { hostname, port } = new URL(REDIS)
  const socket = createConnection({ host: hostname, port: Number(port || 6379), timeout: 500 })
  const end = (answered: boolean) => {
    socket.destroy()
    resolve(answered)
  }
  socket.on("connect", () => socket.write("PING\r\n"))
  socket.on("data", (data) => end(data.toString().includes("PONG")))
  socket.on("error", () => end(false))
  socket.on("timeout", () => end(false))
})
if (!isRedisUp) console.warn(`Skipped the tests of budgets on Redis: no response at ${REDIS}`)

const until = (holds: Effect.Effect<boolean>) =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 500; tries++) {
      if (yield* holds) return
      yield* Effect.sleep("20 millis")
    }
    return yield* Effect.die(new Error("Timed out waiting for the condition"))
  })

const isCounting = (budgets: Budgets) =>
  Effect.map(budgets.take(`probe ${randomUUID()}`), (budget) => budget !== undefined)

describe.skipIf(!isRedisUp)("budgets on Redis", () => {
  it.live("nodes share one budget on Redis", () =>
    Effect.gen(function* () {
      const url = Redacted.make(REDIS)
      const [one, two] = [yield* redisBudgets(THREE_PER_MINUTE, url), yield* redisBudgets(THREE_PER_MINUTE, url)]
      yield* until(isCounting(one))
      yield* until(isCounting(two))
      const key = randomUUID()
      assert.deepStrictEqual(yield* take(one, key, 2), [2, 1])
      assert.deepStrictEqual(yield* take(two, key, 2), [0, undefined])
      assert.deepStrictEqual(yield* take(one, key, 1), [undefined])
    }).pipe(Effect.scoped),
  )

  it.live("requests pass uncounted while Redis is unreachable, and are counted once it is back", () =>
    Effect.gen(function* () {
      const proxy = yield* redisProxy
      const budgets = yield* redisBudgets(THREE_PER_MINUTE, Redacted.make(proxy.url))
      yield* until(isCounting(budgets))
      yield* proxy.cut
      const key = randomUUID()
      for (let index = 0; index < 10; index++) {
        const started = performance.now()
        assert.isUndefined(yield* budgets.take(key))
        assert.isBelow(performance.now() - started, 100)
      }
      yield* proxy.mend
      yield* until(isCounting(budgets))
      assert.deepStrictEqual(yield* take(budgets, key, 1), [2])
    }).pipe(Effect.scoped),
  )
})

/** A proxy to Redis that can be cut. */
const redisProxy = Effect.acquireRelease(
  Effect.promise(async () => {
    const { hostname, port } = new URL(REDIS)
    const sockets = new Set<Socket>()
    const open = (at: number) =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const server = createServer((near) => {
          const far = createConnection({ host: hostname, port: Number(port || 6379) })
          for (const socket of [near, far]) {
            sockets.add(socket)
            socket.on("error", () => {})
          }
          near.pipe(far).pipe(near)
        })
        server.listen(at, "127.0.0.1", () => resolve(server))
      })
    let server = await open(0)
    const at = (server.address() as AddressInfo).port
    const cut = async () => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      await new Promise((resolve) => server.close(resolve))
    }
    return {
      url: `redis://127.0.0.1:${at}`,
      cut: Effect.promise(cut),
      mend: Effect.promise(async () => {
        server = await open(at)
      }),
    }
  }),
  ({ cut }) => cut,
)

describe("a Redis that never responds", () => {
  it.live("an unresponsive Redis delays each request by less than 100 ms", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              // Accepts connections and never responds.
              const silent = createServer((socket) => socket.on("error", () => {}))
              silent.listen(0, "127.0.0.1", () => resolve(silent))
            }),
        ),
        (silent) => Effect.sync(() => silent.close()),
      )
      const { port } = server.address() as AddressInfo
      const budgets = yield* redisBudgets(THREE_PER_MINUTE, Redacted.make(`redis://127.0.0.1:${port}`))
      for (let index = 0; index < 5; index++) {
        const started = performance.now()
        assert.isUndefined(yield* budgets.take("a"))
        assert.isBelow(performance.now() - started, 100)
      }
    }).pipe(Effect.scoped),
  )

  it.live("a refused connection to Redis does not prevent startup", () =>
    Effect.gen(function* () {
      const budgets = yield* redisBudgets(THREE_PER_MINUTE, Redacted.make("redis://127.0.0.1:1"))
      assert.isUndefined(yield* budgets.take("a"))
    }).pipe(Effect.scoped),
  )
})
