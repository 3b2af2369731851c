/** What a report must be to count (contract section 9, "Usage"; docs/usage.md). Pure. */
import { BigDecimal, Duration, Predicate } from "effect"
import type { ActorReference } from "../kernel/Caller.ts"
import { textOf } from "../kernel/ExactNumber.ts"
import { invalid } from "../kernel/Problem.ts"
import { isBefore } from "../kernel/Timestamp.ts"
import { methodOf } from "./Account.ts"
import type { Account, Refusal, ReportedEvent } from "./Account.ts"
import { ReportUsageThresholdExceeded } from "./Errors.ts"
import { decimalOf, isStorable } from "./Limits.ts"
import type { Meter, ReportUsage } from "./Model.ts"

/** How far back usage is taken, and how long a report's id keeps it from being counted again. */
export const KEPT_FOR = Duration.toMillis(Duration.days(35))
const AHEAD = Duration.toMillis(Duration.minutes(5))

/** What is wrong with the instant of usage. */
export const faultOfTimestamp = (meter: Meter, timestamp: Date, now: Date): string | undefined => {
  if (isBefore(timestamp, meter.startLicenseDate)) return "is before the license starts"
  if (meter.endLicenseDate !== null && !isBefore(timestamp, meter.endLicenseDate)) return "is after the license ended"
  if (timestamp.getTime() < now.getTime() - KEPT_FOR) return "is more than 35 days ago"
  return timestamp.getTime() > now.getTime() + AHEAD ? "is more than 5 minutes ahead" : undefined
}

/** The reported value; nothing if there is none. */
export const reportedValue = ({ value }: ReportUsage): BigDecimal.BigDecimal | undefined =>
  decimalOf(Predicate.hasProperty(value, "value") ? value.value : value)

/** What is wrong with a value for this meter; absent values are fine where they do not count. */
export const faultOfValue = (
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
export interface Fault {
  readonly location: string
  readonly message: string
  readonly value?: unknown
}

/** What is wrong with a report for this meter, apart from its time. */
export const faultOfReport = (meter: Meter, report: ReportUsage): Fault | undefined => {
  if (meter.type !== "NUMBER") {
    const message = `is not metered, because its type is ${meter.type}`
    return { location: "path.entitlementSlug", message, value: meter.entitlement }
  }
  const { behavior = "append", uniqueKey, value } = report
  if (methodOf(meter) === "UNIQUE_COUNT") {
    if (behavior === "set") return { location: "body.behavior", message: "is append for a UNIQUE_COUNT", value: "set" }
    if (uniqueKey === undefined) return { location: "body.uniqueKey", message: "is due for a UNIQUE_COUNT" }
  }
  const message = faultOfValue(meter, behavior, reportedValue(report))
  return message === undefined ? undefined : { location: "body.value", message, value }
}

/** Why usage was refused, for a person. */
export const refusalText = (refusal: Refusal, { held, meter, total }: Account): string => {
  const what = `"${meter.entitlement}" of "${meter.instance}"`
  switch (refusal) {
    case "not-granted":
      return `The license "${meter.license}" does not grant ${what}.`
    case "cap":
      return `The limit of ${what} is ${meter.granted} (${meter.overagePercent ?? 0} % overage); ${textOf(total.value)} is used in the period and ${textOf(held)} is held by reservations.`
    case "negative":
      return `The total of ${what} would fall below zero.`
  }
}

/** The event that a report stands for. */
export const eventOf = (report: ReportUsage, timestamp: Date, reportedBy: ActorReference): ReportedEvent => ({
  timestamp,
  behavior: report.behavior ?? "append",
  value: reportedValue(report) ?? BigDecimal.fromBigInt(0n),
  uniqueKey: report.uniqueKey ?? null,
  metadata: report.metadata ?? null,
  reportedBy,
})

/** What a report is answered with that was refused. */
export const refusalFor = (refusal: Refusal, account: Account, { value }: ReportUsage) =>
  refusal === "negative"
    ? invalid("body.value", "would bring the total below zero", value)
    : new ReportUsageThresholdExceeded({ detail: refusalText(refusal, account) })
