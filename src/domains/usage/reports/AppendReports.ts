/**
 * The common report as an operation: it appends, at an instant that concerns no other event, so that the ledger can
 * batch it.
 */
import { Effect, Exit } from "effect"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { mayLowerUsage } from "../../../kernel/contract/Caller.ts"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import type { MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { accountIn, accountName, entryOf, isConcurrent, useOf } from "../ledger/Account.ts"
import type {
  ReportUsageNotReportable,
  ReportUsageThresholdExceeded,
  ReportUsageTransactionIdReused,
} from "../Errors.ts"
import type { UsageEntry } from "../ledger/Model.ts"
import type { Operation } from "../ledger/Operation.ts"
import { post } from "../ledger/Posting.ts"
import type { ReportUsage } from "./Model.ts"
import { reportValidationError, eventOf, notReportable, rejectionProblem } from "./Rules.ts"

/** A report for an entitlement of an instance. */
export interface Report {
  readonly instance: string
  readonly entitlement: string
  readonly report: ReportUsage
}

/** Fails with the one of the two that does not exist. */
export type FailMissing = (
  organizationId: OrganizationId,
  instance: string,
  entitlement: string,
) => Effect.Effect<never, InstanceNotFound | EntitlementNotFound>

/** Why a report is rejected. */
export type Rejection =
  | InstanceNotFound
  | EntitlementNotFound
  | MissingScope
  | ValidationFailed
  | ReportUsageNotReportable
  | ReportUsageThresholdExceeded

/** Whether the report is decided on its account alone: it has no id to look up, and no total to compute again. */
export const isAppend = ({ behavior = "append", transactionId }: ReportUsage): boolean =>
  behavior === "append" && transactionId === undefined

/** Counts a report that {@link isAppend}. Under an idempotency key it is decided as `underKey`. */
export const appendOperation = (
  caller: Caller["Service"],
  { entitlement, instance, report }: Report,
  failMissing: FailMissing,
  underKey: NonNullable<Operation<UsageEntry | undefined, Rejection | ReportUsageTransactionIdReused>["underKey"]>,
): Operation<UsageEntry | undefined, Rejection | ReportUsageTransactionIdReused> => ({
  organizationId: caller.organizationId,
  underKey,
  meters: [{ instance, entitlement }],
  prepare: ([meter], at) => {
    if (meter === undefined) return failMissing(caller.organizationId, instance, entitlement)
    if (isConcurrent(meter)) return Effect.fail(notReportable(meter))
    const timestamp = report.timestamp ?? at
    const error = reportValidationError(meter, report, timestamp, at)
    if (error !== undefined) return Effect.fail(invalid(error.location, error.message, error.value))
    const event = eventOf(report, timestamp, caller.actor)
    const use = useOf(meter, event)
    return {
      uses: [use],
      decide: (accounts) => {
        const name = accountName(use)
        const { account, rejection } = post(accountIn(accounts, name), event, { mayLower: mayLowerUsage(caller) })
        const answer =
          rejection === undefined
            ? Exit.succeed(entryOf(meter, account.period, account.total))
            : Exit.fail(rejectionProblem(rejection, account, report, timestamp))
        return { answer, accounts: new Map([[name, account]]) }
      },
    }
  },
})
