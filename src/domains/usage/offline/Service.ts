/** Counts usage that happened without a connection, through the accounts of all usage. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller, mayLowerUsage } from "../../../kernel/contract/Caller.ts"
import { MissingScope } from "../../../kernel/contract/Problem.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { AllowancesRepo } from "../allowances/Repo.ts"
import { postEvents } from "../cloudevents/EventPosting.ts"
import type { Outcome } from "../cloudevents/Model.ts"
import type { CountableEvent, ParsedEvent, RejectedEvent } from "../cloudevents/Rules.ts"
import { LOWERING_TEXT } from "../ledger/Acceptance.ts"
import { totalNameOf } from "../ledger/Account.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import type { Meter } from "../ledger/Model.ts"
import type { MeteredInstance, OfflineUse, OverAllowance } from "./Model.ts"
import { OfflineUsageRepo } from "./Repo.ts"
import { checkUse, growthsOf, hasCorrection, overAllowances, parseUse, periodsOf, postPastCap } from "./Rules.ts"
import type { MeterPeriod } from "./Rules.ts"

const isValid = <Event extends ParsedEvent | CountableEvent>(event: Event | RejectedEvent): event is Event =>
  !("outcome" in event)

const bySlug = (meters: ReadonlyArray<Meter>): ReadonlyMap<string, Meter> =>
  new Map(meters.map((meter) => [meter.entitlement, meter] as const))

const slugsOf = (events: ReadonlyArray<ParsedEvent>): ReadonlyArray<string> => [
  ...new Set(events.map(({ entitlement }) => entitlement)),
]

const keyOf = ({ meter, period }: MeterPeriod) => ({
  instanceId: meter.instanceId,
  entitlementId: meter.entitlementId,
  periodStart: period.start,
})

const noOutcomes: ReadonlyMap<CountableEvent, Outcome> = new Map()

const outcomeIn = (outcomes: ReadonlyMap<CountableEvent, Outcome>, event: CountableEvent): Outcome =>
  Option.getOrThrow(Option.fromNullishOr(outcomes.get(event)))

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
>()("keyshelf/usage/offline/OfflineUsage") {
  static readonly layer = Layer.effect(
    OfflineUsage,
    Effect.gen(function* () {
      const repo = yield* OfflineUsageRepo
      const allowancesRepo = yield* AllowancesRepo
      const meters = yield* LedgerRepo
      const ledger = yield* LockedLedger

      /** The meters of events. They cannot be deleted until the transaction ends. */
      const keepMeters = Effect.fnUntraced(function* (
        instance: MeteredInstance,
        events: ReadonlyArray<ParsedEvent>,
        at: Date,
      ) {
        const { organizationId } = yield* Caller
        const pairs = slugsOf(events).map((entitlement) => ({ instance: instance.slug, entitlement }))
        return bySlug(pairs.length === 0 ? [] : yield* meters.lockShared(organizationId, pairs, at))
      })

      const post = Effect.fnUntraced(function* (events: ReadonlyArray<CountableEvent>) {
        if (events.length === 0) return noOutcomes
        const caller = yield* Caller
        // A stored line cannot be sent again with another credential, so a license key's whole upload is denied.
        if (!mayLowerUsage(caller) && hasCorrection(events)) return yield* new MissingScope({ detail: LOWERING_TEXT })
        const uses = events.map(({ meter, timestamp, uniqueKey }) => ({ meter, at: timestamp, uniqueKey }))
        const opened = yield* ledger.open(caller.organizationId, uses)
        const { accounts, outcomes } = postEvents(opened, events, caller, postPastCap)
        yield* ledger.close(caller, [...accounts.values()])
        const growths = growthsOf([...accounts.values()])
        if (growths.length > 0) yield* repo.add(caller.organizationId, growths)
        return outcomes
      })

      return OfflineUsage.of({
        count: Effect.fn("OfflineUsage.count")(function* <Use extends OfflineUse>(
          instance: MeteredInstance,
          uses: ReadonlyArray<Use>,
        ) {
          yield* Transaction
          const at = yield* now
          const parsed = uses.map((use) => [use, parseUse(use.event, instance.slug, at)] as const)
          const found = yield* keepMeters(instance, parsed.map(([, event]) => event).filter(isValid), at)
          const checked = parsed.map(
            ([use, event]) =>
              [use, isValid(event) ? checkUse(event, found.get(event.entitlement), use.window) : event] as const,
          )
          const outcomes = yield* post(checked.map(([, event]) => event).filter(isValid))
          return new Map(
            checked.map(([use, event]) => [use, isValid(event) ? outcomeIn(outcomes, event) : event.outcome] as const),
          )
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
