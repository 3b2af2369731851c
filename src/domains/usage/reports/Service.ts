/** Use cases of usage: reports, and the entries that tell it. */
import { BigDecimal, Context, Effect, Layer, Option } from "effect"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { EntitlementGroups } from "../../groups/Service.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { behindInDisplayOrder, Cursors } from "../../../kernel/contract/Page.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { entryOf, post } from "../ledger/Account.ts"
import { isLateSet } from "../rules/Aggregation.ts"
import { appendOperation, isAppend } from "./AppendReports.ts"
import { ReportUsageTransactionIdReused } from "../Errors.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import type { ReportUsage } from "./Model.ts"
import { eventOf, reportValidationError, rejectionProblem, reportedValue } from "./Rules.ts"
import { timestampError, RETENTION_MS } from "../ledger/Acceptance.ts"

const instanceNotFound = (slug: string) => new InstanceNotFound({ detail: noSuch("instance", slug) })
const entitlementNotFound = (slug: string) => new EntitlementNotFound({ detail: noSuch("entitlement", slug) })

const make = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const ledger = yield* Ledger
  const locked = yield* LockedLedger
  const groups = yield* EntitlementGroups
  const cursors = yield* Cursors

  const refuseMissingInstance = Effect.fnUntraced(function* (organizationId: string, instance: string) {
    const found = yield* repo.instancesAmong(organizationId, [instance])
    if (found.length === 0) return yield* instanceNotFound(instance)
  })

  const refuseMissing = Effect.fnUntraced(function* (organizationId: string, instance: string, entitlement: string) {
    yield* refuseMissingInstance(organizationId, instance)
    return yield* entitlementNotFound(entitlement)
  })

  /** Posts a valid report. A refusal is a value, so that its threshold event commits. */
  const count = Effect.fnUntraced(function* (meter: Meter, report: ReportUsage, timestamp: Date) {
    const caller = yield* Caller
    const event = eventOf(report, timestamp, caller.actor)
    const accounts = yield* locked.open(caller.organizationId, [{ meter, at: timestamp, uniqueKey: event.uniqueKey }])
    const account = yield* Option.match(Option.fromNullishOr([...accounts.values()][0]), {
      onNone: () => Effect.die(new Error("A locked total is missing")),
      onSome: Effect.succeed,
    })
    const laterEvents = isLateSet(account.total, event)
      ? yield* repo.eventsAfter(
          caller.organizationId,
          { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart: account.period.start },
          timestamp,
        )
      : []
    const posted = post(account, event, { laterEvents })
    yield* locked.close(caller, [posted.account])
    return posted
  })

  const countOnce = Effect.fnUntraced(function* (meter: Meter, report: ReportUsage, transactionId: string, at: Date) {
    const { organizationId } = yield* Caller
    const timestamp = report.timestamp ?? at
    const expiresAt = new Date(at.getTime() + RETENTION_MS)
    const value = reportedValue(report)
    const sent = {
      value: value === undefined ? null : BigDecimal.format(BigDecimal.normalize(value)),
      behavior: report.behavior ?? "append",
      uniqueKey: report.uniqueKey ?? null,
      timestamp: report.timestamp?.toISOString() ?? null,
      metadata: report.metadata ?? null,
    }
    const row = { transactionId, report: sent, timestamp, at, expiresAt }
    if (yield* repo.takeTransaction(organizationId, meter, row)) {
      const fault = timestampError(meter, timestamp, at)
      if (fault !== undefined) return yield* invalid("body.timestamp", fault, report.timestamp)
      const posted = yield* count(meter, report, timestamp)
      if (posted.refusal !== undefined) yield* repo.releaseTransaction(organizationId, meter, transactionId)
      return posted
    }
    const [same] = yield* repo.findTransaction(organizationId, meter, transactionId, sent)
    if (same === undefined) {
      return yield* new ReportUsageTransactionIdReused({
        detail: `The transaction id "${transactionId}" was sent before with another report. Use a fresh one.`,
      })
    }
    const [entry] = yield* locked.entries(organizationId, [meter], same.timestamp)
    return { replayed: entry }
  })

  const inTransaction = Effect.fnUntraced(function* (instance: string, entitlement: string, report: ReportUsage) {
    const { organizationId } = yield* Caller
    const [meter] = yield* repo.keep(organizationId, [{ instance, entitlement }])
    if (meter === undefined) return yield* refuseMissing(organizationId, instance, entitlement)
    const at = yield* now
    const fault = reportValidationError(meter, report)
    if (fault !== undefined) return yield* invalid(fault.location, fault.message, fault.value)
    if (report.transactionId !== undefined) {
      return { posted: yield* countOnce(meter, report, report.transactionId, at) }
    }
    const timestamp = report.timestamp ?? at
    const wrongTime = timestampError(meter, timestamp, at)
    if (wrongTime !== undefined) return yield* invalid("body.timestamp", wrongTime, report.timestamp)
    return { posted: yield* count(meter, report, timestamp) }
  })

  const report = Effect.fn("UsageReports.report")(function* (
    instance: string,
    entitlement: string,
    input: ReportUsage,
  ) {
    // Under an idempotency key a refusal takes its transaction back, and the cap event is written behind it.
    if (isAppend(input) && Option.isNone(yield* Effect.serviceOption(Transaction))) {
      return yield* ledger.apply(
        appendOperation(yield* Caller, { instance, entitlement, report: input }, refuseMissing),
      )
    }
    const { posted } = yield* locked.runWithCapEvent(inTransaction(instance, entitlement, input), (done) =>
      "refusal" in done.posted && done.posted.refusal === "cap" ? done.posted.account : undefined,
    )
    if ("replayed" in posted) {
      return posted.replayed ?? (yield* entitlementNotFound(entitlement))
    }
    if (posted.refusal !== undefined) return yield* rejectionProblem(posted.refusal, posted.account, input)
    return entryOf(posted.account.meter, posted.account.period, posted.account.total)
  })

  const get = Effect.fn("UsageReports.get")(function* (instance: string, entitlement: string) {
    const { organizationId } = yield* Caller
    const meters = yield* repo.find(organizationId, instance, entitlement)
    const [entry] = yield* locked.entries(organizationId, meters, yield* now)
    return entry ?? (yield* refuseMissing(organizationId, instance, entitlement))
  })

  const list = Effect.fn("UsageReports.list")(function* (instance: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    yield* refuseMissingInstance(organizationId, instance)
    const page = yield* cursors.page(
      { name: "usage", organizationId, filters: { instance } },
      request,
      (after, count) => repo.listGranted(organizationId, instance, behindInDisplayOrder(after), count),
      (meter) => [meter.displayOrder, meter.entitlementId],
    )
    return { ...page, items: yield* locked.entries(organizationId, page.items, yield* now) }
  })

  const ofGroup = Effect.fn("UsageReports.ofGroup")(function* (groupSlug: string, instance: string) {
    const { organizationId } = yield* Caller
    const group = yield* groups.get(groupSlug)
    yield* refuseMissingInstance(organizationId, instance)
    const meters = yield* repo.listAmong(organizationId, instance, group.entitlementSlugs)
    return yield* locked.entries(organizationId, meters, yield* now)
  })

  return {
    report,
    get,
    list,
    ofGroup,
    /** Says which of the two does not exist. */
    refuseMissing,
  }
})

/** What the instances of the caller's organization used. */
export class UsageReports extends Context.Service<UsageReports, Effect.Success<typeof make>>()(
  "keyshelf/usage/reports/UsageReports",
) {
  static readonly layer = Layer.effect(UsageReports, make)
}
