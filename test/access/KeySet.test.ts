import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Option, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import type { JWK } from "jose"
import { IdentityTokens } from "../../src/domains/access/tokens/IdentityTokens.ts"
import { IdentityProvider, KeysUnavailable } from "../../src/kernel/ports/IdentityProvider.ts"
import { AUDIENCE, newKey, sign } from "../support/Issuer.ts"
import type { SigningKey } from "../support/Issuer.ts"

const ISSUER = "https://login.example"
const NOW = new Date("2030-01-01T00:00:00Z").getTime()

/** A provider that counts the fetches of its keys, can be unavailable, and can delay its responses. */
const fixture = Effect.gen(function* () {
  yield* TestClock.setTime(NOW)
  const state = { fetches: 0, unavailable: false, keys: [] as Array<JWK> }
  const gate = yield* Latch.make(true)
  const fetchKeys = Effect.gen(function* () {
    state.fetches++
    yield* gate.await
    if (state.unavailable) return yield* new KeysUnavailable({ message: "the provider is unavailable" })
    return { keys: [...state.keys] }
  })
  const provider = {
    issuer: ISSUER,
    audience: AUDIENCE,
    organizationClaim: "org_id",
    provisioning: "off" as const,
    fetchKeys,
  }
  const begin = Effect.gen(function* () {
    const layer = IdentityTokens.layer.pipe(Layer.provide(Layer.succeed(IdentityProvider, Option.some(provider))))
    const { verify } = Context.get(yield* Layer.build(layer), IdentityTokens)
    // Tokens are valid for a day, so that the result depends only on the keys.
    return (key: SigningKey) =>
      Effect.flatMap(sign(key, ISSUER, { claims: { exp: NOW / 1000 + 86_400 } }, NOW), (token) =>
        Effect.map(Effect.option(verify(Redacted.make(token))), Option.isSome),
      )
  })
  return { state, gate, begin }
}).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))

const quietly = Effect.provideService(References.MinimumLogLevel, "Error")

describe("the identity provider's keys", () => {
  it.effect("are fetched once at startup for all waiting requests, and again after ten minutes", () =>
    Effect.gen(function* () {
      const { begin, gate, state } = yield* fixture
      const key = yield* newKey("ES256")
      state.keys = [key.jwk]
      yield* gate.close
      const isGood = yield* begin
      const waiting = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => isGood(key)),
          { concurrency: 20 },
        ),
      )
      yield* TestClock.withLive(Effect.sleep(20))
      yield* gate.open
      assert.isTrue((yield* Fiber.join(waiting)).every(Boolean))
      assert.strictEqual(state.fetches, 1)
      yield* TestClock.setTime(NOW + 600_000)
      assert.isTrue(yield* isGood(key))
      assert.strictEqual(state.fetches, 1)
      yield* TestClock.setTime(NOW + 600_001)
      assert.isTrue(yield* isGood(key))
      assert.strictEqual(state.fetches, 2)
    }),
  )

  it.effect("a removed key is rejected after ten minutes", () =>
    Effect.gen(function* () {
      const { begin, state } = yield* fixture
      const [old, fresh] = [yield* newKey("ES256"), yield* newKey("ES256")]
      state.keys = [old.jwk]
      const isGood = yield* begin
      assert.isTrue(yield* isGood(old))
      state.keys = [fresh.jwk]
      yield* TestClock.setTime(NOW + 600_001)
      assert.isFalse(yield* isGood(old))
    }),
  )

  it.effect("are fetched immediately for an unknown key, and not again within 30 seconds", () =>
    Effect.gen(function* () {
      const { begin, state } = yield* fixture
      const [first, second, third] = [yield* newKey("ES256"), yield* newKey("EdDSA"), yield* newKey("ES256")]
      state.keys = [first.jwk]
      const isGood = yield* begin
      assert.isTrue(yield* isGood(first))
      state.keys = [first.jwk, second.jwk]
      const all = yield* Effect.all(
        Array.from({ length: 20 }, () => isGood(second)),
        { concurrency: 20 },
      )
      assert.isTrue(all.every(Boolean))
      assert.strictEqual(state.fetches, 2)
      state.keys = [second.jwk, third.jwk]
      yield* TestClock.setTime(NOW + 29_999)
      for (let round = 0; round < 50; round++) assert.isFalse(yield* isGood(third))
      assert.isTrue(yield* isGood(first))
      assert.strictEqual(state.fetches, 2)
      yield* TestClock.setTime(NOW + 30_000)
      assert.isTrue(yield* isGood(third))
      assert.isFalse(yield* isGood(first))
      assert.strictEqual(state.fetches, 3)
    }),
  )

  it.effect("are not fetched for an invalid signature of a known key", () =>
    Effect.gen(function* () {
      const { begin, state } = yield* fixture
      const key = yield* newKey("ES256")
      state.keys = [key.jwk]
      const isGood = yield* begin
      assert.isTrue(yield* isGood(key))
      assert.isFalse(yield* isGood(yield* newKey("ES256", key.kid)))
      assert.strictEqual(state.fetches, 1)
    }),
  )

  it.effect("are used for an hour while the provider is unavailable, with a fetch every 30 seconds", () =>
    quietly(
      Effect.gen(function* () {
        const { begin, state } = yield* fixture
        const key = yield* newKey("ES256")
        state.keys = [key.jwk]
        const isGood = yield* begin
        assert.isTrue(yield* isGood(key))
        state.unavailable = true
        yield* TestClock.setTime(NOW + 3_599_000)
        for (let round = 0; round < 20; round++) assert.isTrue(yield* isGood(key))
        assert.strictEqual(state.fetches, 2)
        yield* TestClock.setTime(NOW + 3_600_001)
        assert.isFalse(yield* isGood(key))
        state.unavailable = false
        yield* TestClock.setTime(NOW + 3_629_000)
        assert.isTrue(yield* isGood(key))
      }),
    ),
  )

  it.effect("requests with cached keys do not wait for a provider whose last fetch failed", () =>
    quietly(
      Effect.gen(function* () {
        const { begin, gate, state } = yield* fixture
        const key = yield* newKey("ES256")
        state.keys = [key.jwk]
        const isGood = yield* begin
        assert.isTrue(yield* isGood(key))
        state.unavailable = true
        yield* TestClock.setTime(NOW + 700_000)
        assert.isTrue(yield* isGood(key))
        yield* gate.close
        yield* TestClock.setTime(NOW + 730_000)
        assert.isTrue(yield* isGood(key))
        assert.strictEqual(state.fetches, 3)
        yield* gate.open
      }),
    ),
  )

  it.effect("are fetched again after five seconds if the provider is unavailable at startup", () =>
    quietly(
      Effect.gen(function* () {
        const { begin, state } = yield* fixture
        const key = yield* newKey("ES256")
        state.keys = [key.jwk]
        state.unavailable = true
        const isGood = yield* begin
        assert.isFalse(yield* isGood(key))
        state.unavailable = false
        yield* TestClock.setTime(NOW + 4_999)
        assert.isFalse(yield* isGood(key))
        assert.strictEqual(state.fetches, 1)
        yield* TestClock.setTime(NOW + 5_000)
        assert.isTrue(yield* isGood(key))
      }),
    ),
  )

  it.effect("interrupting one request does not interrupt the fetch that others wait for", () =>
    Effect.gen(function* () {
      const { begin, gate, state } = yield* fixture
      const key = yield* newKey("ES256")
      state.keys = [key.jwk]
      yield* gate.close
      const isGood = yield* begin
      const [interrupted, waiting] = [yield* Effect.forkChild(isGood(key)), yield* Effect.forkChild(isGood(key))]
      yield* TestClock.withLive(Effect.sleep(20))
      yield* Fiber.interrupt(interrupted)
      yield* gate.open
      assert.isTrue(yield* Fiber.join(waiting))
      assert.strictEqual(state.fetches, 1)
    }),
  )
})
