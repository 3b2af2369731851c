/**
 * Random histories of what holds quantities of a period: reservations, allowances of offline bundles, and what ledgers brought. Most
 * of their instants lie at a bound of a rule, a millisecond before it, or one after it.
 */
import { Arbitrary, BigDecimal, Schema } from "effect"
import { periodAt } from "../../src/domains/usage/rules/Period.ts"
import type { Period } from "../../src/domains/usage/rules/Period.ts"
import { knownAt } from "../../src/domains/usage/check/Service.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"

/** On the 31st, so that months of the license begin on the last day of a shorter month. */
export const licenseStart = new Date("2026-01-31T07:30:00Z")

/** One entitlement for each reset period. */
export const meters = [
  { slug: "hour", resetPeriod: "HOUR", resetAnchor: "LICENSE_START" },
  { slug: "day", resetPeriod: "DAY", resetAnchor: "CALENDAR" },
  { slug: "week", resetPeriod: "WEEK", resetAnchor: "LICENSE_START" },
  { slug: "month", resetPeriod: "MONTH", resetAnchor: "LICENSE_START" },
  { slug: "year", resetPeriod: "YEAR", resetAnchor: "CALENDAR" },
  { slug: "lifetime", resetPeriod: null, resetAnchor: "CALENDAR" },
] as const
export type HeldMeter = (typeof meters)[number]

export const periodOf = ({ resetAnchor, resetPeriod }: HeldMeter, at: Date): Period =>
  periodAt({ resetPeriod, resetAnchor, licenseStart, at })

interface Reservation {
  readonly created: Date
  readonly expires: Date
  /** When it was committed or released. */
  readonly ended: Date | null
  readonly quantity: BigDecimal.BigDecimal
  /** The start of the period of a tranche, which holds nothing of another one. */
  readonly of?: Date | undefined
}

interface Allowance {
  readonly from: Date
  readonly until: Date
  /** Until when the site's usage can be uploaded. */
  readonly open: Date
  readonly ended: Date | null
  readonly quantity: BigDecimal.BigDecimal
}

interface Brought {
  readonly timestamp: Date
  readonly quantity: BigDecimal.BigDecimal
}

/** What happened to one meter, in one period and around it. */
export interface HeldFacts {
  readonly meter: HeldMeter
  readonly period: Period
  readonly reservations: ReadonlyArray<Reservation>
  readonly allowances: ReadonlyArray<Allowance>
  readonly brought: ReadonlyArray<Brought>
}

export interface HeldHistory {
  /** The instant that is asked about. */
  readonly at: Date
  /** The latest decision on the totals. */
  readonly decidedAt: Date
  /** Whether the instances have an add-on: then checks read the catalog each time, and the optimistic read reads twice. */
  readonly isExtended: boolean
  readonly facts: ReadonlyArray<HeldFacts>
}

const integer = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const aroundIt = Schema.Literals([-HOUR_MS / 2, -1, 0, 0, 1, HOUR_MS / 2])
const moment = Schema.Struct({
  bound: Schema.Literals(["at", "at", "begins", "ends", "known", "day before"]),
  off: aroundIt,
})
const meter = integer(0, meters.length - 1)
const quantity = integer(1, 9999)
const end = Schema.NullOr(moment)

const reservation = Schema.Struct({
  meter,
  quantity,
  end,
  fixed: Schema.Literals(["created", "expires"]),
  moment,
  lifetime: Schema.Literals([1, HOUR_MS, DAY_MS - 1, DAY_MS, DAY_MS]),
  tranche: Schema.Literals(["none", "none", "of the period", "of the one before", "of the next one"]),
})
const allowance = Schema.Struct({
  meter,
  quantity,
  end,
  fixed: Schema.Literals(["from", "until", "open"]),
  moment,
  life: Schema.Literals([HOUR_MS, DAY_MS, 40 * DAY_MS]),
  upload: Schema.Literals([0, HOUR_MS, 30 * DAY_MS]),
})
const brought = Schema.Struct({ meter, quantity: integer(1, 4000), moment })

const rowsOf = <S extends Schema.Constraint>(row: S, maximum: number) =>
  Schema.Array(row).check(Schema.isMaxLength(maximum))

const drawn = Schema.Struct({
  day: integer(1, 400),
  hour: integer(0, 23),
  /** The instant is at a bound of this meter's period. */
  near: meter,
  side: Schema.Literals(["start", "end", "neither"]),
  off: Schema.Literals([-1, 0, 1]),
  decided: Schema.Literals([-DAY_MS, -1, 0, 1, HOUR_MS / 2]),
  reservations: rowsOf(reservation, 24),
  allowances: rowsOf(allowance, 14),
  /** Without allowances, a check whose catalog is cached reads less. */
  isOffline: Schema.Literals([true, true, false]),
  brought: rowsOf(brought, 8),
  isExtended: Schema.Boolean,
})
type Drawn = typeof drawn.Type

const instantOf = ({ day, hour, near, off, side }: Drawn): Date => {
  const base = new Date(licenseStart.getTime() + day * DAY_MS + hour * HOUR_MS)
  const { end: last, start } = periodOf(meters[near] ?? meters[0], base)
  const bound = side === "neither" ? base : side === "start" ? start : (last ?? base)
  return new Date(Math.max(licenseStart.getTime(), bound.getTime() + off))
}

/** The periods around an instant: before it, its own, and the next one. One that never ends is alone. */
export const periodsAround = (own: HeldMeter, at: Date) => {
  const period = periodOf(own, at)
  if (period.end === null) return { before: period, period, next: period }
  return { before: periodOf(own, new Date(period.start.getTime() - 1)), period, next: periodOf(own, period.end) }
}

const decimalOf = (hundredths: number) => BigDecimal.make(BigInt(hundredths), 2)

/** An end before the beginning is none. */
const endOf = (ended: Date | null, begins: Date): Date | null => (ended !== null && ended >= begins ? ended : null)

const factsOf = (row: Drawn, at: Date, index: number): HeldFacts => {
  const own = meters[index] ?? meters[0]
  const period = periodOf(own, at)
  const bounds = {
    at,
    begins: period.start,
    ends: period.end ?? new Date(at.getTime() + HOUR_MS),
    known: knownAt(at),
    "day before": new Date(at.getTime() - DAY_MS),
  }
  const when = ({ bound, off }: typeof moment.Type, plus = 0) => new Date(bounds[bound].getTime() + off + plus)
  const around = periodsAround(own, at)
  const startsOf = {
    none: undefined,
    "of the period": period.start,
    "of the one before": around.before.start,
    "of the next one": around.next.start,
  }
  const isOwn = ({ meter: number }: { readonly meter: number }) => number === index
  return {
    meter: own,
    period,
    reservations: row.reservations.filter(isOwn).map((drawnRow) => {
      const created = when(drawnRow.moment, drawnRow.fixed === "created" ? 0 : -drawnRow.lifetime)
      return {
        created,
        expires: new Date(created.getTime() + drawnRow.lifetime),
        ended: endOf(drawnRow.end && when(drawnRow.end), created),
        quantity: decimalOf(drawnRow.quantity),
        of: startsOf[drawnRow.tranche],
      }
    }),
    allowances: row.allowances
      .filter((drawnRow) => row.isOffline && isOwn(drawnRow))
      .map((drawnRow) => {
        const { life, upload } = drawnRow
        const from = when(drawnRow.moment, { from: 0, until: -life, open: -life - upload }[drawnRow.fixed])
        const until = new Date(from.getTime() + life)
        return {
          from,
          until,
          open: new Date(until.getTime() + upload),
          ended: endOf(drawnRow.end && when(drawnRow.end), from),
          quantity: decimalOf(drawnRow.quantity),
        }
      }),
    brought: row.brought
      .filter(isOwn)
      .map((drawnRow) => ({ timestamp: when(drawnRow.moment), quantity: decimalOf(drawnRow.quantity) }))
      .filter(({ timestamp }) => timestamp >= period.start && (period.end === null || timestamp < period.end)),
  }
}

const historyOf = (row: Drawn): HeldHistory => {
  const at = instantOf(row)
  return {
    at,
    decidedAt: new Date(at.getTime() + row.decided),
    isExtended: row.isExtended,
    facts: meters.map((_, index) => factsOf(row, at, index)),
  }
}

/** Random histories. */
export const histories = Arbitrary.map(Arbitrary.schema(drawn), historyOf)

/**
 * What the database contained at an instant. What nodes stored whose clocks are an hour ahead is there already; what ended later is
 * still held.
 */
export const factsAt = (
  at: Date,
  { allowances, brought: all, meter: own, period, reservations }: HeldFacts,
): HeldFacts => {
  const ahead = new Date(at.getTime() + HOUR_MS)
  const endedBy = (ended: Date | null) => (ended !== null && ended <= at ? ended : null)
  return {
    meter: own,
    period,
    reservations: reservations
      .filter(({ created }) => created <= ahead)
      .map((row) => ({ ...row, ended: endedBy(row.ended) })),
    allowances: allowances.filter(({ from }) => from <= ahead).map((row) => ({ ...row, ended: endedBy(row.ended) })),
    brought: all.filter(({ timestamp }) => timestamp <= at),
  }
}

/** What a reader is asked for. Without `ends` or `known`, it has no such bound. */
export interface Asked {
  readonly begins: Date
  readonly ends?: Date | null
  readonly at: Date
  readonly known?: Date
}

const zero = BigDecimal.fromNumberUnsafe(0)

const usedIn = (all: ReadonlyArray<Brought>, at: Date, begins: Date): BigDecimal.BigDecimal =>
  all
    .filter(({ timestamp }) => timestamp <= at && timestamp >= begins)
    .reduce((sum, row) => BigDecimal.sum(sum, row.quantity), zero)

/** What is used: all of it was brought. */
export const expectedUsed = ({ brought: all }: Pick<HeldFacts, "brought">, { at, begins }: Asked): string =>
  textOf(usedIn(all, at, begins))

/** What is held, said once more: the readers have to agree with it. */
export const expectedHeld = (
  { allowances, brought: all, reservations }: Omit<HeldFacts, "meter" | "period">,
  { at, begins, ends = null, known }: Asked,
): string => {
  const isKnown = (from: Date) => (known === undefined || from <= known) && (ends === null || from < ends)
  const isHeld = (ended: Date | null, until: Date) => until > at && until > begins && (ended === null || ended > at)
  const reserved = reservations
    .filter(({ created, ended, expires }) => isKnown(created) && isHeld(ended, expires))
    .filter(({ of }) => of === undefined || of.getTime() === begins.getTime())
    .reduce((sum, row) => BigDecimal.sum(sum, row.quantity), zero)
  const allowed = allowances
    .filter(({ ended, from, open, until }) => isKnown(from) && isHeld(ended, open) && until > begins)
    .reduce((greatest, row) => BigDecimal.max(greatest, row.quantity), zero)
  const uploaded = usedIn(all, at, begins)
  return textOf(BigDecimal.sum(reserved, BigDecimal.max(zero, BigDecimal.subtract(allowed, uploaded))))
}

/** The most that is held of any period, without what was brought. */
export const expectedMost = (facts: HeldFacts, at: Date): string => {
  const ofAll = { ...facts, brought: [], reservations: facts.reservations.filter(({ of }) => of === undefined) }
  const { before, next, period } = periodsAround(facts.meter, facts.period.start)
  const tranches = [before, period, next].map(({ start }) =>
    facts.reservations
      .filter(
        ({ ended, expires, of }) => of?.getTime() === start.getTime() && expires > at && (ended === null || ended > at),
      )
      .reduce((sum, row) => BigDecimal.sum(sum, row.quantity), zero),
  )
  const others = BigDecimal.fromStringUnsafe(expectedHeld(ofAll, { begins: new Date(0), at }))
  return textOf(
    BigDecimal.sum(
      others,
      tranches.reduce((most, one) => BigDecimal.max(most, one), zero),
    ),
  )
}

export const textOf = (decimal: BigDecimal.BigDecimal): string => BigDecimal.format(BigDecimal.normalize(decimal))
