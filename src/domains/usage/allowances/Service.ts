/** Use cases of allowances. They are decided under the locks of the totals that they reserve a part of. */
import { Context, Effect, Layer } from "effect"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import { amountOf, decimalOfAmount, decimalText, storedDecimal } from "../../../kernel/values/Decimal.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Instances } from "../../instances/Service.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import type { EntitlementSnapshot, Life } from "../snapshots/Model.ts"
import type { OfflineAllowance, RequestedAllowance } from "./Model.ts"
import { AllowancesRepo } from "./Repo.ts"
import type { AllowingBundle } from "./Repo.ts"
import { instantsToFit, meterErrors, rejectionOf, requestErrors, withPromisedGrant } from "./Rules.ts"

/** The allowances that a bundle reserves. */
interface AllowanceRequest {
  /** Slug of the instance, whose row is locked. */
  readonly instance: string
  readonly requested: ReadonlyArray<RequestedAllowance>
  /** What the bundle promises. */
  readonly entitlements: ReadonlyArray<EntitlementSnapshot>
  /** The time in which the bundle is valid. */
  readonly life: Life
}

/** Reserves quantities for sites without a network. */
export class Allowances extends Context.Service<
  Allowances,
  {
    /**
     * Reserves the allowances of a bundle: from then on, nothing else can use them. Returns why they do not fit, after
     * which the transaction must be rolled back; `undefined` if they do. Fails on entitlements that cannot be reserved.
     */
    readonly hold: (
      bundle: AllowingBundle,
      request: AllowanceRequest,
    ) => Effect.Effect<string | undefined, ValidationFailed, Caller | Transaction>
    /** The allowances of bundles of an instance, by the id of the bundle. */
    readonly ofBundles: (
      organizationId: OrganizationId,
      instanceId: string,
      bundleIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<OfflineAllowance>>>
    /** Ends the allowances of a bundle. Returns whether there was one to end. */
    readonly endOf: (
      organizationId: OrganizationId,
      instanceId: string,
      bundleId: string,
      at: Date,
    ) => Effect.Effect<boolean, never, Transaction>
    /** Ends the allowances of the bundles of an instance up to a sequence. */
    readonly endUpTo: (
      organizationId: OrganizationId,
      instanceId: string,
      sequence: number,
      at: Date,
    ) => Effect.Effect<void, never, Transaction>
  }
>()("keyshelf/usage/allowances/Allowances") {
  static readonly layer = Layer.effect(
    Allowances,
    Effect.gen(function* () {
      const repo = yield* AllowancesRepo
      const instances = yield* Instances
      const meters = yield* LedgerRepo
      const ledger = yield* LockedLedger

      const hold = Effect.fn("Allowances.hold")(function* (
        bundle: AllowingBundle,
        { entitlements, instance, life, requested }: AllowanceRequest,
      ) {
        yield* failWithErrors(requestErrors(requested))
        const { organizationId } = bundle
        const pairs = requested.map(({ entitlement }) => ({ instance, entitlement }))
        const found = new Map(
          (yield* meters.lockShared(organizationId, pairs, yield* now)).map(
            (meter) => [meter.entitlement, meter] as const,
          ),
        )
        yield* failWithErrors(meterErrors(requested, (entitlement) => found.get(entitlement)))
        const allowed = requested.flatMap(({ entitlement, quantity }) => {
          const meter = found.get(entitlement)
          return meter === undefined ? [] : [{ meter: withPromisedGrant(meter, entitlements), quantity }]
        })
        // Stored before the totals are locked, so that what is held of them includes it.
        yield* instances.readAllowancesUntil(bundle.instanceId, bundle.openUntil)
        yield* repo.insert(
          bundle,
          allowed.map(({ meter: { entitlementId }, quantity }) => ({
            entitlementId,
            quantity: decimalText(decimalOfAmount(quantity)),
          })),
        )
        const uses = allowed.flatMap(({ meter }) =>
          instantsToFit(meter, life).map((at) => ({ meter, at, uniqueKey: null })),
        )
        const accounts = [...(yield* ledger.open(organizationId, uses)).values()]
        for (const { meter } of allowed) {
          const own = accounts.filter((account) => account.meter.entitlementId === meter.entitlementId)
          const rejection = rejectionOf(meter, life.from, own)
          if (rejection !== undefined) return rejection
        }
        return undefined
      })

      return Allowances.of({
        hold,
        ofBundles: Effect.fnUntraced(function* (organizationId, instanceId, bundleIds) {
          const rows = bundleIds.length === 0 ? [] : yield* repo.ofBundles(organizationId, instanceId, bundleIds)
          const allowances = new Map<string, ReadonlyArray<OfflineAllowance>>()
          for (const [bundleId, own] of Map.groupBy(rows, (row) => row.bundleId)) {
            allowances.set(
              bundleId,
              own.map(({ endedAt, entitlement, quantity }) => ({
                entitlement,
                quantity: amountOf(storedDecimal(quantity)),
                endedAt,
              })),
            )
          }
          return allowances
        }),
        endOf: (organizationId, instanceId, bundleId, at) =>
          Effect.map(repo.endOf(organizationId, instanceId, bundleId, at), (ended) => ended > 0),
        endUpTo: repo.endUpTo,
      })
    }),
  )
}
