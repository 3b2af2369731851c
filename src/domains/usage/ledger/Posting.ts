/** Posts events to accounts. Every way of counting decides here. Pure. */
import { BigDecimal } from "effect"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import type { ReportAggregation } from "../../entitlements/Model.ts"
import { add, lowers } from "../rules/Aggregation.ts"
import type { Total, UsageEvent } from "../rules/Aggregation.ts"
import { crossingsAt } from "../rules/Limits.ts"
import { limitFor, methodOf, netOf, withCapExceeded } from "./Account.ts"
import type { Account, ReportedEvent } from "./Account.ts"
import { settle } from "./burning/Settlement.ts"
import type { SetAside } from "./burning/Settlement.ts"
import type { Meter } from "./Model.ts"

/** How its reports are aggregated. */
const reportMethodOf = (meter: Meter): ReportAggregation => {
  const method = methodOf(meter)
  if (method === "CONCURRENT") throw new Error("Leases are not reported")
  return method
}

/** Why an event is rejected. */
export type RejectionReason = "not-granted" | "cap" | "negative" | "lowering"

/** How an event is posted. */
export interface PostOptions {
  /** Required for a late `set`: the period's events with later timestamps. */
  readonly laterEvents?: ReadonlyArray<UsageEvent>
  /** What was set aside for the amount: then neither a limit nor a missing grant rejects it. */
  readonly setAside?: SetAside | undefined
  /** Whether the reporter may lower what was counted. */
  readonly mayLower?: boolean
}

/**
 * Whether an event takes away from what is counted: at once, or as a `set` of a later time than any decision, because it leaves
 * out what is counted until then.
 */
const takesAway = (method: ReportAggregation, account: Account, event: ReportedEvent, next: Total): boolean =>
  lowers(method, event, account.total.value, next.value) ||
  (event.behavior === "set" && method !== "LATEST" && isBefore(account.decidedAt, event.timestamp))

/** Posts an event. If it is rejected, the account stays as it was, except for an exceeded cap. */
export const post = (
  account: Account,
  event: ReportedEvent,
  { laterEvents = [], mayLower = false, setAside }: PostOptions = {},
): { readonly account: Account; readonly rejection?: RejectionReason } => {
  const { meter, total } = account
  const method = reportMethodOf(meter)
  const key = method === "UNIQUE_COUNT" ? event.uniqueKey : null
  const isNewKey = key !== null && !account.knownKeys.has(key) && !account.newKeys.has(key)
  const next = add(method, total, event, { isNewKey, laterEvents })
  const limit = limitFor(meter)
  if (!mayLower && takesAway(method, account, event, next)) return { account, rejection: "lowering" }
  if (BigDecimal.isNegative(next.value)) return { account, rejection: "negative" }
  const quantity = BigDecimal.subtract(next.value, total.value)
  const settled = settle(account, { quantity, at: event.timestamp, ordinal: next.eventCount, setAside })
  if ("denied" in settled) {
    const { account: left, denied } = settled
    return { account: denied === "cap" ? withCapExceeded(left) : left, rejection: denied }
  }
  const paid = settled.account
  return {
    account: {
      ...paid,
      total: next,
      crossings: crossingsAt(
        limit,
        meter.warningThresholdPercent,
        account.crossings,
        netOf(account),
        BigDecimal.subtract(next.value, paid.burned),
      ),
      events: [...account.events, { ...event, ordinal: next.eventCount }],
      newKeys: isNewKey ? new Set([...account.newKeys, key]) : account.newKeys,
    },
  }
}
