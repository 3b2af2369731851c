/** Voids an event: usage is as if it had never been reported. */
import { BigDecimal, Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { AggregationMethod, ReportAggregation } from "../../entitlements/Model.ts"
import { Events } from "../../events/Service.ts"
import { UsageEventNotFound } from "../Errors.ts"
import { methodOf, netOf } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { UsageReports } from "../reports/Service.ts"
import { crossingsAt, limitOf } from "../rules/Limits.ts"
import { eventOf, isReported } from "./Records.ts"
import { UsageEventsRepo } from "./Repo.ts"
import type { EventRow } from "./Repo.ts"
import { RollupsRepo } from "./RollupsRepo.ts"
import { placeOf, totalWithout } from "./Rules.ts"

/** Whether the count and the sum of an hour are enough. */
const isSummed = (method: AggregationMethod): boolean => method === "SUM" || method === "COUNT" || method === "AVERAGE"

/** Computes the account without an event: from the total if that is enough, otherwise from the other events. */
const accountCorrection = Effect.map(UsageEventsRepo, (repo) =>
  Effect.fnUntraced(function* (account: Account, event: EventRow) {
    const { meter, stored, total } = account
    const method = methodOf(meter) as ReportAggregation
    const key = { ...meter, periodStart: event.periodStart }
    const left =
      totalWithout(method, total, { ...event, value: storedDecimal(event.value) }) ??
      (yield* repo.totalWithout(key, event.ordinal, method, total))
    const crossings = crossingsAt(
      limitOf(meter.grant),
      meter.warningThresholdPercent,
      account.crossings,
      netOf(stored),
      BigDecimal.subtract(left.value, account.burned),
    )
    return { ...account, total: left, crossings }
  }),
)

export const voiding = Effect.gen(function* () {
  const repo = yield* UsageEventsRepo
  const rollups = yield* RollupsRepo
  const meters = yield* LedgerRepo
  const ledger = yield* LockedLedger
  const reports = yield* UsageReports
  const events = yield* Events
  const transactions = yield* Transactions
  const accountWithout = yield* accountCorrection

  return Effect.fn("UsageEvents.void")(function* (instance: string, entitlement: string, id: string) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    const notFound = new UsageEventNotFound({ detail: noSuch("usage event", id) })
    yield* transactions.run(
      Effect.gen(function* () {
        const [meter] = yield* meters.lockShared(organizationId, [{ instance, entitlement }], yield* now)
        if (meter === undefined) return yield* reports.failMissing(organizationId, instance, entitlement)
        const place = Option.filter(placeOf(id, meter), () => isReported(meter))
        if (Option.isNone(place)) return yield* notFound
        const { ordinal, periodStart } = place.value
        const key = { ...meter, periodStart }
        if (Option.isNone(yield* repo.find(key, ordinal))) return yield* notFound
        const accounts = yield* ledger.openPeriod(meter, periodStart)
        const found = yield* repo.find(key, ordinal)
        if (Option.isNone(found) || accounts === undefined) return yield* notFound
        const event = found.value
        const at = yield* now
        const account = yield* ledger.returnCredits(accounts, ordinal, at)
        yield* ledger.close(caller, [yield* accountWithout(account, event)])
        yield* repo.markVoided(key, ordinal, actor, at)
        const rolledTo = yield* rollups.lock(key)
        if (ordinal <= rolledTo) {
          yield* isSummed(methodOf(meter))
            ? rollups.subtract(key, event.timestamp, event.value)
            : rollups.recompute(key, event.timestamp, rolledTo)
        }
        yield* events.emit(caller, "USAGE_EVENT_VOIDED", {
          ...eventOf(meter, event),
          voidedAt: at,
          voidedBy: actor,
          instanceId: meter.instanceId,
          instanceSlug: meter.instance,
          entitlementSlug: meter.entitlement,
        })
      }),
    )
  })
})
