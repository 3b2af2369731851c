/** Counts usage that happened without a connection, through the accounts of all usage. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { MissingScope } from "../../../kernel/contract/Problem.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { AllowancesRepo } from "../allowances/Repo.ts"
import type { Outcome } from "../cloudevents/Model.ts"
import { totalNameOf } from "../ledger/Account.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { bySlug, makeUseCounting, slugsOf } from "./Counting.ts"
import type { MeteredInstance, OfflineUse, OverAllowance } from "./Model.ts"
import { OfflineUsageRepo } from "./Repo.ts"
import { growthsOf, isValid, overAllowances, parseUse, periodsOf } from "./Rules.ts"
import type { MeterPeriod } from "./Rules.ts"

const keyOf = ({ meter, period }: MeterPeriod) => ({
  instanceId: meter.instanceId,
  entitlementId: meter.entitlementId,
  periodStart: period.start,
})

/** Counts what sites bring. */
export class OfflineUsage extends Context.Service<
  OfflineUsage,
  {
    /**
     * Counts uses of an instance in their order, each in the period of its time, past caps too. The caller has made sure that none
     * is counted twice. Returns the outcome of each. Fails if one is a correction, and the caller may not make it.
     */
    readonly count: <Use extends OfflineUse>(
      instance: MeteredInstance,
      uses: ReadonlyArray<Use>,
    ) => Effect.Effect<ReadonlyMap<Use, Outcome>, MissingScope, Caller | Transaction>
    /** By how much all that ledgers brought is above the allowances, in the periods of these events. */
    readonly overAllowance: (
      instance: MeteredInstance,
      events: ReadonlyArray<object>,
    ) => Effect.Effect<ReadonlyArray<OverAllowance>, never, Caller>
  }
>()("keyshelf/usage/siteusage/OfflineUsage") {
  static readonly layer = Layer.effect(
    OfflineUsage,
    Effect.gen(function* () {
      const repo = yield* OfflineUsageRepo
      const allowancesRepo = yield* AllowancesRepo
      const meters = yield* LedgerRepo
      const ledger = yield* LockedLedger

      const counting = yield* makeUseCounting

      return OfflineUsage.of({
        count: Effect.fn("OfflineUsage.count")(function* <Use extends OfflineUse>(
          instance: MeteredInstance,
          uses: ReadonlyArray<Use>,
        ) {
          yield* Transaction
          const { organizationId } = yield* Caller
          const { checked, places } = yield* counting.check(instance, uses)
          const opened = places.length === 0 ? new Map() : yield* ledger.open(organizationId, places)
          const posted = yield* counting.post(opened, checked, ({ allowed }) => allowed)
          const accounts = [...posted.accounts.values()]
          yield* ledger.close(yield* Caller, accounts)
          const growths = growthsOf(accounts)
          if (growths.length > 0) yield* repo.add(organizationId, growths)
          return posted.outcomes
        }),

        overAllowance: Effect.fn("OfflineUsage.overAllowance")(function* (instance, events) {
          const { organizationId } = yield* Caller
          const at = yield* now
          const uses = events.map((event) => parseUse(event, instance.slug, at)).filter(isValid)
          const slugs = slugsOf(uses)
          const allowances = slugs.length === 0 ? [] : yield* allowancesRepo.list(organizationId, instance.id, slugs)
          if (allowances.length === 0) return []
          const allowed = [...new Set(allowances.map(({ entitlement }) => entitlement))]
          const found = bySlug(yield* meters.listAmong(organizationId, instance.slug, allowed, at))
          const periods = periodsOf(found, uses)
          const brought = new Map(
            (yield* repo.find(organizationId, periods.map(keyOf))).map((row) => [totalNameOf(row), row.quantity]),
          )
          return overAllowances(periods, allowances, (period) => brought.get(totalNameOf(keyOf(period))))
        }),
      })
    }),
  )
}
