/**
 * Use cases of tranches: units of a hard limit that are set aside for a product, which spends them without a request. The owner of
 * ledgers settles lines and refills by it, under the lock of the ledger's row.
 */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import { decimalText, storedDecimal } from "../../../kernel/values/Decimal.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { isSameInstant, now } from "../../../kernel/values/Timestamp.ts"
import type { Outcome } from "../cloudevents/Model.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import type { Meter } from "../ledger/Model.ts"
import { OptimisticRepo } from "../ledger/optimistic/OptimisticRepo.ts"
import { makeUseCounting } from "../siteusage/Counting.ts"
import type { MeteredInstance, OfflineUse } from "../siteusage/Model.ts"
import { changeOf, keyOf } from "./Changes.ts"
import type { TrancheAfter } from "./Changes.ts"
import { countRefilled } from "./Metrics.ts"
import type { RefilledTranche, Tranche, TrancheRequest } from "./Model.ts"
import { decideRefill, heldByTranches, nameOf } from "./Refilling.ts"
import type { RefillInput } from "./Refilling.ts"
import { refilledAt, TranchesRepo } from "./Repo.ts"
import type { Holder } from "./Repo.ts"
import type { StoredTranche } from "./Model.ts"
import { askedTranches } from "./Requests.ts"
import type { AskedTranche } from "./Requests.ts"

/** What became of it. */
interface Refill<Use> {
  readonly outcomes: ReadonlyMap<Use, Outcome>
  /** In the order of the request. */
  readonly tranches: ReadonlyArray<RefilledTranche>
  /** All that the holder may spend until `spendUntil`. */
  readonly spendable: ReadonlyArray<TrancheAfter>
  readonly spendUntil: Date
}

/** Sets units aside for the holders of ledgers. */
export class Tranches extends Context.Service<
  Tranches,
  {
    /**
     * Counts the new lines of a locked ledger, takes them from what its holder may spend, gives back what it does not keep, and
     * refills. Fails if a line is a correction that the caller may not make, or if something cannot be set aside.
     */
    readonly refill: <Use extends OfflineUse>(
      instance: MeteredInstance,
      input: RefillInput<Use>,
    ) => Effect.Effect<Refill<Use>, MissingScope | ValidationFailed, Caller | Transaction>
    /** Those of the named meters that exist, with their totals, without locks; `undefined` where the tables are distributed. */
    readonly readMeters: OptimisticRepo["Service"]["read"] | undefined
    /** Up to `count` tranches of an instance that hold something, after a position: holder, entitlement and period. */
    readonly list: (
      instanceId: string,
      at: Date,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Omit<Tranche, "lines">>, never, Caller>
    /** Ends all that the holder of a locked ledger holds. Returns how many tranches there were. */
    readonly end: (instanceId: string, holder: string) => Effect.Effect<number, never, Caller | Transaction>
  }
>()("keyshelf/usage/tranches/Tranches") {
  static readonly layer = Layer.effect(
    Tranches,
    Effect.suspend(() => make),
  )
}

const trancheOf = ({ entitlement, expiresAt, ledger, periodStart, quantity, spendUntil }: StoredTranche) => ({
  holder: ledger,
  entitlement,
  periodStart,
  unspent: decimalText(storedDecimal(quantity)),
  spendUntil,
  heldUntil: expiresAt,
  updatedAt: refilledAt(expiresAt),
})

const asking = Effect.map(LedgerRepo, (meters) =>
  Effect.fnUntraced(function* (requests: ReadonlyArray<TrancheRequest>, found: ReadonlyMap<string, Meter>, at: Date) {
    const { organizationId } = yield* Caller
    const { asked, errors } = askedTranches(requests, (entitlement) => found.get(entitlement), at)
    yield* failWithErrors(errors)
    // What is granted in another period may differ: an override often ends with a period.
    return yield* Effect.forEach(asked, (one) =>
      !isSameInstant(one.at, at)
        ? Effect.map(meters.lockShared(organizationId, [one.meter], one.at), ([meter = one.meter]) => ({
            ...one,
            meter,
          }))
        : Effect.succeed(one),
    )
  }),
)

/** Counts lines and opens the accounts of all that is asked for, all at once. */
const opening = Effect.gen(function* () {
  const ledger = yield* LockedLedger
  const counting = yield* makeUseCounting
  const ask = yield* asking

  return Effect.fnUntraced(function* <Use extends OfflineUse>(
    instance: MeteredInstance,
    { tranches, uses }: RefillInput<Use>,
    own: ReadonlyArray<StoredTranche>,
    at: Date,
  ) {
    const { organizationId } = yield* Caller
    const slugs = [...tranches, ...own].map(({ entitlement }) => entitlement)
    const { checked, meters, places } = yield* counting.check(instance, uses, slugs)
    const asked = yield* ask(tranches, meters, at)
    const opened = [...places, ...asked.map((one) => ({ meter: one.meter, at: one.at, uniqueKey: null }))]
    const { accounts, outcomes } = yield* counting.post(
      opened.length === 0 ? new Map() : yield* ledger.open(organizationId, opened),
      checked,
      heldByTranches(instance.id, own),
    )
    return { accounts, asked, meters, outcomes }
  })
})

const make = Effect.gen(function* () {
  const repo = yield* TranchesRepo
  const ledger = yield* LockedLedger
  const open = yield* opening
  yield* countRefilled([])

  const countOthers = Effect.fnUntraced(function* (holder: Holder, asked: ReadonlyArray<AskedTranche>, at: Date) {
    const others = asked.length === 0 ? [] : yield* repo.countOthers(holder, asked.map(keyOf), at)
    const counts = new Map(others.map((row) => [nameOf(holder.instanceId, row), row.count]))
    return (name: string) => counts.get(name) ?? 0
  })

  const refill = Effect.fn("Tranches.refill")(function* <Use extends OfflineUse>(
    instance: MeteredInstance,
    input: RefillInput<Use>,
  ) {
    const caller = yield* Caller
    const at = yield* now
    const holder = { organizationId: caller.organizationId, instanceId: instance.id, ledger: input.ledger }
    const stored = yield* repo.findOf(holder, at)
    const { accounts, asked, meters, outcomes } = yield* open(instance, input, stored, at)
    const othersOf = yield* countOthers(holder, asked, at)
    const { close } = input
    const basis = { instanceId: instance.id, asked, accounts, meters, stored, othersOf, at, close }
    const { after, spendable, spendUntil, tranches, ...decided } = decideRefill(basis)
    yield* ledger.close(caller, decided.accounts)
    const changes = yield* Effect.forEach(after, (one) => Effect.map(newId, (id) => changeOf(one, id)))
    if (changes.length > 0) yield* repo.store(holder, changes, caller.actor)
    yield* countRefilled(tranches)
    return { outcomes, tranches, spendable, spendUntil }
  })

  const { read, separatesOrganizations } = yield* OptimisticRepo

  return Tranches.of({
    refill,
    readMeters: separatesOrganizations ? undefined : read,
    list: Effect.fnUntraced(function* (instanceId, at, after, count) {
      const { organizationId } = yield* Caller
      return (yield* repo.list(organizationId, instanceId, at, after, count)).map(trancheOf)
    }),
    end: Effect.fn("Tranches.end")(function* (instanceId, ledger) {
      const { actor, organizationId } = yield* Caller
      return yield* repo.end({ organizationId, instanceId, ledger }, { at: yield* now, actor })
    }),
  })
})
