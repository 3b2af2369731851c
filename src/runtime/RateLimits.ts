/**
 * Rate limits per credential, disabled unless `SERVICE_RATE_LIMIT` is set. Each credential has a token bucket that
 * holds the whole budget and refills evenly, so callers may send bursts and are never blocked for a whole window. Each
 * process counts in memory; with `SERVICE_REDIS_URL` all processes share the counts.
 *
 * Requests with an invalid credential are not counted. Behind a proxy all callers have the same address, so a budget
 * per address would let one caller block the others. Checking a credential costs one indexed lookup;
 * `docs/observability.md` shows how to limit such requests at the proxy.
 */
import { Context, Effect, Layer, Option } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { RequestOwner } from "../kernel/Caller.ts"
import { RateLimits } from "../kernel/Endpoint.ts"
import { RateLimited } from "../kernel/Problem.ts"
import { rateLimited } from "./Metrics.ts"
import { Settings } from "./Settings.ts"
import type { RateLimit } from "./Settings.ts"

/** State of a credential's budget after a request. */
export interface Budget {
  readonly limit: number
  /** Requests that may follow immediately. */
  readonly remaining: number
  /** Time until the budget is full again. */
  readonly resetMillis: number
  /** Time until the next request is allowed; present only if this request exceeds the budget. */
  readonly retryMillis?: number
}

/** Counts requests against budgets. */
export interface Budgets {
  readonly rateLimit: RateLimit
  /**
   * Takes one request from a credential's budget; `undefined` if it cannot be counted now. Never fails and never waits
   * long.
   */
  readonly take: (credentialId: string) => Effect.Effect<Budget | undefined>
}

/** The budgets of this process; `undefined` if limits are disabled. */
export const CurrentBudgets = Context.Reference<Budgets | undefined>("keyshelf.reference/runtime/Budgets", {
  defaultValue: () => undefined,
})

const seconds = (millis: number): number => Math.ceil(millis / 1000)

const headersOf = (budget: Budget): Record<string, string> => ({
  "ratelimit-limit": String(budget.limit),
  "ratelimit-remaining": String(budget.remaining),
  "ratelimit-reset": String(seconds(budget.resetMillis)),
  ...(budget.retryMillis === undefined ? {} : { "retry-after": String(Math.max(1, seconds(budget.retryMillis))) }),
})

const limitExceeded = ({ rateLimit }: Budgets, retryMillis: number) => {
  const wait = Math.max(1, seconds(retryMillis))
  return new RateLimited({
    detail: `This credential may send ${rateLimit.requests} requests per ${rateLimit.unit}. Try again in ${wait} ${wait === 1 ? "second" : "seconds"}.`,
  })
}

/** Middleware that runs after authentication. If limits are disabled, it adds nothing to the handlers. */
export const layer = Layer.effect(
  RateLimits,
  Effect.gen(function* () {
    const budgets = yield* CurrentBudgets

    const count = Effect.fnUntraced(function* (owner: RequestOwner["Service"], budgets: Budgets) {
      const budget = yield* budgets.take(owner.credentialId)
      if (budget === undefined) return
      // Sets the headers on every response, including problems.
      yield* HttpEffect.appendPreResponseHandler((_, response) =>
        Effect.succeed(HttpServerResponse.setHeaders(response, headersOf(budget))),
      )
      if (budget.retryMillis === undefined) return
      rateLimited.updateUnsafe(1, yield* Effect.context())
      return yield* limitExceeded(budgets, budget.retryMillis)
    })

    return RateLimits.of(
      budgets === undefined
        ? (handler) => handler
        : (handler) => Effect.flatMap(RequestOwner, (owner) => Effect.andThen(count(owner, budgets), handler)),
    )
  }),
)

/** {@link CurrentBudgets} from the settings. Loads the stores only if limits are enabled. */
export const fromSettings = Layer.effect(
  CurrentBudgets,
  Effect.gen(function* () {
    const { rateLimit, redisUrl } = yield* Settings
    if (Option.isNone(rateLimit)) return undefined
    const stores = yield* Effect.promise(() => import("./RateLimitStores.ts"))
    return Option.isNone(redisUrl)
      ? yield* stores.inMemory(rateLimit.value)
      : yield* stores.onRedis(rateLimit.value, redisUrl.value)
  }),
)
