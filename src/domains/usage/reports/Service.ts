/** Use cases of usage: reports, and the entries that show it. */
import { Context, Effect, Layer } from "effect"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { EntitlementGroups } from "../../groups/Service.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { afterInDisplayOrder, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { appendOperation, isAppend } from "./AppendReports.ts"
import { makeLockedReportOperation } from "./LockedReports.ts"
import type { ReportUsage } from "./Model.ts"
import type { Rejection } from "./AppendReports.ts"
import type { ReportUsageTransactionIdReused } from "../Errors.ts"
import type { UsageEntry } from "../ledger/Model.ts"
import type { InvalidCursor } from "../../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { EntitlementGroupNotFound } from "../../groups/Errors.ts"

const instanceNotFound = (slug: string) => new InstanceNotFound({ detail: noSuch("instance", slug) })
const entitlementNotFound = (slug: string) => new EntitlementNotFound({ detail: noSuch("entitlement", slug) })

/** The usage of the caller's organization. */
export class UsageReports extends Context.Service<
  UsageReports,
  {
    /**
     * Counts a report, and returns the usage of its period. A report whose transaction id was counted before is not
     * counted again.
     */
    readonly report: (
      instance: string,
      entitlement: string,
      input: ReportUsage,
    ) => Effect.Effect<UsageEntry, Rejection | ReportUsageTransactionIdReused, Caller>
    /** The usage of an entitlement in the current period. */
    readonly get: (
      instance: string,
      entitlement: string,
    ) => Effect.Effect<UsageEntry, InstanceNotFound | EntitlementNotFound, Caller>
    /** A page of the usage of the entitlements that the instance is granted, by display order. */
    readonly list: (
      instance: string,
      request: PageRequest,
    ) => Effect.Effect<Page<UsageEntry>, InstanceNotFound | InvalidCursor, Caller>
    /** The usage of an instance of each entitlement of a group, by display order. */
    readonly ofGroup: (
      groupSlug: string,
      instance: string,
    ) => Effect.Effect<ReadonlyArray<UsageEntry>, InstanceNotFound | EntitlementGroupNotFound, Caller>
    /** Fails with the problem of the one that does not exist: the instance, or else the entitlement. */
    readonly failMissing: (
      organizationId: OrganizationId,
      instance: string,
      entitlement: string,
    ) => Effect.Effect<never, InstanceNotFound | EntitlementNotFound>
  }
>()("keyshelf/usage/reports/UsageReports") {
  static readonly layer = Layer.suspend(() => Layer.effect(UsageReports, make))
}

const make = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const ledger = yield* Ledger
  const groups = yield* EntitlementGroups
  const cursors = yield* Cursors

  const requireInstance = Effect.fnUntraced(function* (organizationId: OrganizationId, instance: string) {
    const found = yield* repo.instancesAmong(organizationId, [instance])
    if (found.length === 0) return yield* instanceNotFound(instance)
  })

  const failMissing = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    instance: string,
    entitlement: string,
  ) {
    yield* requireInstance(organizationId, instance)
    return yield* entitlementNotFound(entitlement)
  })

  const lockedReportOperation = yield* makeLockedReportOperation(failMissing)

  const report = Effect.fn("UsageReports.report")(function* (
    instance: string,
    entitlement: string,
    input: ReportUsage,
  ) {
    const sent = { instance, entitlement, report: input }
    const locked = () => lockedReportOperation(sent)
    const operation = isAppend(input) ? appendOperation(yield* Caller, sent, failMissing, locked) : locked()
    return (yield* ledger.apply(operation)) ?? (yield* entitlementNotFound(entitlement))
  })

  const get = Effect.fn("UsageReports.get")(function* (instance: string, entitlement: string) {
    const { organizationId } = yield* Caller
    const at = yield* now
    const meters = yield* repo.find(organizationId, instance, entitlement, at)
    const [entry] = yield* ledger.entries(organizationId, meters, at)
    return entry ?? (yield* failMissing(organizationId, instance, entitlement))
  })

  const list = Effect.fn("UsageReports.list")(function* (instance: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    yield* requireInstance(organizationId, instance)
    const at = yield* now
    const page = yield* cursors.page(
      { name: "usage", organizationId, filters: { instance } },
      request,
      (after, count) => repo.listGranted(organizationId, instance, afterInDisplayOrder(after), count, at),
      (meter) => [meter.displayOrder, meter.entitlementId],
    )
    return { ...page, items: yield* ledger.entries(organizationId, page.items, at) }
  })

  const ofGroup = Effect.fn("UsageReports.ofGroup")(function* (groupSlug: string, instance: string) {
    const { organizationId } = yield* Caller
    const group = yield* groups.get(groupSlug)
    yield* requireInstance(organizationId, instance)
    const at = yield* now
    const meters = yield* repo.listAmong(organizationId, instance, group.entitlementSlugs, at)
    return yield* ledger.entries(organizationId, meters, at)
  })

  return {
    report,
    get,
    list,
    ofGroup,
    failMissing,
  }
})
