/**
 * Rate limits: each credential has a budget of requests, off unless `SERVICE_RATE_LIMIT` is set. A bucket holds the whole
 * budget and refills evenly, so a caller may come in bursts and is never shut out for a whole window. In memory every
 * process counts for itself; with `SERVICE_REDIS_URL` all processes share one count.
 *
 * Requests whose credential is refused are not counted: behind a proxy all callers have one address, and a budget per address
 * would let one of them shut out the others. Checking a credential is one indexed look-up; `docs/observability.md` shows
 * how to bound it at the proxy.
 */
import { Context, Effect, Layer, Option } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { RequestOwner } from "../kernel/Caller.ts"
import { RateLimits } from "../kernel/Endpoint.ts"
import { RateLimited } from "../kernel/Problem.ts"
import { rateLimited } from "./Metrics.ts"
import { Settings } from "./Settings.ts"
import type { RateLimit } from "./Settings.ts"

/** What is left of a credential's budget after a request. */
export interface Budget {
  readonly limit: number
  /** Requests that may follow at once. */
  readonly remaining: number
  /** Until the budget is whole again. */
  readonly resetMillis: number
  /** Until one more request is taken; present on a request that is one too many. */
  readonly retryMillis?: number
}

/** Counts requests. */
export interface Budgets {
  readonly rateLimit: RateLimit
  /** Takes one request from a credential's budget; nothing if it cannot be counted now. Never fails, never waits long. */
  readonly take: (credentialId: string) => Effect.Effect<Budget | undefined>
}

/** The budgets of this process; absent while limits are off. */
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

const refusal = ({ rateLimit }: Budgets, retryMillis: number) => {
  const wait = Math.max(1, seconds(retryMillis))
  return new RateLimited({
    detail: `This credential may send ${rateLimit.requests} requests in a ${rateLimit.unit}. Try again in ${wait} ${wait === 1 ? "second" : "seconds"}.`,
  })
}

/** The middleware behind authentication. Without limits it is not there at all. */
export const layer = Layer.effect(
  RateLimits,
  Effect.gen(function* () {
    const budgets = yield* CurrentBudgets

    const counted = Effect.fnUntraced(function* (owner: RequestOwner["Service"], budgets: Budgets) {
      const budget = yield* budgets.take(owner.credentialId)
      if (budget === undefined) return
      // On whatever is answered in the end, a problem too.
      yield* HttpEffect.appendPreResponseHandler((_, response) =>
        Effect.succeed(HttpServerResponse.setHeaders(response, headersOf(budget))),
      )
      if (budget.retryMillis === undefined) return
      rateLimited.updateUnsafe(1, yield* Effect.context())
      return yield* refusal(budgets, budget.retryMillis)
    })

    return RateLimits.of(
      budgets === undefined
        ? (handler) => handler
        : (handler) => Effect.flatMap(RequestOwner, (owner) => Effect.andThen(counted(owner, budgets), handler)),
    )
  }),
)

/** {@link CurrentBudgets} as the settings say. The store is loaded only where limits are on. */
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
