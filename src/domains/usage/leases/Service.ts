/**
 * Use cases of leases. Acquiring, renewing and releasing are decided one after the other for an instance and an entitlement, at instants that
 * never go back, whatever the clocks of the nodes are. So a seat that one node found free is not renewed by another.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { AcquireLeaseLimitReached, LeaseNotFound } from "../Errors.ts"
import { LedgerRepo, meterOf } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import { UsageReports } from "../reports/Service.ts"
import { DEFAULT_TTL_SECONDS } from "./Model.ts"
import type { AcquireLease, Lease } from "./Model.ts"
import { LeasesRepo } from "./Repo.ts"
import type { LeaseRow } from "./Repo.ts"
import { decideSeat, endOfDay, leaseRefusalText, leaseValidationError, seatsOf } from "./Rules.ts"
import type { ValidationFailed, InvalidCursor } from "../../../kernel/contract/Problem.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"

const leaseOf = (
  { entitlement, instance }: Meter,
  { acquiredAt, expiresAt, holder, id, metadata, renewedAt }: Omit<LeaseRow, "sweepAfter">,
): Lease => ({ id, instance, entitlement, holder, acquiredAt, renewedAt, expiresAt, metadata })

/** Leases of the instances of the caller's organization. */
export class Leases extends Context.Service<
  Leases,
  {
    /** ??? */
    readonly acquire: (
      instance: string,
      entitlement: string,
      sent: AcquireLease,
    ) => Effect.Effect<
      {
        readonly isNew: boolean
        readonly lease: Lease
      },
      ValidationFailed | InstanceNotFound | EntitlementNotFound | AcquireLeaseLimitReached,
      Caller
    >
    /** ??? */
    readonly list: (
      instance: string,
      entitlement: string,
      input: PageRequest & {
        readonly holder?: string
      },
    ) => Effect.Effect<
      {
        readonly items: Lease[]
        readonly hasMore: boolean
        readonly nextCursor: string
      },
      ValidationFailed | InstanceNotFound | EntitlementNotFound | InvalidCursor,
      Caller
    >
    /** ??? */
    readonly release: (
      instance: string,
      entitlement: string,
      id: string,
    ) => Effect.Effect<void, ValidationFailed | InstanceNotFound | EntitlementNotFound | LeaseNotFound, Caller>
  }
>()("keyshelf/usage/leases/Leases") {
  static readonly layer = Layer.effect(
    Leases,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* LeasesRepo
  const meters = yield* LedgerRepo
  const reports = yield* UsageReports
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** The meter, if it has seats. */
  const required = Effect.fnUntraced(function* <Found extends Omit<Meter, "grant">>(
    organizationId: string,
    instance: string,
    entitlement: string,
    meter: Found | undefined,
  ) {
    if (meter === undefined) return yield* reports.failMissing(organizationId, instance, entitlement)
    const error = leaseValidationError(meter)
    return error === undefined ? meter : yield* invalid(error.location, error.message, error.value)
  })

  const find = Effect.fnUntraced(function* (instance: string, entitlement: string) {
    const { organizationId } = yield* Caller
    const [found] = yield* meters.find(organizationId, instance, entitlement, yield* now)
    return yield* required(organizationId, instance, entitlement, found)
  })

  /** Locks the leases of a meter. */
  const lock = (meter: Omit<Meter, "grant">) => Effect.flatMap(now, (at) => repo.lock(meter, at))

  const refused = (meter: Meter, others: number, at: Date) => {
    const decision = decideSeat(meter, others, at)
    return decision.allowed
      ? undefined
      : new AcquireLeaseLimitReached({ detail: leaseRefusalText(meter, decision, others) })
  }

  const renew = Effect.fnUntraced(function* (
    meter: Meter,
    live: Omit<LeaseRow, "sweepAfter">,
    row: LeaseRow,
    mostHeld: number,
  ) {
    // Only where the limit has fallen below what was held, those before it have to be counted.
    const others = mostHeld <= seatsOf(meter) ? 0 : yield* repo.countBefore(meter, live, row.renewedAt)
    const problem = refused(meter, others, row.renewedAt)
    if (problem !== undefined) return yield* problem
    yield* repo.renew(meter, row)
    return { isNew: false, lease: leaseOf(meter, row) }
  })

  const add = Effect.fnUntraced(function* (meter: Meter, row: LeaseRow) {
    const live = yield* repo.countLive(meter, row.acquiredAt)
    const problem = refused(meter, live, row.acquiredAt)
    if (problem !== undefined) return yield* problem
    yield* repo.insert(meter, row)
    yield* repo.storeMostHeld(meter, live + 1)
    return { isNew: true, lease: leaseOf(meter, row) }
  })

  const acquire = Effect.fn("Leases.acquire")(function* (instance: string, entitlement: string, sent: AcquireLease) {
    const { organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const kept = yield* meters.keepTerms(organizationId, { instance, entitlement })
        const terms = yield* required(organizationId, instance, entitlement, Option.getOrUndefined(kept))
        const { at, mostHeld } = yield* lock(terms)
        const meter = meterOf(terms, at)
        const live = Option.getOrUndefined(yield* repo.findLive(meter, sent.holder, at))
        const expiresAt = new Date(at.getTime() + (sent.ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1000)
        const row: LeaseRow = {
          id: live?.id ?? (yield* newId),
          holder: sent.holder,
          acquiredAt: live?.acquiredAt ?? at,
          renewedAt: at,
          expiresAt,
          sweepAfter: endOfDay(expiresAt),
          metadata: sent.metadata ?? live?.metadata ?? null,
        }
        return yield* live === undefined ? add(meter, row) : renew(meter, live, row, mostHeld)
      }),
    )
  })

  const list = Effect.fn("Leases.list")(function* (
    instance: string,
    entitlement: string,
    { holder, ...request }: PageRequest & { readonly holder?: string },
  ) {
    const meter = yield* find(instance, entitlement)
    const at = yield* now
    const { entitlementId, instanceId, organizationId } = meter
    const page = yield* cursors.page(
      { name: "leases", organizationId, filters: { instanceId, entitlementId, holder } },
      request,
      (after, count) => repo.list(meter, { at, holder }, after, count),
      byId,
    )
    return { ...page, items: page.items.map((row) => leaseOf(meter, row)) }
  })

  const release = Effect.fn("Leases.release")(function* (instance: string, entitlement: string, id: string) {
    const meter = yield* find(instance, entitlement)
    yield* transactions.run(
      Effect.gen(function* () {
        const { at } = yield* lock(meter)
        if (!(yield* repo.end(meter, id, at))) return yield* new LeaseNotFound({ detail: noSuch("live lease", id) })
      }),
    )
  })

  return { acquire, list, release }
})
