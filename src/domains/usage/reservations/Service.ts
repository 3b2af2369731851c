/**
 * Use cases of reservations (contract, section 9, "Reservations"; docs/usage.md). What is held is decided on under the
 * locks of the totals that it may be committed to, as all usage is.
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

const wasEnded = { HELD: "is held", COMMITTED: "was committed", RELEASED: "was released", EXPIRED: "expired" } as const

const notHeld = (stored: StoredReservation, at: Date) => {
  const state = stateAt(stored, at)
  const when = state === "EXPIRED" ? ` on ${stored.expiresAt.toISOString()}` : ""
  return new ReservationNotHeld({ detail: `The reservation ${wasEnded[state]}${when}.` })
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

  /** Holds a quantity, or tells what stands against it. A refusal is a value, so that its threshold event commits. */
  const hold = Effect.fnUntraced(function* (meter: Meter, quantity: BigDecimal.BigDecimal, asked: Reserve) {
    const caller = yield* Caller
    const at = yield* now
    const inGeneral = decideReservation(meter, zero, at)
    if (!inGeneral.allowed) return { refused: reserveRejectionText(meter, inGeneral) }
    const expiresAt = new Date(at.getTime() + (asked.expiresInSeconds ?? DEFAULT_LIFETIME_SECONDS) * 1000)
    const [current, ...later] = periodsTouched(meter, at, expiresAt)
    const usages = [at, ...later.map(({ start }) => start)].map((instant) => ({ meter, at: instant, uniqueKey: null }))
    const accounts = [...(yield* ledger.open(caller.organizationId, usages)).values()]
    const full = findFullAccount(meter, quantity, at, accounts)
    if (full !== undefined) {
      yield* ledger.close(caller, [withCapExceeded(full)])
      return { refused: reserveRejectionText(meter, decideReservation(meter, quantity, at, full), full), full }
    }
    const row: StoredReservation = {
      id: yield* newId,
      instance: meter.instance,
      entitlement: meter.entitlement,
      quantity: BigDecimal.format(quantity),
      committedQuantity: null,
      state: "HELD",
      metadata: asked.metadata ?? null,
      createdAt: at,
      createdBy: { id: caller.actor.id, name: caller.actor.name },
      expiresAt,
    }
    const periodStart = current?.start ?? at
    const key = { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart }
    yield* repo.insert(caller.organizationId, key, row)
    return { held: reservationAt(row, at) }
  })

  const reserve = Effect.fn("Reservations.reserve")(function* (instance: string, entitlement: string, asked: Reserve) {
    const { organizationId } = yield* Caller
    const inTransaction = Effect.gen(function* () {
      const [meter] = yield* meters.keep(organizationId, [{ instance, entitlement }])
      if (meter === undefined) return yield* reports.refuseMissing(organizationId, instance, entitlement)
      const fault = reserveValidationError(meter, asked.quantity)
      if (fault !== undefined) return yield* invalid(fault.location, fault.message, fault.value)
      return yield* hold(meter, decimalOfAmount(asked.quantity ?? 1), asked)
    })
    const answer = yield* ledger.runWithCapEvent(inTransaction, ({ full }) => full)
    return answer.held ?? (yield* new ReserveLimitReached({ detail: answer.refused }))
  })

  /** Uses what was held, in the period of this moment. */
  const use = Effect.fnUntraced(function* (meter: Meter, stored: StoredReservation, quantity: number | undefined) {
    const caller = yield* Caller
    const { organizationId } = caller
    const present = yield* now
    // The clock of the node that reserved may be ahead of this one's.
    const at = present < stored.createdAt ? stored.createdAt : present
    const [account] = (yield* ledger.open(organizationId, [{ meter, at, uniqueKey: null }])).values()
    if (account === undefined) return yield* Effect.die(new Error("A locked total is missing"))
    // Whoever decided on this total by a later instant may have given away what expired until then.
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
      const fault = commitValidationError(meter, stored, quantity)
      if (fault !== undefined) return yield* invalid(fault.location, fault.message, fault.value)
      return yield* use(meter, stored, quantity)
    })
    return yield* transactions.run(inTransaction)
  })

  const release = Effect.fn("Reservations.release")(function* (id: string) {
    const { actor, organizationId } = yield* Caller
    const at = yield* now
    const released = { state: "RELEASED", committedQuantity: null, at, actor } as const
    // What becomes free passes no cap, so no total has to be locked.
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
