/** Decides which usage is accepted by its age, digits and sign, and why other usage is rejected. Pure. */
import { BigDecimal } from "effect"
import { isStorable, decimalText, zero } from "../../../kernel/values/Decimal.ts"
import { DAY_MS, isBefore } from "../../../kernel/values/Timestamp.ts"
import { accessEndOf } from "../rules/Decision.ts"
import { limitFor, methodOf } from "./Account.ts"
import type { Account } from "./Account.ts"
import { creditsText } from "./burning/MeterCredits.ts"
import type { Meter } from "./Model.ts"
import type { RejectionReason } from "./Posting.ts"

/** How old reported usage may be, and how long the id of a report prevents a second count. */
export const RETENTION_MS = 35 * DAY_MS

/** The clocks of clients may be fast by this much. */
export const MAX_AHEAD_MS = 5 * 60_000

/** Validates the instant of usage. The message completes a phrase that names the property. */
export const timestampError = (meter: Meter, timestamp: Date, now: Date): string | undefined => {
  if (isBefore(timestamp, meter.startLicenseDate)) return "must not be before the license starts"
  const end = accessEndOf(meter)
  if (end !== null && !isBefore(timestamp, end)) return "must be before the license ends"
  if (timestamp.getTime() < now.getTime() - RETENTION_MS) return "must not be more than 35 days ago"
  return timestamp.getTime() > now.getTime() + MAX_AHEAD_MS
    ? "must not be more than 5 minutes in the future"
    : undefined
}

/** Validates a value for this meter. It may be absent where it does not count. */
export const valueError = (
  meter: Meter,
  behavior: "append" | "set",
  value: BigDecimal.BigDecimal | undefined,
): string | undefined => {
  const method = methodOf(meter)
  if (value === undefined) {
    return method === "UNIQUE_COUNT" || (method === "COUNT" && behavior === "append") ? undefined : "required"
  }
  if (!isStorable(value)) return "must have at most 18 digits"
  if (method === "UNIQUE_COUNT" || !BigDecimal.isNegative(value)) return undefined
  if (method !== "SUM") return `must not be negative, because the entitlement's aggregation is ${method}`
  return behavior === "set" ? "must not be negative, because it becomes the total" : undefined
}

/** What is wrong with a request, and where. */
export interface UsageValidationError {
  readonly location: string
  readonly message: string
  readonly value?: unknown
}

/** Why nothing is reported for a meter with seats. */
export const notReportableText = ({ entitlement }: Meter): string =>
  `The entitlement "${entitlement}" is CONCURRENT: its usage is how many hold a lease. Acquire a lease instead.`

/** The limit of a meter in words, with its overage. */
export const limitText = (meter: Meter): string => {
  const limit = limitFor(meter)
  return `${decimalText(limit?.value ?? zero)} (${limit?.overagePercent ?? 0} % overage)`
}

/** The detail of a rejection because a license key would lower usage. */
export const LOWERING_TEXT =
  "A license key cannot lower what was counted: that requires the scope write:licenses. Report it with a credential that has this scope."

/** The detail of a rejection. */
export const rejectionText = (
  rejection: RejectionReason,
  { credits, held, meter, total }: Account,
  at: Date,
): string => {
  const what = `"${meter.entitlement}" of "${meter.instance}"`
  switch (rejection) {
    case "not-granted":
      return `The license "${meter.license}" does not grant ${what}.`
    case "cap":
      return `The limit of ${what} is ${limitText(meter)}; ${decimalText(total.value)} is used in the period and ${decimalText(held)} is held by reservations.${creditsText(credits, at)}`
    case "negative":
      return `The total of ${what} would fall below zero.`
    case "lowering":
      return LOWERING_TEXT
  }
}
