/** A ledger of one entitlement in memory, which plays a history of credits by the rules of the service under its own clock. */
import { BigDecimal, Option } from "effect"
import { isUnlimited } from "../../src/domains/usage/rules/Cap.ts"
import {
  creditsAt,
  creditState,
  figuresWith,
  leftOf,
  limitWith,
  pay,
  payCommitted,
  remainingOf,
  returned,
} from "../../src/domains/usage/rules/Burn.ts"
import type { Credit, Payment, Standing } from "../../src/domains/usage/rules/Burn.ts"
import type { Limit } from "../../src/domains/usage/rules/Cap.ts"
import { contains, periodAt } from "../../src/domains/usage/rules/Period.ts"
import { decimalText } from "../../src/kernel/values/Decimal.ts"
import type { ResetAnchor, ResetPeriod } from "../../src/domains/entitlements/Model.ts"

const zero = BigDecimal.fromNumberUnsafe(0)
const decimal = (text: string) => Option.getOrThrow(BigDecimal.fromString(text))
const total = (amounts: ReadonlyArray<BigDecimal.BigDecimal>) => BigDecimal.sumAll(amounts)

interface GrantTerms {
  readonly value: string
  readonly overagePercent: number
}

interface Meter {
  readonly aggregationMethod: string
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor
  readonly licenseStart: Date
}

/** What a credit paid of an event, or with a negative quantity what returned to it. */
interface Entry extends Payment {
  readonly at: Date
  readonly event: string
  /** What it returns, if it does. */
  readonly of?: Entry
}

interface UsageEvent {
  readonly id: string
  readonly at: Date
  readonly value: BigDecimal.BigDecimal
}

interface Reservation {
  readonly id: string
  readonly quantity: BigDecimal.BigDecimal
  readonly setAside: ReadonlyArray<Payment>
  readonly created: Date
  readonly expires: Date
  ended: Date | null
}

type StoredCredit = Omit<Credit, "used" | "reserved">

/** An instant of which something is asked; of the past, only what had a timestamp up to it counts. */
interface AsOf {
  readonly at: Date
  readonly isPast: boolean
}

const texts = (payments: ReadonlyArray<Payment>): Readonly<Record<string, string>> =>
  Object.fromEntries(payments.map(({ credit, quantity }) => [credit, decimalText(quantity)]))

export class SellingLedger {
  #credits: Array<StoredCredit> = []
  #grants: Array<{ readonly from: Date; readonly grant: GrantTerms | null }>
  #events: Array<UsageEvent> = []
  #entries: Array<Entry> = []
  #reservations: Array<Reservation> = []
  readonly #meter: Meter

  constructor(meter: Meter, grant: GrantTerms | null) {
    this.#meter = meter
    this.#grants = [{ from: new Date(0), grant }]
  }

  addCredit(credit: Omit<StoredCredit, "amount" | "voidedAt"> & { readonly amount: string }) {
    this.#credits.push({ ...credit, amount: decimal(credit.amount), voidedAt: null })
    return {}
  }

  voidCredit(id: string, now: Date) {
    this.#credits = this.#credits.map((credit) => (credit.id === id ? { ...credit, voidedAt: now } : credit))
    return {}
  }

  setGrant(grant: GrantTerms | null, now: Date) {
    this.#grants.push({ from: now, grant })
    return {}
  }

  use(id: string, sent: string, timestamp: Date, now: Date) {
    const value = this.#meter.aggregationMethod === "COUNT" ? decimal("1") : decimal(sent)
    if (BigDecimal.isNegative(value)) return this.#correct({ id, at: timestamp, value }, now)
    const { payments, reason } = pay(
      this.#standing(timestamp, { at: now, isPast: false }),
      value,
      creditsAt(this.#creditsFrom(timestamp, now), timestamp),
    )
    if (reason === "LIMIT_REACHED" || reason === "NOT_GRANTED") return { status: 409 }
    this.#store({ id, at: timestamp, value }, payments)
    return { status: 200, burned: texts(payments) }
  }

  voidUse(id: string) {
    const own = this.#entries.filter(({ event, quantity }) => event === id && !BigDecimal.isNegative(quantity))
    const back = own.map((entry) => ({ credit: entry.credit, quantity: this.#outstanding(entry) }))
    this.#entries = this.#entries.filter(
      (entry) => !own.includes(entry) && (entry.of === undefined || !own.includes(entry.of)),
    )
    this.#events = this.#events.filter((event) => event.id !== id)
    return { returned: texts(back.filter(({ quantity }) => !BigDecimal.isZero(quantity))) }
  }

  check(requested: string, at: Date, now: Date) {
    const asOf = { at, isPast: at < now }
    const standing = this.#standing(at, asOf)
    const active = creditsAt(this.#creditsAsOf(asOf), at)
    const { reason } = pay(standing, decimal(requested), active)
    const limit = limitWith(standing.limit, active)
    const allowed = reason !== "LIMIT_REACHED" && reason !== "NOT_GRANTED"
    const usage = decimalText(standing.usage)
    const credits = active.length === 0 ? {} : { credits: decimalText(leftOf(active)) }
    if (limit === null) return { allowed, reason, limit: null, usage, remaining: null, overage: null }
    if (isUnlimited(limit.value))
      return { allowed, reason, limit: "-1", usage, remaining: "-1", overage: "0", ...credits }
    const { overage, remaining } = figuresWith(limit, standing, active)
    return {
      allowed,
      reason,
      limit: decimalText(limit.value),
      usage,
      remaining: decimalText(remaining),
      overage: decimalText(overage),
      ...credits,
    }
  }

  reserve(id: string, quantity: string, seconds: number, now: Date) {
    const asOf = { at: now, isPast: false }
    const amount = decimal(quantity)
    const { payments, reason } = pay(this.#standing(now, asOf), amount, creditsAt(this.#creditsAsOf(asOf), now))
    if (reason === "LIMIT_REACHED" || reason === "NOT_GRANTED") return { status: 409 }
    const expires = new Date(now.getTime() + seconds * 1000)
    this.#reservations.push({ id, quantity: amount, setAside: payments, created: now, expires, ended: null })
    return { status: 201, setAside: texts(payments) }
  }

  commit(id: string, quantity: string | undefined, now: Date) {
    const reservation = this.#end(id, now)
    if (reservation === undefined) return { status: 409 }
    const asOf = { at: now, isPast: false }
    const value = quantity === undefined ? reservation.quantity : decimal(quantity)
    const active = creditsAt(this.#creditsAsOf(asOf), now)
    const payments = payCommitted(this.#standing(now, asOf), value, reservation.setAside, active)
    this.#store({ id, at: now, value }, payments)
    return { status: 200, burned: texts(payments) }
  }

  release(id: string, now: Date) {
    return { status: this.#end(id, now) === undefined ? 409 : 204 }
  }

  /** What credits had paid by an instant, by what is known now. */
  usedAt(at: Date, now: Date): Readonly<Record<string, Pick<Credit, "amount" | "used">>> {
    return Object.fromEntries(this.#creditsAsOf({ at, isPast: at < now }).map((credit) => [credit.id, credit]))
  }

  creditsAt(now: Date) {
    return Object.fromEntries(
      this.#creditsAsOf({ at: now, isPast: false }).map((credit) => [
        credit.id,
        {
          used: decimalText(credit.used),
          remaining: decimalText(remainingOf(credit, now)),
          state: creditState(credit, now),
        },
      ]),
    )
  }

  /** Ends a reservation that is held. What it held and has set aside is free from now on. */
  #end(id: string, now: Date): Reservation | undefined {
    const found = this.#heldAt({ at: now, isPast: false }).find((reservation) => reservation.id === id)
    if (found !== undefined) found.ended = now
    return found
  }

  #correct(event: UsageEvent, now: Date) {
    const standing = this.#standing(event.at, { at: now, isPast: false })
    if (BigDecimal.isNegative(BigDecimal.sum(standing.usage, event.value))) return { status: 422 }
    const paid = this.#entries.filter(
      ({ at, quantity }) => !BigDecimal.isNegative(quantity) && at <= event.at && this.#isOfPeriod(event.at, at),
    )
    const outstanding = paid.map((entry) => ({ credit: entry.credit, quantity: this.#outstanding(entry) }))
    const back = returned(standing, BigDecimal.negate(event.value), outstanding).map(({ position, quantity }) => ({
      quantity,
      of: paid[position] as Entry,
    }))
    this.#events.push(event)
    for (const { of, quantity } of back) {
      this.#entries.push({
        credit: of.credit,
        quantity: BigDecimal.negate(quantity),
        at: event.at,
        event: event.id,
        of,
      })
    }
    const byCredit = Map.groupBy(back, ({ of }) => of.credit)
    return {
      status: 200,
      returned: texts(
        Array.from(byCredit, ([credit, own]) => ({ credit, quantity: total(own.map(({ quantity }) => quantity)) })),
      ),
    }
  }

  #store(event: UsageEvent, payments: ReadonlyArray<Payment>): void {
    this.#events.push(event)
    for (const payment of payments) this.#entries.push({ ...payment, at: event.at, event: event.id })
  }

  #outstanding(entry: Entry): BigDecimal.BigDecimal {
    const back = this.#entries.filter(({ of }) => of === entry).map(({ quantity }) => quantity)
    return total([entry.quantity, ...back])
  }

  #heldAt({ at }: AsOf): ReadonlyArray<Reservation> {
    return this.#reservations.filter(
      ({ created, ended, expires }) => created <= at && at < expires && (ended === null || ended > at),
    )
  }

  #creditsAsOf(asOf: AsOf): ReadonlyArray<Credit> {
    const { at, isPast } = asOf
    const held = this.#heldAt(asOf).flatMap(({ setAside }) => setAside)
    return this.#credits.map((credit) => ({
      ...credit,
      voidedAt: credit.voidedAt !== null && credit.voidedAt > at ? null : credit.voidedAt,
      used: total(
        this.#entries
          .filter((entry) => entry.credit === credit.id && (!isPast || entry.at <= at))
          .map(({ quantity }) => quantity),
      ),
      reserved: total(held.filter((payment) => payment.credit === credit.id).map(({ quantity }) => quantity)),
    }))
  }

  /** Late usage must leave room for what was used from its time on, also for what a later correction has returned. */
  #creditsFrom(timestamp: Date, now: Date): ReadonlyArray<Credit> {
    const usedUntil = (id: string, at: Date) => this.usedAt(at, now)[id]?.used ?? zero
    return this.#creditsAsOf({ at: now, isPast: false }).map((credit) => {
      const later = this.#entries.filter((entry) => entry.credit === credit.id && entry.at > timestamp)
      const used = [timestamp, ...later.map(({ at }) => at)].map((at) => usedUntil(credit.id, at))
      return { ...credit, used: used.reduce((most, one) => BigDecimal.max(most, one), credit.used) }
    })
  }

  #isOfPeriod(one: Date, other: Date): boolean {
    return contains(periodAt({ ...this.#meter, at: one }), other)
  }

  /** The standing in the period of an instant. */
  #standing(instant: Date, asOf: AsOf): Standing {
    const counts = ({ at }: { readonly at: Date }) => this.#isOfPeriod(instant, at) && (!asOf.isPast || at <= asOf.at)
    const { grant } = this.#grants.findLast(({ from }) => from <= asOf.at) ?? { grant: null }
    const limit: Limit | null = grant && { value: decimal(grant.value), overagePercent: grant.overagePercent }
    return {
      limit,
      usage: total([zero, ...this.#events.filter(counts).map(({ value }) => value)]),
      burned: total(this.#entries.filter(counts).map(({ quantity }) => quantity)),
      held: total(
        this.#heldAt(asOf).map(({ quantity, setAside }) =>
          BigDecimal.subtract(quantity, total(setAside.map((payment) => payment.quantity))),
        ),
      ),
    }
  }
}
