/**
 * The two counting strategies of batches. Set-wise: nearly always the events only raise totals and cross no threshold,
 * so they are added up first, and each total is raised once without being read. Under locks: all other batches are
 * decided event by event.
 */
import { BigDecimal, Data, Effect } from "effect"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { meterName, netOf, totalNameOf, useOf } from "../ledger/Account.ts"
import { ACCEPTED, postEvents } from "./EventPosting.ts"
import { identityOf } from "./Rules.ts"
import type { CountableEvent, ParsedEvent } from "./Rules.ts"
import type { Outcome } from "./Model.ts"
import type { LockedAccounts } from "../ledger/LockedAccounts.ts"
import { CountedIdsRepo } from "../ledger/CountedIdsRepo.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import { RETENTION_MS } from "../ledger/Acceptance.ts"
import { addUp } from "./BatchTotals.ts"
import type { Tally } from "./BatchTotals.ts"
import { CloudEventsRepo } from "./Repo.ts"
import type { Terms } from "./Repo.ts"

/** A batch cannot be counted set-wise. Nothing of it is counted. */
class NeedsLocks extends Data.TaggedError("NeedsLocks") {}

/** The outcome of an event that was counted or rejected now; `undefined` if its id had been taken before. */
export type Outcomes = (event: CountableEvent) => Outcome | undefined

/** No event was counted. */
export const noOutcomes: Outcomes = () => undefined

const idsOf = (events: ReadonlyArray<CountableEvent>) => events.map(({ id, source }) => ({ source, id }))

const meterId = ({ entitlementId, instanceId }: Pick<Meter, "entitlementId" | "instanceId">) =>
  `${instanceId} ${entitlementId}`

const slugs = (events: ReadonlyArray<ParsedEvent>, slugOf: (event: ParsedEvent) => string) => [
  ...new Set(events.map(slugOf)),
]

/** Takes the ids of events. Returns the events whose ids were free. */
const takingIds = Effect.map(CountedIdsRepo, (ids) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId, events: ReadonlyArray<CountableEvent>, at: Date) {
    const expiresAt = new Date(at.getTime() + RETENTION_MS)
    const free = yield* ids.takeEventIds(organizationId, events, at, expiresAt)
    if (free === "all") return events
    const fresh = new Set(free.map(identityOf))
    return events.filter(({ identity }) => fresh.has(identity))
  }),
)

/** Whether usage and reservations exceed the cap of a limit. */
const capComparison = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const tallies = yield* CloudEventsRepo

  return Effect.fnUntraced(function* (organizationId: OrganizationId, posted: ReadonlyArray<Tally>, at: Date) {
    const limited = posted.filter(({ thresholds }) => thresholds !== null)
    const instances = [...new Set(limited.map(({ instanceId }) => instanceId))]
    const held = instances.length === 0 ? [] : yield* tallies.held(organizationId, instances, at)
    if (held.length === 0) return false
    const quantities = new Map(held.map(({ quantity, ...meter }) => [meterId(meter), quantity] as const))
    const caps = new Map(
      limited.flatMap((tally) =>
        quantities.has(meterId(tally)) ? [[totalNameOf(tally), tally.thresholds?.cap] as const] : [],
      ),
    )
    const affected = limited.filter((tally) => caps.has(totalNameOf(tally)))
    const totals = affected.length === 0 ? [] : yield* repo.totals(organizationId, affected)
    return totals.some((row) => {
      const cap = caps.get(totalNameOf(row))
      const quantity = storedDecimal(quantities.get(meterId(row)) ?? "0")
      return cap !== undefined && BigDecimal.isGreaterThan(BigDecimal.sum(netOf(row), quantity), cap)
    })
  })
})

/** Counts events that only raise totals: all of them, or none. */
const setWiseCounting = Effect.gen(function* () {
  const tallies = yield* CloudEventsRepo
  const transactions = yield* Transactions
  const takeIds = yield* takingIds
  const exceedsCapWithReservations = yield* capComparison

  return Effect.fnUntraced(function* (events: ReadonlyArray<CountableEvent>, at: Date) {
    const all = addUp(events)
    if (all === undefined) return yield* new NeedsLocks()
    const { actor, organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const counting = yield* takeIds(organizationId, events, at)
        const totals = counting.length === events.length ? all : addUp(counting)
        if (counting.length > 0 && totals !== undefined) {
          const posted = yield* tallies.post(organizationId, totals, { at, reportedBy: actor })
          if (posted < totals.tallies.length) return yield* new NeedsLocks()
          if (yield* exceedsCapWithReservations(organizationId, totals.tallies, at)) return yield* new NeedsLocks()
        }
        const counted = counting === events ? { has: () => true } : new Set(counting)
        const outcomes: Outcomes = (event) => (counted.has(event) ? ACCEPTED : undefined)
        return outcomes
      }),
    )
  })
})

/** Reads the terms of the events' meters. The meters cannot be deleted until the transaction ends. */
const lockedTermsReader = Effect.map(LedgerRepo, (repo) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId, events: ReadonlyArray<ParsedEvent>, at: Date) {
    const pairs = Map.groupBy(events, meterName)
    const found = yield* repo.lockShared(
      organizationId,
      Array.from(pairs.values(), ([event]) => ({
        instance: event?.instance ?? "",
        entitlement: event?.entitlement ?? "",
      })),
      at,
    )
    const meters = new Map<string, Meter>(found.map((meter) => [meterName(meter), meter] as const))
    const instances =
      found.length === pairs.size
        ? found.map(({ instance }) => instance)
        : yield* repo.instancesAmong(
            organizationId,
            slugs(events, ({ instance }) => instance),
          )
    const terms: Terms = {
      instances: new Set(instances),
      meterOf: (instance, entitlement) => meters.get(meterName({ instance, entitlement })),
    }
    return terms
  }),
)

/** Counts events under the locks of their totals. Their ids are taken before any total is touched. */
const lockedCounting = Effect.gen(function* () {
  const ids = yield* CountedIdsRepo
  const takeIds = yield* takingIds

  return Effect.fnUntraced(function* (ledger: LockedAccounts, events: ReadonlyArray<CountableEvent>, at: Date) {
    const caller = yield* Caller
    const counting = yield* takeIds(caller.organizationId, events, at)
    if (counting.length === 0) return noOutcomes
    const uses = counting.map((event) => useOf(event.meter, event))
    const counted = postEvents(yield* ledger.open(caller.organizationId, uses), counting, caller)
    const rejectedEvents = counting.filter((event) => counted.outcomes.get(event)?.status === "rejected")
    if (rejectedEvents.length > 0) yield* ids.releaseEventIds(caller.organizationId, idsOf(rejectedEvents))
    yield* ledger.close(caller, [...counted.accounts.values()])
    const outcomes: Outcomes = (event) => counted.outcomes.get(event)
    return outcomes
  })
})

/** The two counting strategies. */
export const makeBatchCounting = Effect.gen(function* () {
  const tallies = yield* CloudEventsRepo
  const countSetWise = yield* setWiseCounting
  const lockedTerms = yield* lockedTermsReader
  const countUnderLocks = yield* lockedCounting

  /** The terms of the events' meters. */
  const terms = (organizationId: OrganizationId, events: ReadonlyArray<ParsedEvent>, at: Date) =>
    tallies.terms(
      organizationId,
      slugs(events, ({ instance }) => instance),
      slugs(events, ({ entitlement }) => entitlement),
      at,
    )

  return {
    setWise: { terms, count: countSetWise },
    /** Must run in the transaction of a locked operation. */
    underLocks: (ledger: LockedAccounts) => ({
      terms: lockedTerms,
      count: (events: ReadonlyArray<CountableEvent>, at: Date) => countUnderLocks(ledger, events, at),
    }),
  }
})
