/**
 * Reserves and commits under the locks of the totals concerned. Both store the reservation in the transaction of their
 * decision, so the optimistic ledger cannot decide them.
 */
import { BigDecimal, Effect, Option } from "effect"
import { Caller, mayUseInstance } from "../../../kernel/contract/Caller.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { decimalOfAmount, storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { ReservationNotFound, ReservationNotHeld } from "../Errors.ts"
import { accountIn, accountName, withCapExceeded } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import type { LockedAccounts } from "../ledger/LockedAccounts.ts"
import type { Meter } from "../ledger/Model.ts"
import { creditsText } from "../ledger/burning/MeterCredits.ts"
import { post } from "../ledger/Posting.ts"
import type { Reserve, StoredReservation } from "./Model.ts"
import { DEFAULT_LIFETIME_SECONDS } from "./Model.ts"
import { ReservationsRepo } from "./Repo.ts"
import {
  decideReservation,
  periodsTouched,
  placeReservation,
  reservationAt,
  reserveRejectionText,
  setAsideBy,
  stateAt,
  storedSetAside,
} from "./Rules.ts"

export const notFound = (id: string) => new ReservationNotFound({ detail: noSuch("reservation", id) })

const stateText = { HELD: "is held", COMMITTED: "was committed", RELEASED: "was released", EXPIRED: "expired" } as const

export const notHeld = (stored: StoredReservation, at: Date) => {
  const state = stateAt(stored, at)
  const when = state === "EXPIRED" ? ` on ${stored.expiresAt.toISOString()}` : ""
  return new ReservationNotHeld({ detail: `The reservation ${stateText[state]}${when}.` })
}

/** The reservation, if its instance exists for the caller. */
const finding = Effect.map(ReservationsRepo, (repo) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId, id: string) {
    const caller = yield* Caller
    const found = Option.filter(yield* repo.find(organizationId, id), ({ instance }) =>
      mayUseInstance(caller, instance),
    )
    return Option.isSome(found) ? found.value : yield* notFound(id)
  }),
)

/** Reserves a quantity, or returns why not. A rejection is a value, so that its threshold event commits. */
const reserving = Effect.map(ReservationsRepo, (repo) =>
  Effect.fnUntraced(function* (
    ledger: LockedAccounts,
    meter: Meter,
    quantity: BigDecimal.BigDecimal,
    request: Reserve,
  ) {
    const caller = yield* Caller
    const at = yield* now
    const withoutQuantity = decideReservation(meter, zero, at)
    const mayBeCredited = meter.hasCredits === true && withoutQuantity.reason === "NOT_GRANTED"
    if (!withoutQuantity.allowed && !mayBeCredited) {
      return { rejection: reserveRejectionText(meter, withoutQuantity) }
    }
    const expiresAt = new Date(at.getTime() + (request.expiresInSeconds ?? DEFAULT_LIFETIME_SECONDS) * 1000)
    const [current, ...later] = periodsTouched(meter, at, expiresAt)
    const uses = [at, ...later.map(({ start }) => start)].map((instant) => ({ meter, at: instant, uniqueKey: null }))
    const opened = yield* ledger.open(caller.organizationId, uses)
    const accounts = uses.map((use) => accountIn(opened, accountName(use))) as [Account, ...Array<Account>]
    const placed = placeReservation(meter, quantity, at, accounts)
    if ("full" in placed) {
      const { full } = placed
      const decision = decideReservation(meter, quantity, at, full)
      if (decision.reason === "NOT_GRANTED") return { rejection: reserveRejectionText(meter, decision) }
      yield* ledger.close(caller, [withCapExceeded(full)])
      return { rejection: reserveRejectionText(meter, decision, full, creditsText(full.credits, at)), full }
    }
    const row: StoredReservation = {
      id: yield* newId,
      instance: meter.instance,
      entitlement: meter.entitlement,
      quantity: BigDecimal.format(quantity),
      credits: storedSetAside(placed.setAside),
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
  }),
)

/** Counts the reserved quantity, in the current period. */
const committing = Effect.gen(function* () {
  const repo = yield* ReservationsRepo
  const find = yield* finding

  return Effect.fnUntraced(function* (
    ledger: LockedAccounts,
    meter: Meter,
    stored: StoredReservation,
    quantity: number | undefined,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const present = yield* now
    // The clock of the node that reserved may be ahead of this node's clock.
    const at = present < stored.createdAt ? stored.createdAt : present
    const setAside = setAsideBy(stored)
    const ids = setAside.credits.map(({ credit }) => credit)
    const [account] = (yield* ledger.open(organizationId, [{ meter, at, uniqueKey: null, setAside: ids }])).values()
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
      yield* ledger.close(caller, [post(account, event, { setAside }).account])
    }
    return reservationAt({ ...stored, ...committed }, at)
  })
})

/** The decisions on valid requests. Each must run in a transaction. */
export const makeLockedReservations = Effect.all({ find: finding, reserve: reserving, commit: committing })
