/** Which usage is accepted (age, digits, sign), and why other usage is not. Pure. */
import { BigDecimal } from "effect"
import { isStorable, decimalText } from "../../../kernel/values/Decimal.ts"
import { DAY_MS, isBefore } from "../../../kernel/values/Timestamp.ts"
import { methodOf } from "./Account.ts"
import type { Account, RejectionReason } from "./Account.ts"
import type { Meter } from "./Model.ts"

/** How far back usage is taken, and how long a report's id keeps it from being counted again. */
export const RETENTION_MS = 35 * DAY_MS

const MAX_AHEAD_MS = 5 * 60_000

/** What is wrong with the instant of usage. */
export const timestampError = (meter: Meter, timestamp: Date, now: Date): string | undefined => {
  if (isBefore(timestamp, meter.startLicenseDate)) return "is before the license starts"
  if (meter.endLicenseDate !== null && !isBefore(timestamp, meter.endLicenseDate)) return "is after the license ended"
  if (timestamp.getTime() < now.getTime() - RETENTION_MS) return "is more than 35 days ago"
  return timestamp.getTime() > now.getTime() + MAX_AHEAD_MS ? "is more than 5 minutes ahead" : undefined
}

/** What is wrong with a value for this meter; absent values are fine where they do not count. */
export const valueError = (
  meter: Meter,
  behavior: "append" | "set",
  value: BigDecimal.BigDecimal | undefined,
): string | undefined => {
  const method = methodOf(meter)
  if (value === undefined) {
    return method === "UNIQUE_COUNT" || (method === "COUNT" && behavior === "append") ? undefined : "is missing"
  }
  if (!isStorable(value)) return "has at most 18 digits"
  if (method === "UNIQUE_COUNT" || !BigDecimal.isNegative(value)) return undefined
  if (method !== "SUM") return `is not negative, because the entitlement's aggregation is ${method}`
  return behavior === "set" ? "is not negative, because it becomes the total" : undefined
}

/** The place and kind of what is wrong with a report. */
export interface UsageValidationError {
  readonly location: string
  readonly message: string
  readonly value?: unknown
}

/** Why usage was refused, for a person. */
export const rejectionText = (refusal: RejectionReason, { held, meter, total }: Account): string => {
  const what = `"${meter.entitlement}" of "${meter.instance}"`
  switch (refusal) {
    case "not-granted":
      return `The license "${meter.license}" does not grant ${what}.`
    case "cap":
      return `The limit of ${what} is ${meter.granted} (${meter.overagePercent ?? 0} % overage); ${decimalText(total.value)} is used in the period and ${decimalText(held)} is held by reservations.`
    case "negative":
      return `The total of ${what} would fall below zero.`
  }
}
