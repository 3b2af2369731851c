import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { discoveryOf } from "../../src/infra/outbound/OpenIdDiscovery.ts"
import { KeysUnavailable } from "../../src/kernel/ports/IdentityProvider.ts"

/** Reads the endpoints for browsers from a document that replaces the one before, with a clock that stands still. */
const browsing = (issuer = "https://login.example") => {
  let document: object | undefined
  let fetches = 0
  const { endpoints, jwksUri } = discoveryOf(issuer, (url, schema) => {
    fetches++
    return document === undefined
      ? Effect.fail(new KeysUnavailable({ message: `${url} is away` }))
      : Effect.orDie(Schema.decodeUnknownEffect(schema)(document))
  })
  const publish = (properties: object | undefined) => {
    document = properties && { issuer, jwks_uri: `${issuer}/keys`, ...properties }
  }
  return { endpoints: Effect.map(endpoints, Option.getOrUndefined), jwksUri, publish, fetches: () => fetches }
}

describe("the endpoints for browsers", () => {
  const published = {
    authorization_endpoint: "https://login.example/authorize",
    token_endpoint: "https://login.example/token",
  }
  const found = {
    authorizationEndpoint: "https://login.example/authorize",
    tokenEndpoint: "https://login.example/token",
    endSessionEndpoint: null,
  }

  it.effect("come from the document that the keys were found with, without another request", () =>
    Effect.gen(function* () {
      const provider = browsing()
      provider.publish(published)
      assert.strictEqual(yield* provider.jwksUri, "https://login.example/keys")
      assert.deepStrictEqual(yield* provider.endpoints, found)
      assert.deepStrictEqual(yield* provider.endpoints, found)
      assert.strictEqual(provider.fetches(), 1)
    }),
  )

  it.effect("are fetched once for concurrent requests, at most every 30 seconds while the provider is away", () =>
    Effect.gen(function* () {
      const provider = browsing()
      const asked = yield* Effect.all(
        Array.from({ length: 5 }, () => provider.endpoints),
        { concurrency: 5 },
      )
      assert.deepStrictEqual([asked, provider.fetches()], [Array(5).fill(undefined), 1])
      provider.publish(published)
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(yield* provider.endpoints)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* provider.endpoints, found)
      assert.strictEqual(provider.fetches(), 2)
    }),
  )

  it.effect("stay known while the provider is away, and follow a new document after ten minutes", () =>
    Effect.gen(function* () {
      const provider = browsing()
      provider.publish(published)
      yield* provider.endpoints
      provider.publish(undefined)
      yield* TestClock.adjust("11 minutes")
      assert.deepStrictEqual(yield* provider.endpoints, found)
      yield* Effect.yieldNow
      provider.publish({ ...published, end_session_endpoint: "https://login.example/logout" })
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* provider.endpoints, found)
      yield* Effect.yieldNow
      const changed = { ...found, endSessionEndpoint: "https://login.example/logout" }
      assert.deepStrictEqual(yield* provider.endpoints, changed)
    }),
  )

  it.effect("are missing if browsers could not be sent there safely", () =>
    Effect.gen(function* () {
      for (const unsafe of [
        {},
        { ...published, authorization_endpoint: "javascript:alert(1)" },
        { ...published, token_endpoint: "http://login.example/token" },
        { token_endpoint: "https://login.example/token" },
      ]) {
        const provider = browsing()
        provider.publish(unsafe)
        assert.isUndefined(yield* provider.endpoints, JSON.stringify(unsafe))
      }
      const provider = browsing()
      provider.publish({ ...published, end_session_endpoint: "javascript:alert(1)" })
      assert.deepStrictEqual(yield* provider.endpoints, found)
    }),
  )
})
