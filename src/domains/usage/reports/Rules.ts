/** What a report must be to count (contract section 9, "Usage"; docs/usage.md). Pure. */
import { BigDecimal, Predicate } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import { parseDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { ReportUsageThresholdExceeded } from "../Errors.ts"
import { rejectionText, timestampError, valueError } from "../ledger/Acceptance.ts"
import type { UsageValidationError } from "../ledger/Acceptance.ts"
import { methodOf } from "../ledger/Account.ts"
import type { Account, RejectionReason, ReportedEvent } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import type { ReportUsage } from "./Model.ts"

/** The reported value; nothing if there is none. */
export const reportedValue = ({ value }: ReportUsage): BigDecimal.BigDecimal | undefined =>
  parseDecimal(Predicate.hasProperty(value, "value") ? value.value : value)

/** What is wrong with a report for this meter, apart from its time. */
export const reportValidationError = (meter: Meter, report: ReportUsage): UsageValidationError | undefined => {
  if (meter.type !== "NUMBER") {
    const message = `is not metered, because its type is ${meter.type}`
    return { location: "path.entitlementSlug", message, value: meter.entitlement }
  }
  const { behavior = "append", uniqueKey, value } = report
  if (methodOf(meter) === "UNIQUE_COUNT") {
    if (behavior === "set") return { location: "body.behavior", message: "is append for a UNIQUE_COUNT", value: "set" }
    if (uniqueKey === undefined) return { location: "body.uniqueKey", message: "is due for a UNIQUE_COUNT" }
  }
  const message = valueError(meter, behavior, reportedValue(report))
  return message === undefined ? undefined : { location: "body.value", message, value }
}

/** What is wrong with an appending report for this meter at an instant. */
export const appendValidationError = (
  meter: Meter,
  report: ReportUsage,
  timestamp: Date,
  at: Date,
): UsageValidationError | undefined => {
  const error = reportValidationError(meter, report)
  if (error !== undefined) return error
  const message = timestampError(meter, timestamp, at)
  return message === undefined ? undefined : { location: "body.timestamp", message, value: report.timestamp }
}

/** The event that a report stands for. */
export const eventOf = (report: ReportUsage, timestamp: Date, reportedBy: ActorReference): ReportedEvent => ({
  timestamp,
  behavior: report.behavior ?? "append",
  value: reportedValue(report) ?? zero,
  uniqueKey: report.uniqueKey ?? null,
  metadata: report.metadata ?? null,
  reportedBy,
})

/** What a report is answered with that was refused. */
export const rejectionProblem = (refusal: RejectionReason, account: Account, { value }: ReportUsage) =>
  refusal === "negative"
    ? invalid("body.value", "would bring the total below zero", value)
    : new ReportUsageThresholdExceeded({ detail: rejectionText(refusal, account) })
