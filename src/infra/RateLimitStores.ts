/** Where budgets are counted: in this process, or in Redis for all of them. Loaded only where limits are on. */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Clock, Context, Duration, Effect, Exit, Layer, Metric, Redacted, References, Schedule, Scope } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { rateLimitsSkipped } from "./telemetry/Metrics.ts"
import type { Budget, Budgets } from "../kernel/ports/RateBudgets.ts"
import type { RateLimit } from "../kernel/ports/RateBudgets.ts"

type Limiter = RateLimiter.RateLimiter
type StoreError = RateLimiter.RateLimitStoreError

// How long the whole budget takes to refill.
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

const FORGET_FROM = 10_000

interface Bucket {
  tokens: number
  refilledAt: number
}

/**
 * The library's store in memory keeps every key for ever. Its token buckets are replaced by ones that are forgotten once
 * they are full again, which is how a new one starts.
 */
const forgettingStore = Effect.gen(function* () {
  const store = yield* RateLimiter.RateLimiterStore
  const buckets = new Map<string, Bucket>()
  let forgetAt = FORGET_FROM

  const refill = (bucket: Bucket, at: number, limit: number, every: number) => {
    const tokens = Math.max(0, Math.floor((at - bucket.refilledAt) / every))
    bucket.tokens = Math.min(limit, bucket.tokens + tokens)
    bucket.refilledAt = bucket.tokens >= limit ? at : bucket.refilledAt + tokens * every
  }

  const forgetFull = (at: number, limit: number, every: number) => {
    for (const [key, bucket] of buckets) {
      refill(bucket, at, limit, every)
      if (bucket.tokens >= limit) buckets.delete(key)
    }
    forgetAt = Math.max(FORGET_FROM, buckets.size * 2)
  }

  return RateLimiter.RateLimiterStore.of({
    ...store,
    tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const every = Duration.toMillis(refillRate)
        if (buckets.size >= forgetAt) forgetFull(at, limit, every)
        const bucket = buckets.get(key) ?? { tokens: limit, refilledAt: at }
        buckets.set(key, bucket)
        refill(bucket, at, limit, every)
        const left = bucket.tokens - tokens
        if (left >= 0 || allowOverflow) bucket.tokens = left
        return [left, Math.max(0, at - bucket.refilledAt)] as const
      }),
  })
}).pipe(Effect.provide(RateLimiter.layerStoreMemory))

/** Budgets that this process counts alone. */
export const inMemory = Effect.fnUntraced(function* (rateLimit: RateLimit) {
  const limiter = yield* Effect.provideServiceEffect(RateLimiter.make, RateLimiter.RateLimiterStore, forgettingStore)
  const budgets: Budgets = { rateLimit, take: (key) => Effect.orDie(consume(limiter, rateLimit, key)) }
  return budgets
})

/** The longest that a request waits for Redis. */
const PATIENCE = Duration.millis(50)
/** After a failure requests pass uncounted for so long, instead of each waiting again. */
const PAUSE = Duration.seconds(1)

/**
 * Budgets that all processes count together. While Redis cannot be reached, requests pass uncounted: a limit protects the
 * service, and must not be what takes it down. Connects in the background, also at the start.
 */
export const onRedis = Effect.fnUntraced(function* (rateLimit: RateLimit, url: Redacted.Redacted) {
  let limiter: Limiter | undefined
  let pausedUntil = 0
  let away = false

  const lost = Effect.suspend(() => {
    if (away) return Effect.void
    away = true
    return Effect.logWarning("Redis (SERVICE_REDIS_URL) does not answer; requests pass without being counted")
  })

  const uncounted = Effect.as(Metric.update(rateLimitsSkipped, 1), undefined)

  const returned = Effect.suspend(() => {
    if (!away) return Effect.void
    away = false
    return Effect.logInfo("Redis answers again; requests are counted")
  })

  const store = RateLimiter.layer.pipe(
    Layer.provide(RateLimiter.layerStoreRedis({ prefix: "keyshelf:rate-limit:" })),
    Layer.provide(
      NodeRedis.layer({
        url: Redacted.value(url),
        // Commands fail at once while there is no connection, instead of piling up.
        disableOfflineQueue: true,
        socket: { connectTimeout: 2_000 },
      }),
    ),
    // The client reports every attempt to reconnect; one line by us says it all.
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None")),
  )
  const scope = yield* Scope.Scope
  // A connection attempt that failed leaves nothing behind for the next one.
  const connect = Effect.gen(function* () {
    const attempt = yield* Scope.fork(scope)
    const built = yield* Layer.buildWithMemoMap(store, yield* Layer.makeMemoMap, attempt).pipe(
      Effect.tapCause((cause) => Scope.close(attempt, Exit.failCause(cause))),
    )
    limiter = Context.get(built, RateLimiter.RateLimiter)
  })
  yield* connect.pipe(
    Effect.tapError(() => lost),
    Effect.retry(Schedule.spaced("2 seconds")),
    Effect.forkScoped,
  )

  const budgets: Budgets = {
    rateLimit,
    take: Effect.fnUntraced(function* (key) {
      const at = performance.now()
      if (limiter === undefined || at < pausedUntil) return yield* uncounted
      return yield* consume(limiter, rateLimit, key).pipe(
        Effect.tap(() => returned),
        Effect.timeout(PATIENCE),
        Effect.catchCause(() => {
          pausedUntil = performance.now() + Duration.toMillis(PAUSE)
          return Effect.andThen(lost, uncounted)
        }),
      )
    }),
  }
  return budgets
})
