/**
 * Rate limits per credential, disabled unless `SERVICE_RATE_LIMIT` is set. Each credential has a token bucket that
 * holds the whole budget and refills evenly, so callers may send bursts and are never blocked for a whole window. Each
 * process counts in memory; with `SERVICE_REDIS_URL` all processes share the counts.
 *
 * Requests with an invalid credential are not counted. Behind a proxy all callers have the same address, so a budget
 * per address would let one caller block the others. Checking a credential costs one indexed lookup;
 * `docs/observability.md` shows how to limit such requests at the proxy.
 */
import { Effect, Layer } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { rateLimited } from "../../infra/telemetry/Metrics.ts"
import { RequestOwner } from "../../kernel/contract/Caller.ts"
import { RateLimits } from "../../kernel/contract/Endpoint.ts"
import { RateLimited } from "../../kernel/contract/Problem.ts"
import { CurrentBudgets } from "../../kernel/ports/RateBudgets.ts"
import type { Budget, Budgets } from "../../kernel/ports/RateBudgets.ts"

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
