/**
 * Reports that need statements of their own between the locks and the decision: with a transaction id, with `set`, or
 * under an idempotency key. They run in a transaction of their own or in the key's.
 */
import { BigDecimal, Effect } from "effect"
import { Caller, mayLowerUsage } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { ReportUsageTransactionIdReused } from "../Errors.ts"
import { RETENTION_MS, timestampError } from "../ledger/Acceptance.ts"
import { accountIn, accountName, entryOf, isConcurrent, useOf } from "../ledger/Account.ts"
import { CountedIdsRepo } from "../ledger/CountedIdsRepo.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { LockedAccounts } from "../ledger/LockedAccounts.ts"
import type { Meter, UsageEntry } from "../ledger/Model.ts"
import { lockedOperation } from "../ledger/Operation.ts"
import type { LockedOperation } from "../ledger/Operation.ts"
import { post } from "../ledger/Posting.ts"
import { isLateSet } from "../rules/Aggregation.ts"
import type { FailMissing, Rejection, Report } from "./AppendReports.ts"
import type { ReportUsage } from "./Model.ts"
import {
  reportValidationError,
  eventOf,
  notReportable,
  rejectionProblem,
  reportedValue,
  bodyValidationError,
} from "./Rules.ts"

/** The report as it is stored with its transaction id, to recognize a repeated report. */
const storedReport = (report: ReportUsage) => {
  const value = reportedValue(report)
  return {
    value: value === undefined ? null : BigDecimal.format(BigDecimal.normalize(value)),
    behavior: report.behavior ?? "append",
    uniqueKey: report.uniqueKey ?? null,
    timestamp: report.timestamp?.toISOString() ?? null,
    metadata: report.metadata ?? null,
  }
}

/** Posts a valid report. A rejection is a value, so that its threshold event commits. */
const posting = Effect.map(LedgerRepo, (repo) =>
  Effect.fnUntraced(function* (ledger: LockedAccounts, meter: Meter, report: ReportUsage, timestamp: Date) {
    const caller = yield* Caller
    const event = eventOf(report, timestamp, caller.actor)
    const use = useOf(meter, event)
    const account = accountIn(yield* ledger.open(caller.organizationId, [use]), accountName(use))
    const key = { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart: account.period.start }
    const laterEvents = isLateSet(account.total, event)
      ? yield* repo.eventsAfter(caller.organizationId, key, timestamp)
      : []
    const posted = post(account, event, { laterEvents, mayLower: mayLowerUsage(caller) })
    yield* ledger.close(caller, [posted.account])
    return { ...posted, timestamp }
  }),
)

export const makeLockedReportOperation = Effect.fnUntraced(function* (failMissing: FailMissing) {
  const repo = yield* LedgerRepo
  const ids = yield* CountedIdsRepo
  const postReport = yield* posting

  /** Posts a report that has a transaction id, unless it was counted before: then it returns the entry again. */
  const postOnce = Effect.fnUntraced(function* (
    ledger: LockedAccounts,
    meter: Meter,
    report: ReportUsage,
    transactionId: string,
    at: Date,
  ) {
    const { organizationId } = yield* Caller
    const timestamp = report.timestamp ?? at
    const expiresAt = new Date(at.getTime() + RETENTION_MS)
    const stored = storedReport(report)
    const row = { transactionId, report: stored, timestamp, at, expiresAt }
    if (yield* ids.takeTransaction(organizationId, meter, row)) {
      const error = timestampError(meter, timestamp, at)
      if (error !== undefined) return yield* invalid("body.timestamp", error, report.timestamp)
      const posted = yield* postReport(ledger, meter, report, timestamp)
      if (posted.rejection !== undefined) yield* ids.releaseTransaction(organizationId, meter, transactionId)
      return posted
    }
    const [same] = yield* ids.findTransaction(organizationId, meter, transactionId, stored)
    if (same === undefined) {
      return yield* new ReportUsageTransactionIdReused({
        detail: `The transaction id "${transactionId}" belongs to another report. Use a new id.`,
      })
    }
    const [entry] = yield* ledger.entries(organizationId, [meter], same.timestamp)
    return { replayed: entry }
  })

  const decide = Effect.fnUntraced(function* (ledger: LockedAccounts, { entitlement, instance, report }: Report) {
    const { organizationId } = yield* Caller
    const [meter] = yield* repo.lockShared(organizationId, [{ instance, entitlement }], yield* now)
    if (meter === undefined) return yield* failMissing(organizationId, instance, entitlement)
    if (isConcurrent(meter)) return yield* notReportable(meter)
    const at = yield* now
    const timestamp = report.timestamp ?? at
    const { transactionId } = report
    // The timestamp of a report that was counted before may be too old by now.
    const error =
      transactionId === undefined
        ? reportValidationError(meter, report, timestamp, at)
        : bodyValidationError(meter, report)
    if (error !== undefined) return yield* invalid(error.location, error.message, error.value)
    return transactionId === undefined
      ? yield* postReport(ledger, meter, report, timestamp)
      : yield* postOnce(ledger, meter, report, transactionId, at)
  })

  /** Counts a report; the entry is `undefined` if it is replayed and its meter is gone. */
  return (sent: Report): LockedOperation<UsageEntry | undefined, Rejection | ReportUsageTransactionIdReused> =>
    lockedOperation({
      decide: (ledger) => Effect.map(decide(ledger, sent), (posted) => ({ posted })),
      accountWithCapExceeded: ({ posted }) =>
        "rejection" in posted && posted.rejection === "cap" ? posted.account : undefined,
      answer: ({ posted }) => {
        if ("replayed" in posted) return Effect.succeed(posted.replayed)
        const { account, rejection, timestamp } = posted
        return rejection === undefined
          ? Effect.succeed(entryOf(account.meter, account.period, account.total))
          : Effect.fail(rejectionProblem(rejection, account, sent.report, timestamp))
      },
    })
})
