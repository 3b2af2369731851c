/**
 * The two ways of counting a batch. Nearly always its events only let totals rise, none of them past a threshold: those are
 * added up first, and each total is added to once, without being read. Whatever is not that simple is decided event by event
 * under the locks of its totals.
 */
import { BigDecimal, Data, Effect } from "effect"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { accountIn, accountName, meterName, post, totalNameOf } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import { identityOf, rejected } from "./Rules.ts"
import type { CountableEvent, ParsedEvent, Outcome } from "./Rules.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import { RETENTION_MS, rejectionText } from "../ledger/Acceptance.ts"
import { addUp } from "./BatchTotals.ts"
import type { Tally } from "./BatchTotals.ts"
import { CloudEventsRepo } from "./Repo.ts"
import type { Terms } from "./Repo.ts"

/** What a batch does cannot be told without its totals. */
export class NeedsLocks extends Data.TaggedError("NotSimple") {}

/** The verdict on an event that was counted or refused now; of the others, the ids were taken before. */
export type Outcomes = (event: CountableEvent) => Outcome | undefined

const ACCEPTED: Outcome = { status: "accepted" }

/** Nothing was counted. */
export const noOutcomes: Outcomes = () => undefined

const idsOf = (events: ReadonlyArray<CountableEvent>) => events.map(({ id, source }) => ({ source, id }))

/** What becomes of events that are counted for the first time, in order, and the accounts after them. */
const countOn = (
  opened: ReadonlyMap<string, Account>,
  events: ReadonlyArray<CountableEvent>,
  reportedBy: ActorReference,
): { readonly accounts: ReadonlyMap<string, Account>; readonly verdicts: ReadonlyMap<CountableEvent, Outcome> } => {
  const accounts = new Map(opened)
  const verdicts = new Map(
    events.map((judged): readonly [CountableEvent, Outcome] => {
      const { meter, timestamp, uniqueKey, value } = judged
      const name = accountName({ meter, at: timestamp })
      const event = { timestamp, behavior: "append" as const, value, uniqueKey, metadata: null, reportedBy }
      const posted = post(accountIn(accounts, name), event)
      accounts.set(name, posted.account)
      if (posted.refusal === undefined) return [judged, ACCEPTED]
      const code = posted.refusal === "negative" ? "Request.ValidationFailed" : "ReportUsage.ThresholdExceeded"
      return [judged, rejected(code, rejectionText(posted.refusal, posted.account))]
    }),
  )
  return { accounts, verdicts }
}

const idOf = ({ entitlementId, instanceId }: Pick<Meter, "entitlementId" | "instanceId">) =>
  `${instanceId} ${entitlementId}`

const slugs = (events: ReadonlyArray<ParsedEvent>, slugOf: (event: ParsedEvent) => string) => [
  ...new Set(events.map(slugOf)),
]

/** Makes the two. */
export const makeBatchCounting = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const tallies = yield* CloudEventsRepo
  const ledger = yield* LockedLedger
  const transactions = yield* Transactions

  /** Those of the events whose ids were free, and are taken now. */
  const taken = Effect.fnUntraced(function* (organizationId: string, events: ReadonlyArray<CountableEvent>, at: Date) {
    const expiresAt = new Date(at.getTime() + RETENTION_MS)
    const free = yield* repo.takeEventIds(organizationId, events, at, expiresAt)
    if (free === "all") return events
    const fresh = new Set(free.map(identityOf))
    return events.filter(({ identity }) => fresh.has(identity))
  })

  /** The terms of these events' meters. */
  const terms = (organizationId: string, events: ReadonlyArray<ParsedEvent>) =>
    tallies.terms(
      organizationId,
      slugs(events, ({ instance }) => instance),
      slugs(events, ({ entitlement }) => entitlement),
    )

  /** Whether usage and what is held come to more than a limit tolerates. */
  const isTooMuchHeld = Effect.fnUntraced(function* (organizationId: string, posted: ReadonlyArray<Tally>, at: Date) {
    const limited = posted.filter(({ thresholds }) => thresholds !== null)
    const instances = [...new Set(limited.map(({ instanceId }) => instanceId))]
    const held = instances.length === 0 ? [] : yield* tallies.held(organizationId, instances, at)
    if (held.length === 0) return false
    const quantities = new Map(held.map(({ quantity, ...meter }) => [idOf(meter), quantity] as const))
    const caps = new Map(
      limited.flatMap((tally) =>
        quantities.has(idOf(tally)) ? [[totalNameOf(tally), tally.thresholds?.cap] as const] : [],
      ),
    )
    const concerned = limited.filter((tally) => caps.has(totalNameOf(tally)))
    const totals = concerned.length === 0 ? [] : yield* repo.totals(organizationId, concerned)
    return totals.some((row) => {
      const cap = caps.get(totalNameOf(row))
      const quantity = storedDecimal(quantities.get(idOf(row)) ?? "0")
      return cap !== undefined && BigDecimal.isGreaterThan(BigDecimal.sum(row.total.value, quantity), cap)
    })
  })

  /** Counts events that only let totals rise; all of them, or none. */
  const countSimply = Effect.fnUntraced(function* (events: ReadonlyArray<CountableEvent>, at: Date) {
    const all = addUp(events)
    if (all === undefined) return yield* new NeedsLocks()
    const { actor, organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const counting = yield* taken(organizationId, events, at)
        const adding = counting.length === events.length ? all : addUp(counting)
        if (counting.length > 0 && adding !== undefined) {
          const posted = yield* tallies.post(organizationId, adding, { at, reportedBy: actor })
          if (posted < adding.tallies.length) return yield* new NeedsLocks()
          if (yield* isTooMuchHeld(organizationId, adding.tallies, at)) return yield* new NeedsLocks()
        }
        const counted = counting === events ? { has: () => true } : new Set(counting)
        const verdicts: Outcomes = (event) => (counted.has(event) ? ACCEPTED : undefined)
        return verdicts
      }),
    )
  })

  /** The terms of these events' meters, which cannot be deleted until the transaction ends. */
  const keptTerms = Effect.fnUntraced(function* (organizationId: string, events: ReadonlyArray<ParsedEvent>) {
    const pairs = Map.groupBy(events, meterName)
    const found = yield* repo.keep(
      organizationId,
      Array.from(pairs.values(), ([event]) => ({
        instance: event?.instance ?? "",
        entitlement: event?.entitlement ?? "",
      })),
    )
    const meters = new Map<string, Meter>(found.map((meter) => [meterName(meter), meter] as const))
    const instances =
      found.length === pairs.size
        ? found.map(({ instance }) => instance)
        : (yield* repo.instancesAmong(
            organizationId,
            slugs(events, ({ instance }) => instance),
          )).map(({ slug }) => slug)
    const kept: Terms = {
      instances: new Set(instances),
      meterOf: (instance, entitlement) => meters.get(meterName({ instance, entitlement })),
    }
    return kept
  })

  /** Counts events under the locks of their totals. Their ids are taken before any total is touched. */
  const countUnderLocks = Effect.fnUntraced(function* (events: ReadonlyArray<CountableEvent>, at: Date) {
    const caller = yield* Caller
    const counting = yield* taken(caller.organizationId, events, at)
    if (counting.length === 0) return noOutcomes
    const usages = counting.map(({ meter, timestamp, uniqueKey }) => ({ meter, at: timestamp, uniqueKey }))
    const counted = countOn(yield* ledger.open(caller.organizationId, usages), counting, caller.actor)
    const refused = counting.filter((event) => counted.verdicts.get(event)?.status === "rejected")
    if (refused.length > 0) yield* repo.releaseEventIds(caller.organizationId, idsOf(refused))
    yield* ledger.close(caller, [...counted.accounts.values()])
    const verdicts: Outcomes = (event) => counted.verdicts.get(event)
    return verdicts
  })

  return {
    simply: { terms, count: countSimply },
    /** Belongs in a transaction. */
    underLocks: { terms: keptTerms, count: countUnderLocks },
  }
})
