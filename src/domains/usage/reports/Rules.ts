/** Validates reports and turns them into events (docs/usage.md). Pure. */
import { BigDecimal, Predicate } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { invalid, MissingScope } from "../../../kernel/contract/Problem.ts"
import { parseDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { ReportUsageNotReportable, ReportUsageThresholdExceeded } from "../Errors.ts"
import { notReportableText, rejectionText, timestampError, valueError } from "../ledger/Acceptance.ts"
import type { UsageValidationError } from "../ledger/Acceptance.ts"
import { methodOf } from "../ledger/Account.ts"
import type { Account, ReportedEvent } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import type { RejectionReason } from "../ledger/Posting.ts"
import type { ReportUsage } from "./Model.ts"

/** The reported value; `undefined` if there is none. */
export const reportedValue = ({ value }: ReportUsage): BigDecimal.BigDecimal | undefined =>
  parseDecimal(Predicate.hasProperty(value, "value") ? value.value : value)

/** The problem of a report where nothing is reported. */
export const notReportable = (meter: Meter) => new ReportUsageNotReportable({ detail: notReportableText(meter) })

/** Validates a report for this meter, except its timestamp. */
export const bodyValidationError = (meter: Meter, report: ReportUsage): UsageValidationError | undefined => {
  if (meter.type !== "NUMBER") {
    const message = `must have the type NUMBER to be metered; its type is ${meter.type}`
    return { location: "path.entitlementSlug", message, value: meter.entitlement }
  }
  const { behavior = "append", uniqueKey, value } = report
  if (methodOf(meter) === "UNIQUE_COUNT") {
    if (behavior === "set")
      return { location: "body.behavior", message: "must be append for a UNIQUE_COUNT", value: "set" }
    if (uniqueKey === undefined) return { location: "body.uniqueKey", message: "required for a UNIQUE_COUNT" }
  }
  const message = valueError(meter, behavior, reportedValue(report))
  return message === undefined ? undefined : { location: "body.value", message, value }
}

/** Validates a report for this meter at an instant. */
export const reportValidationError = (
  meter: Meter,
  report: ReportUsage,
  timestamp: Date,
  at: Date,
): UsageValidationError | undefined => {
  const error = bodyValidationError(meter, report)
  if (error !== undefined) return error
  const message = timestampError(meter, timestamp, at)
  return message === undefined ? undefined : { location: "body.timestamp", message, value: report.timestamp }
}

/** The event of a report. */
export const eventOf = (report: ReportUsage, timestamp: Date, reportedBy: ActorReference): ReportedEvent => ({
  timestamp,
  behavior: report.behavior ?? "append",
  value: reportedValue(report) ?? zero,
  uniqueKey: report.uniqueKey ?? null,
  metadata: report.metadata ?? null,
  reportedBy,
  transactionId: report.transactionId,
})

/** The problem of a rejected report. */
export const rejectionProblem = (
  rejection: RejectionReason,
  account: Account,
  { value }: ReportUsage,
  timestamp: Date,
) => {
  if (rejection === "negative") return invalid("body.value", "must not bring the total below zero", value)
  const detail = rejectionText(rejection, account, timestamp)
  return rejection === "lowering" ? new MissingScope({ detail }) : new ReportUsageThresholdExceeded({ detail })
}
