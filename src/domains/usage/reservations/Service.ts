/**
 * Use cases of reservations (contract, section 9, "Reservations"; docs/usage.md). They are decided under the locks of
 * the totals to which they may be committed.
 */
import { BigDecimal, Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { decimalOfAmount, storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { withCapExceeded, post } from "../ledger/Account.ts"
import { ReservationNotFound, ReservationNotHeld, ReserveLimitReached } from "../Errors.ts"
import {
  decideReservation,
  commitValidationError,
  reserveValidationError,
  findFullAccount,
  periodsTouched,
  reservationAt,
  reserveRejectionText,
  stateAt,
} from "./Rules.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import type { Commit, Reserve, StoredReservation } from "./Model.ts"
import { DEFAULT_LIFETIME_SECONDS } from "./Model.ts"
import { ReservationsRepo } from "./Repo.ts"
import { UsageReports } from "../reports/Service.ts"

const notFound = (id: string) => new ReservationNotFound({ detail: noSuch("reservation", id) })

const stateText = { HELD: "is held", COMMITTED: "was committed", RELEASED: "was released", EXPIRED: "expired" } as const

const notHeld = (stored: StoredReservation, at: Date) => {
  const state = stateAt(stored, at)
  const when = state === "EXPIRED" ? ` on ${stored.expiresAt.toISOString()}` : ""
  return new ReservationNotHeld({ detail: `The reservation ${stateText[state]}${when}.` })
}

const make = Effect.gen(function* () {
  const repo = yield* ReservationsRepo
  const meters = yield* LedgerRepo
  const ledger = yield* LockedLedger
  const reports = yield* UsageReports
  const transactions = yield* Transactions

  const find = Effect.fnUntraced(function* (organizationId: string, id: string) {
    return yield* Option.match(yield* repo.find(organizationId, id), {
      onNone: () => notFound(id),
      onSome: Effect.succeed,
    })
  })

  /** Reserves a quantity, or returns why not. A rejection is a value, so that its threshold event commits. */
  const reserveLocked = Effect.fnUntraced(function* (meter: Meter, quantity: BigDecimal.BigDecimal, request: Reserve) {
    const caller = yield* Caller
    const at = yield* now
    const withoutQuantity = decideReservation(meter, zero, at)
    if (!withoutQuantity.allowed) return { rejection: reserveRejectionText(meter, withoutQuantity) }
    const expiresAt = new Date(at.getTime() + (request.expiresInSeconds ?? DEFAULT_LIFETIME_SECONDS) * 1000)
    const [current, ...later] = periodsTouched(meter, at, expiresAt)
    const uses = [at, ...later.map(({ start }) => start)].map((instant) => ({ meter, at: instant, uniqueKey: null }))
    const accounts = [...(yield* ledger.open(caller.organizationId, uses)).values()]
    const full = findFullAccount(meter, quantity, at, accounts)
    if (full !== undefined) {
      yield* ledger.close(caller, [withCapExceeded(full)])
      return { rejection: reserveRejectionText(meter, decideReservation(meter, quantity, at, full), full), full }
    }
    const row: StoredReservation = {
      id: yield* newId,
      instance: meter.instance,
      entitlement: meter.entitlement,
      quantity: BigDecimal.format(quantity),
      committedQuantity: null,
      state: "HELD",
      metadata: request.metadata ?? null,
      createdAt: at,
      createdBy: { id: caller.actor.id, name: caller.actor.name },
      expiresAt,
    }
    const periodStart = current?.start ?? at
    const key = { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart }
    yield* repo.insert(caller.organizationId, key, row)
    return { held: reservationAt(row, at) }
  })

  const reserve = Effect.fn("Reservations.reserve")(function* (
    instance: string,
    entitlement: string,
    request: Reserve,
  ) {
    const { organizationId } = yield* Caller
    const inTransaction = Effect.gen(function* () {
      const [meter] = yield* meters.keep(organizationId, [{ instance, entitlement }])
      if (meter === undefined) return yield* reports.failMissing(organizationId, instance, entitlement)
      const error = reserveValidationError(meter, request.quantity)
      if (error !== undefined) return yield* invalid(error.location, error.message, error.value)
      return yield* reserveLocked(meter, decimalOfAmount(request.quantity ?? 1), request)
    })
    const result = yield* ledger.runWithCapEvent(inTransaction, ({ full }) => full)
    return result.held ?? (yield* new ReserveLimitReached({ detail: result.rejection }))
  })

  /** Counts the reserved quantity, in the current period. */
  const commitLocked = Effect.fnUntraced(function* (
    meter: Meter,
    stored: StoredReservation,
    quantity: number | undefined,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const present = yield* now
    // The clock of the node that reserved may be ahead of this node's clock.
    const at = present < stored.createdAt ? stored.createdAt : present
    const [account] = (yield* ledger.open(organizationId, [{ meter, at, uniqueKey: null }])).values()
    if (account === undefined) return yield* Effect.die(new Error("A locked total is missing"))
    // A decision at a later instant may have granted what had expired by then to another request.
    if (stateAt(stored, account.decidedAt) !== "HELD") return yield* notHeld(stored, account.decidedAt)
    const value = quantity === undefined ? storedDecimal(stored.quantity) : decimalOfAmount(quantity)
    const committedQuantity = BigDecimal.format(value)
    const committed = { state: "COMMITTED", committedQuantity } as const
    if (!(yield* repo.end(organizationId, stored.id, { ...committed, at, actor: caller.actor }))) {
      return yield* notHeld(yield* find(organizationId, stored.id), at)
    }
    if (!BigDecimal.isZero(value)) {
      const event = {
        timestamp: at,
        behavior: "append",
        value,
        uniqueKey: null,
        metadata: stored.metadata,
        reportedBy: caller.actor,
      } as const
      yield* ledger.close(caller, [post(account, event, { isReserved: true }).account])
    }
    return reservationAt({ ...stored, ...committed }, at)
  })

  const commit = Effect.fn("Reservations.commit")(function* (id: string, { quantity }: Commit) {
    const { organizationId } = yield* Caller
    const inTransaction = Effect.gen(function* () {
      const stored = yield* find(organizationId, id)
      const present = yield* now
      if (stateAt(stored, present) !== "HELD") return yield* notHeld(stored, present)
      const [meter] = yield* meters.keep(organizationId, [stored])
      if (meter === undefined) return yield* notFound(id)
      const error = commitValidationError(meter, stored, quantity)
      if (error !== undefined) return yield* invalid(error.location, error.message, error.value)
      return yield* commitLocked(meter, stored, quantity)
    })
    return yield* transactions.run(inTransaction)
  })

  const release = Effect.fn("Reservations.release")(function* (id: string) {
    const { actor, organizationId } = yield* Caller
    const at = yield* now
    const released = { state: "RELEASED", committedQuantity: null, at, actor } as const
    // A release cannot exceed a cap, so no total has to be locked.
    if (yield* repo.endInTime(organizationId, id, released)) return
    return yield* notHeld(yield* find(organizationId, id), at)
  })

  const get = Effect.fn("Reservations.get")(function* (id: string) {
    const { organizationId } = yield* Caller
    return reservationAt(yield* find(organizationId, id), yield* now)
  })

  return { reserve, commit, release, get }
})

/** Reservations of the caller's organization. */
export class Reservations extends Context.Service<Reservations, Effect.Success<typeof make>>()(
  "keyshelf/usage/reservations/Reservations",
) {
  static readonly layer = Layer.effect(Reservations, make)
}
