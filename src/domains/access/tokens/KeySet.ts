/** The identity provider's keys, held in memory: fetched when they are due, kept for a while when the provider is away. */
import { Clock, Duration, Effect, Fiber, Semaphore } from "effect"
import { createLocalJWKSet } from "jose"
import type { LocalJWKSet } from "jose"
import { KeysUnavailable } from "../../../kernel/ports/IdentityProvider.ts"
import type { Provider } from "../../../kernel/ports/IdentityProvider.ts"

/** Older keys are fetched again before they are used. */
const FRESH = Duration.toMillis("10 minutes")
/** Older keys are not used any more, also while the provider is away. */
const LONGEST_STALE = Duration.toMillis("1 hour")
/** The least time between two fetches for the sake of an unknown `kid` (contract, section 9). */
const BETWEEN_UNKNOWN = Duration.toMillis("30 seconds")
/** The least time between two fetches when the last one failed. */
const BETWEEN_FAILURES = { withKeys: Duration.toMillis("30 seconds"), without: Duration.toMillis("5 seconds") }

interface Held {
  readonly keys: LocalJWKSet
  readonly fetchedAt: number
}

/** The way to the provider's keys. Requests that wait at once share one fetch, which goes on if they leave. */
export interface KeySet {
  /** The keys to verify with now. */
  readonly current: Effect.Effect<LocalJWKSet, KeysUnavailable>
  /** Newer keys than these, for a token whose key is not among them; the same ones if it is too early to ask again. */
  readonly after: (seen: LocalJWKSet) => Effect.Effect<LocalJWKSet, KeysUnavailable>
}

/** The key set of a provider. Fetches it at once, so that a wrong setting shows in the log at the start. */
export const keySetOf = Effect.fnUntraced(function* (provider: Provider) {
  const scope = yield* Effect.scope
  const oneAtATime = Semaphore.makeUnsafe(1)
  let held: Held | undefined
  let failedAt: number | undefined
  let unknownAt = -Infinity

  const isUsable = (at: number) => held !== undefined && at - held.fetchedAt <= LONGEST_STALE
  const isDue = (at: number) => {
    if (held !== undefined && at - held.fetchedAt <= FRESH) return false
    const pause = isUsable(at) ? BETWEEN_FAILURES.withKeys : BETWEEN_FAILURES.without
    return failedAt === undefined || at - failedAt >= pause
  }

  const fetch = provider.fetchKeys.pipe(
    Effect.flatMap((keys) =>
      Effect.try({
        try: () => createLocalJWKSet(keys),
        catch: () => new KeysUnavailable({ message: "it is no key set" }),
      }),
    ),
    Effect.flatMap((keys) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        held = { keys, fetchedAt: at }
        failedAt = undefined
      }),
    ),
    Effect.catch((error) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        failedAt = at
        const consequence = isUsable(at) ? "The keys from before are used on" : "Nobody can sign in"
        return Effect.logWarning(`The identity provider's keys cannot be fetched: ${error.message}. ${consequence}.`)
      }),
    ),
  )

  // Decided again when it is this fiber's turn: whoever was before may have fetched what is wanted.
  const refresh = (isWanted: (at: number) => boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => (isWanted(at) ? fetch : Effect.void)).pipe(
      oneAtATime.withPermits(1),
      Effect.forkIn(scope),
    )

  const usable = Effect.flatMap(Clock.currentTimeMillis, (at) =>
    held !== undefined && isUsable(at)
      ? Effect.succeed(held.keys)
      : Effect.fail(new KeysUnavailable({ message: "there are none" })),
  )

  const current = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    if (isDue(at)) {
      // A provider that was away a moment ago is asked again without anybody waiting for it.
      const waits = failedAt === undefined || !isUsable(at)
      const fetching = yield* refresh(isDue)
      if (waits) yield* Fiber.join(fetching)
    }
    return yield* usable
  })

  const after = Effect.fnUntraced(function* (seen: LocalJWKSet) {
    const isWanted = (at: number) => {
      if (held?.keys !== seen || at - unknownAt < BETWEEN_UNKNOWN) return false
      unknownAt = at
      return true
    }
    yield* Effect.flatMap(refresh(isWanted), Fiber.join)
    return yield* usable
  })

  yield* refresh(isDue)
  return { current, after } satisfies KeySet
})
