/** Caches the identity provider's keys in memory. While the provider is unavailable, stale keys are used for a time. */
import { Clock, Duration, Effect, Fiber, Semaphore } from "effect"
import { createLocalJWKSet } from "jose"
import type { LocalJWKSet } from "jose"
import { KeysUnavailable } from "../../../kernel/ports/IdentityProvider.ts"
import type { Provider } from "../../../kernel/ports/IdentityProvider.ts"

/** Keys older than this are fetched again before use. */
const FRESH_MS = Duration.toMillis("10 minutes")
/** Keys older than this are not used, even while the provider is unavailable. */
const MAX_STALE_MS = Duration.toMillis("1 hour")
/** Minimum time between two fetches that an unknown `kid` causes, so that forged tokens cannot flood the provider. */
const UNKNOWN_KEY_PAUSE_MS = Duration.toMillis("30 seconds")
/** Minimum time between two fetches after a failure. */
const FAILURE_PAUSE_MS = { withKeys: Duration.toMillis("30 seconds"), without: Duration.toMillis("5 seconds") }

interface CachedKeys {
  readonly keys: LocalJWKSet
  readonly fetchedAt: number
}

/** Reads the provider's keys. Concurrent requests share one fetch, which continues if a request is cancelled. */
interface KeySet {
  /** The keys to verify with. */
  readonly current: Effect.Effect<LocalJWKSet, KeysUnavailable>
  /**
   * Newer keys than `seen`, for a token with an unknown key. Returns the same keys if it is too early to fetch again.
   */
  readonly after: (seen: LocalJWKSet) => Effect.Effect<LocalJWKSet, KeysUnavailable>
}

/** Creates the key set of a provider. Fetches it immediately, so that a wrong setting is logged at startup. */
export const keySetOf = Effect.fnUntraced(function* (provider: Provider) {
  const scope = yield* Effect.scope
  const oneAtATime = Semaphore.makeUnsafe(1)
  let cached: CachedKeys | undefined
  let failedAt: number | undefined
  let unknownAt = -Infinity

  const isUsable = (at: number) => cached !== undefined && at - cached.fetchedAt <= MAX_STALE_MS
  const isDue = (at: number) => {
    if (cached !== undefined && at - cached.fetchedAt <= FRESH_MS) return false
    const pause = isUsable(at) ? FAILURE_PAUSE_MS.withKeys : FAILURE_PAUSE_MS.without
    return failedAt === undefined || at - failedAt >= pause
  }

  const fetch = provider.fetchKeys.pipe(
    Effect.flatMap((keys) =>
      Effect.try({
        try: () => createLocalJWKSet(keys),
        catch: () => new KeysUnavailable({ message: "the response is not a key set" }),
      }),
    ),
    Effect.flatMap((keys) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        cached = { keys, fetchedAt: at }
        failedAt = undefined
      }),
    ),
    Effect.catch((error) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        failedAt = at
        const consequence = isUsable(at) ? "The cached keys remain in use" : "People cannot sign in"
        return Effect.logWarning(`Fetching the identity provider's keys failed: ${error.message}. ${consequence}.`)
      }),
    ),
  )

  // Checks again once the permit is acquired: the fiber before may already have fetched the keys.
  const refresh = (isWanted: (at: number) => boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => (isWanted(at) ? fetch : Effect.void)).pipe(
      oneAtATime.withPermits(1),
      Effect.forkIn(scope),
    )

  const usable = Effect.flatMap(Clock.currentTimeMillis, (at) =>
    cached !== undefined && isUsable(at)
      ? Effect.succeed(cached.keys)
      : Effect.fail(new KeysUnavailable({ message: "no keys are cached" })),
  )

  const current = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    if (isDue(at)) {
      // After a failure, requests do not wait for the fetch while the cached keys are usable.
      const waits = failedAt === undefined || !isUsable(at)
      const fetching = yield* refresh(isDue)
      if (waits) yield* Fiber.join(fetching)
    }
    return yield* usable
  })

  const after = Effect.fnUntraced(function* (seen: LocalJWKSet) {
    const isWanted = (at: number) => {
      if (cached?.keys !== seen || at - unknownAt < UNKNOWN_KEY_PAUSE_MS) return false
      unknownAt = at
      return true
    }
    yield* Effect.flatMap(refresh(isWanted), Fiber.join)
    return yield* usable
  })

  yield* refresh(isDue)
  return { current, after } satisfies KeySet
})
