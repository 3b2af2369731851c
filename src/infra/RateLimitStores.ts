/**
 * Stores for rate limit budgets: in memory per process, or in Redis for all processes. Loaded only if limits are
 * enabled.
 */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Clock, Context, Duration, Effect, Exit, Layer, Metric, Redacted, References, Schedule, Scope } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { rateLimitsBypassed } from "./telemetry/Metrics.ts"
import type { Budget, Budgets } from "../kernel/ports/RateBudgets.ts"
import type { RateLimit } from "../kernel/ports/RateBudgets.ts"

type Limiter = RateLimiter.RateLimiter
type StoreError = RateLimiter.RateLimitStoreError

// Returns the time in which an empty budget refills completely.
const windowOf = (rateLimit: RateLimit): Duration.Duration => Duration.fromInputUnsafe(`1 ${rateLimit.unit}`)

const consume = (limiter: Limiter, rateLimit: RateLimit, key: string): Effect.Effect<Budget, StoreError> =>
  limiter.consume({ algorithm: "token-bucket", key, limit: rateLimit.requests, window: windowOf(rateLimit) }).pipe(
    Effect.map(({ limit, remaining, resetAfter }) => ({
      limit,
      remaining: Math.max(0, Math.floor(remaining)),
      resetMillis: Duration.toMillis(resetAfter),
    })),
    Effect.catch(({ reason }) =>
      reason._tag === "RateLimitExceeded"
        ? Effect.succeed({
            limit: reason.limit,
            remaining: 0,
            resetMillis: Duration.toMillis(windowOf(rateLimit)),
            retryMillis: Duration.toMillis(reason.retryAfter),
          })
        : Effect.fail(reason),
    ),
  )

const EVICTION_THRESHOLD = 10_000

interface Bucket {
  tokens: number
  refilledAt: number
}

/**
 * In-memory store that removes full buckets, because a new bucket also starts full. The library's own in-memory store
 * never removes a key.
 */
const evictingStore = Effect.gen(function* () {
  const store = yield* RateLimiter.RateLimiterStore
  const buckets = new Map<string, Bucket>()
  let evictAt = EVICTION_THRESHOLD

  const refill = (bucket: Bucket, at: number, limit: number, every: number) => {
    const tokens = Math.max(0, Math.floor((at - bucket.refilledAt) / every))
    bucket.tokens = Math.min(limit, bucket.tokens + tokens)
    bucket.refilledAt = bucket.tokens >= limit ? at : bucket.refilledAt + tokens * every
  }

  const evictFull = (at: number, limit: number, every: number) => {
    for (const [key, bucket] of buckets) {
      refill(bucket, at, limit, every)
      if (bucket.tokens >= limit) buckets.delete(key)
    }
    evictAt = Math.max(EVICTION_THRESHOLD, buckets.size * 2)
  }

  return RateLimiter.RateLimiterStore.of({
    ...store,
    tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const every = Duration.toMillis(refillRate)
        if (buckets.size >= evictAt) evictFull(at, limit, every)
        const bucket = buckets.get(key) ?? { tokens: limit, refilledAt: at }
        buckets.set(key, bucket)
        refill(bucket, at, limit, every)
        const remaining = bucket.tokens - tokens
        if (remaining >= 0 || allowOverflow) bucket.tokens = remaining
        return [remaining, Math.max(0, at - bucket.refilledAt)] as const
      }),
  })
}).pipe(Effect.provide(RateLimiter.layerStoreMemory))

/** Creates budgets that only this process counts. */
export const inMemoryBudgets = Effect.fnUntraced(function* (rateLimit: RateLimit) {
  const limiter = yield* Effect.provideServiceEffect(RateLimiter.make, RateLimiter.RateLimiterStore, evictingStore)
  const budgets: Budgets = { rateLimit, take: (key) => Effect.orDie(consume(limiter, rateLimit, key)) }
  return budgets
})

/** Maximum time that a request waits for Redis. */
const REDIS_TIMEOUT = Duration.millis(50)
/** Time after a failure during which requests pass uncounted, instead of each waiting for Redis. */
const PAUSE = Duration.seconds(1)

/**
 * Creates budgets that all processes share. While Redis is unreachable, requests pass uncounted, because rate limiting
 * must not cause an outage itself. Connects in the background, also at startup.
 */
export const redisBudgets = Effect.fnUntraced(function* (rateLimit: RateLimit, url: Redacted.Redacted) {
  let limiter: Limiter | undefined
  let pausedUntil = 0
  let isAway = false

  const onFailure = Effect.suspend(() => {
    if (isAway) return Effect.void
    isAway = true
    return Effect.logWarning("Redis (SERVICE_REDIS_URL) does not respond; rate limits are not applied")
  })

  const uncounted = Effect.as(Metric.update(rateLimitsBypassed, 1), undefined)

  const onSuccess = Effect.suspend(() => {
    if (!isAway) return Effect.void
    isAway = false
    return Effect.logInfo("Redis responds again; rate limits are applied")
  })

  const store = RateLimiter.layer.pipe(
    Layer.provide(RateLimiter.layerStoreRedis({ prefix: "keyshelf:rate-limit:" })),
    Layer.provide(
      NodeRedis.layer({
        url: Redacted.value(url),
        // Without a connection, commands fail immediately instead of queueing.
        disableOfflineQueue: true,
        socket: { connectTimeout: 2_000 },
      }),
    ),
    // The client would log every reconnection attempt; this module logs each outage once.
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None")),
  )
  const scope = yield* Scope.Scope
  // Each attempt has its own scope, so that a failed attempt leaves no resources behind.
  const connect = Effect.gen(function* () {
    const attempt = yield* Scope.fork(scope)
    const built = yield* Layer.buildWithMemoMap(store, yield* Layer.makeMemoMap, attempt).pipe(
      Effect.tapCause((cause) => Scope.close(attempt, Exit.failCause(cause))),
    )
    limiter = Context.get(built, RateLimiter.RateLimiter)
  })
  yield* connect.pipe(
    Effect.tapError(() => onFailure),
    Effect.retry(Schedule.spaced("2 seconds")),
    Effect.forkScoped,
  )

  const budgets: Budgets = {
    rateLimit,
    take: Effect.fnUntraced(function* (key) {
      const at = performance.now()
      if (limiter === undefined || at < pausedUntil) return yield* uncounted
      return yield* consume(limiter, rateLimit, key).pipe(
        Effect.tap(() => onSuccess),
        Effect.timeout(REDIS_TIMEOUT),
        Effect.catchCause(() => {
          pausedUntil = performance.now() + Duration.toMillis(PAUSE)
          return Effect.andThen(onFailure, uncounted)
        }),
      )
    }),
  }
  return budgets
})
