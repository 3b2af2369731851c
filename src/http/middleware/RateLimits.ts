/**
 * Rate limits: each credential has a budget of requests, off unless `SERVICE_RATE_LIMIT` is set. A bucket holds the whole
 * budget and refills evenly, so a caller may come in bursts and is never shut out for a whole window. In memory every
 * process counts for itself; with `SERVICE_REDIS_URL` all processes share one count.
 *
 * Requests whose credential is refused are not counted: behind a proxy all callers have one address, and a budget per address
 * would let one of them shut out the others. Checking a credential is one indexed look-up; `docs/observability.md` shows
 * how to bound it at the proxy.
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
