/** What a refill asks for: validated, and in the period that it names. Pure. */
import { BigDecimal } from "effect"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { decimalOrZero, isStorable, isWhole } from "../../../kernel/values/Decimal.ts"
import { isBefore, isSameInstant } from "../../../kernel/values/Timestamp.ts"
import { meterErrorOf, meterPeriodAt, methodOf } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import type { Period } from "../rules/Period.ts"
import type { TrancheRequest } from "./Model.ts"

/** The next period can be asked for so long before it begins. Products refill half a minute before. */
const NEXT_PERIOD_MS = 60_000

/** A period can be asked for so long after its end: a refill is in flight for a while, and clocks of products are some seconds behind. */
const ENDED_PERIOD_MS = 10_000

const AMOUNTS = ["keep", "need", "want"] as const

/** A valid request. */
export interface AskedTranche extends Readonly<Record<(typeof AMOUNTS)[number], BigDecimal.BigDecimal>> {
  readonly meter: Meter
  readonly period: Period
  /** The instant at which it is decided: now, the start of the next period, or the last instant of the one that has ended. */
  readonly at: Date
}

const after = (instant: Date, millis: number): Date => new Date(instant.getTime() + millis)

/** The period that a request names, and when it is decided; `undefined` if it can not be asked for now. */
const periodAsked = (
  meter: Meter,
  periodStart: Date | undefined,
  at: Date,
): Pick<AskedTranche, "period" | "at"> | undefined => {
  const present = meterPeriodAt(meter, at)
  if (periodStart === undefined || isSameInstant(periodStart, present.start)) return { period: present, at }
  const period = meterPeriodAt(meter, periodStart)
  const { end, start } = period
  if (!isSameInstant(start, periodStart)) return undefined
  const isNext = present.end !== null && isSameInstant(start, present.end)
  if (isNext && !isBefore(after(at, NEXT_PERIOD_MS), start)) return { period, at: start }
  const hasEnded = end !== null && isSameInstant(end, present.start)
  return hasEnded && !isBefore(after(end, ENDED_PERIOD_MS), at) ? { period, at: after(end, -1) } : undefined
}

const amountErrors = (request: TrancheRequest, meter: Meter, place: string): ReadonlyArray<ValidationError> =>
  AMOUNTS.flatMap((name) => {
    const amount = decimalOrZero(request[name])
    const at = { location: `${place}.${name}`, value: request[name] }
    if (!isStorable(amount)) return [{ ...at, message: "must have at most 18 digits" }]
    return methodOf(meter) === "COUNT" && !isWhole(amount)
      ? [{ ...at, message: "must be whole, because a COUNT counts single events" }]
      : []
  })

/** Validates requests. Returns those that are valid, with the period that each names, or what is wrong with the others. */
export const askedTranches = (
  requests: ReadonlyArray<TrancheRequest>,
  meterOf: (entitlement: string) => Meter | undefined,
  at: Date,
): { readonly asked: ReadonlyArray<AskedTranche>; readonly errors: ReadonlyArray<ValidationError> } => {
  const asked = new Map<string, AskedTranche>()
  const errors: Array<ValidationError> = []
  for (const [index, request] of requests.entries()) {
    const { entitlement, keep, need, periodStart, want } = request
    const place = `body.tranches[${index}]`
    const meter = meterOf(entitlement)
    const error = meterErrorOf(meter)
    if (meter === undefined || error !== undefined) {
      errors.push({ location: `${place}.entitlement`, message: error ?? "", value: entitlement })
      continue
    }
    const wrong = amountErrors(request, meter, place)
    const named = periodAsked(meter, periodStart, at)
    errors.push(...wrong)
    if (named === undefined) {
      const message =
        "must be the start of the present period, of the next one from 60 seconds before it, or of the last one until 10 seconds after it"
      errors.push({ location: `${place}.periodStart`, message, value: periodStart })
      continue
    }
    const name = `${entitlement} ${named.period.start.getTime()}`
    if (asked.has(name)) {
      errors.push({ location: place, message: "must be another tranche than those before", value: entitlement })
    } else if (wrong.length === 0) {
      const amounts = { keep: decimalOrZero(keep), need: decimalOrZero(need), want: decimalOrZero(want) }
      asked.set(name, { meter, ...named, ...amounts })
    }
  }
  return { asked: Array.from(asked.values()), errors }
}
