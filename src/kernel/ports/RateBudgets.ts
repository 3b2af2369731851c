/** The port of request budgets: who counts the requests of a credential. */
import { Context } from "effect"
import type { Effect } from "effect"

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

/** A budget of requests: so many in a second, minute or hour. */
export interface RateLimit {
  readonly requests: number
  readonly unit: "second" | "minute" | "hour"
}
