/**
 * Use cases of reservations (docs/usage.md). They are decided under the locks of the totals to which they may be
 * committed.
 */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import { decimalOfAmount } from "../../../kernel/values/Decimal.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { ReserveLimitReached } from "../Errors.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { LockedAccounts } from "../ledger/LockedAccounts.ts"
import { lockedOperation } from "../ledger/Operation.ts"
import { UsageReports } from "../reports/Service.ts"
import { makeLockedReservations, notFound, notHeld } from "./LockedReservations.ts"
import type { Commit, Reserve } from "./Model.ts"
import { ReservationsRepo } from "./Repo.ts"
import { commitValidationError, reservationAt, reserveValidationError, stateAt } from "./Rules.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import type { Reservation } from "./Model.ts"
import type { ReservationNotFound, ReservationNotHeld } from "../Errors.ts"

/** Reservations of the caller's organization. */
export class Reservations extends Context.Service<
  Reservations,
  {
    /** Reserves a quantity: until the reservation ends, nothing else can use it. */
    readonly reserve: (
      instance: string,
      entitlement: string,
      request: Reserve,
    ) => Effect.Effect<
      Reservation,
      ValidationFailed | InstanceNotFound | EntitlementNotFound | ReserveLimitReached,
      Caller
    >
    /** Counts the reserved quantity as usage now, or the given part of it, and ends the reservation. */
    readonly commit: (
      id: string,
      input: { readonly quantity?: number },
    ) => Effect.Effect<Reservation, ValidationFailed | ReservationNotFound | ReservationNotHeld, Caller>
    /** Ends a reservation without usage. */
    readonly release: (id: string) => Effect.Effect<void, ReservationNotFound | ReservationNotHeld, Caller>
    /** A reservation of an instance that the caller may use. */
    readonly get: (id: string) => Effect.Effect<Reservation, ReservationNotFound, Caller>
  }
>()("keyshelf/usage/reservations/Reservations") {
  static readonly layer = Layer.suspend(() => Layer.effect(Reservations, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ReservationsRepo
  const meters = yield* LedgerRepo
  const ledger = yield* Ledger
  const reports = yield* UsageReports
  const locked = yield* makeLockedReservations

  const reserve = Effect.fn("Reservations.reserve")(function* (
    instance: string,
    entitlement: string,
    request: Reserve,
  ) {
    const { organizationId } = yield* Caller
    const decide = Effect.fnUntraced(function* (accounts: LockedAccounts) {
      const [meter] = yield* meters.lockShared(organizationId, [{ instance, entitlement }], yield* now)
      if (meter === undefined) return yield* reports.failMissing(organizationId, instance, entitlement)
      const error = reserveValidationError(meter, request.quantity)
      if (error !== undefined) return yield* invalid(error.location, error.message, error.value)
      return yield* locked.reserve(accounts, meter, decimalOfAmount(request.quantity ?? 1), request)
    })
    return yield* ledger.apply(
      lockedOperation({
        decide,
        accountWithCapExceeded: ({ full }) => full,
        answer: ({ held, rejection }) =>
          held === undefined ? Effect.fail(new ReserveLimitReached({ detail: rejection })) : Effect.succeed(held),
      }),
    )
  })

  const commit = Effect.fn("Reservations.commit")(function* (id: string, { quantity }: Commit) {
    const { organizationId } = yield* Caller
    const decide = Effect.fnUntraced(function* (accounts: LockedAccounts) {
      const stored = yield* locked.find(organizationId, id)
      const present = yield* now
      if (stateAt(stored, present) !== "HELD") return yield* notHeld(stored, present)
      const [meter] = yield* meters.lockShared(organizationId, [stored], present)
      if (meter === undefined) return yield* notFound(id)
      const error = commitValidationError(meter, stored, quantity)
      if (error !== undefined) return yield* invalid(error.location, error.message, error.value)
      return yield* locked.commit(accounts, meter, stored, quantity)
    })
    return yield* ledger.apply(lockedOperation({ decide, answer: Effect.succeed }))
  })

  const release = Effect.fn("Reservations.release")(function* (id: string) {
    const { actor, confinedTo, organizationId } = yield* Caller
    if (confinedTo !== undefined) yield* locked.find(organizationId, id)
    const at = yield* now
    const released = { state: "RELEASED", committedQuantity: null, at, actor } as const
    // A release cannot exceed a cap, so no total has to be locked.
    if (yield* repo.endInTime(organizationId, id, released)) return
    return yield* notHeld(yield* locked.find(organizationId, id), at)
  })

  const get = Effect.fn("Reservations.get")(function* (id: string) {
    const { organizationId } = yield* Caller
    return reservationAt(yield* locked.find(organizationId, id), yield* now)
  })

  return { reserve, commit, release, get }
})
