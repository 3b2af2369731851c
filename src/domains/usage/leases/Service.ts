/**
 * Use cases of leases. Acquiring, renewing and releasing are decided one after the other for an instance and an entitlement, at instants that
 * never go back, even if the clocks of the nodes differ. So a seat that one node found free is not renewed by another.
 */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { LeaseNotFound } from "../Errors.ts"
import type { AcquireLeaseLimitReached } from "../Errors.ts"
import { acquisition } from "./Acquisition.ts"
import type { AcquireLease, Lease } from "./Model.ts"
import { LeasesRepo } from "./Repo.ts"
import { leaseOf, seats } from "./Seats.ts"

/** Leases of the instances of the caller's organization. */
export class Leases extends Context.Service<
  Leases,
  {
    /** Acquires a lease, or renews the live one of the holder. */
    readonly acquire: (
      instance: string,
      entitlement: string,
      sent: AcquireLease,
    ) => Effect.Effect<
      { readonly isNew: boolean; readonly lease: Lease },
      ValidationFailed | InstanceNotFound | EntitlementNotFound | AcquireLeaseLimitReached,
      Caller
    >
    /** A page of the live leases, newest first; with `holder`, only its lease. */
    readonly list: (
      instance: string,
      entitlement: string,
      request: PageRequest & { readonly holder?: string },
    ) => Effect.Effect<Page<Lease>, ValidationFailed | InstanceNotFound | EntitlementNotFound | InvalidCursor, Caller>
    /** Ends a live lease. Its seat is free at once. */
    readonly release: (
      instance: string,
      entitlement: string,
      id: string,
    ) => Effect.Effect<void, ValidationFailed | InstanceNotFound | EntitlementNotFound | LeaseNotFound, Caller>
  }
>()("keyshelf/usage/leases/Leases") {
  static readonly layer = Layer.suspend(() => Layer.effect(Leases, make))
}

const make = Effect.gen(function* () {
  const repo = yield* LeasesRepo
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const { find, lock } = yield* seats

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

  return { acquire: yield* acquisition, list, release }
})
