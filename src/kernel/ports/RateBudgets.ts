/** The port of request budgets: counts the requests of a credential. */
import { Context } from "effect"
import type { Effect } from "effect"

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
export const CurrentBudgets = Context.Reference<Budgets | undefined>("keyshelf.reference/kernel/CurrentBudgets", {
  defaultValue: () => undefined,
})

/** A request budget per second, minute or hour. */
export interface RateLimit {
  readonly requests: number
  readonly unit: "second" | "minute" | "hour"
}
