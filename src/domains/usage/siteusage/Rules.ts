/** Which usage of a site counts, how it is posted, and what exceeds allowances. Pure. */
import { BigDecimal, Predicate } from "effect"
import { amountOf, storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import type { Allowance } from "../allowances/Model.ts"
import { invalidEvent } from "../cloudevents/Model.ts"
import { checkMetered, parseEvent, unknownEntitlement } from "../cloudevents/Rules.ts"
import type { CountableEvent, ParsedEvent, RejectedEvent } from "../cloudevents/Rules.ts"
import { isConsumable, limitFor, meterPeriodAt, methodOf, netOf, withCapExceeded } from "../ledger/Account.ts"
import type { Account, ReportedEvent, TotalKey } from "../ledger/Account.ts"
import { post } from "../ledger/Posting.ts"
import type { PostOptions } from "../ledger/Posting.ts"
import type { Meter } from "../ledger/Model.ts"
import { rejectionReason } from "../rules/Limits.ts"
import type { Period } from "../rules/Period.ts"
import type { OfflineUse, OverAllowance, UsageWindow } from "./Model.ts"

/** Whether an event is valid: nothing has rejected it. */
export const isValid = <Event extends ParsedEvent | CountableEvent>(event: Event | RejectedEvent): event is Event =>
  !("outcome" in event)

/** Parses what a site wrote down. Unlike a reported event, it must have a time. */
export const parseUse = (event: object, instance: string, now: Date): ParsedEvent | RejectedEvent => {
  const parsed = parseEvent(event, now)
  if ("outcome" in parsed) return parsed
  if (!Predicate.hasProperty(event, "time") || event.time === null) {
    return { id: parsed.id, outcome: invalidEvent("`time` is missing or invalid.") }
  }
  return parsed.instance === instance
    ? parsed
    : { id: parsed.id, outcome: invalidEvent(`\`subject\` must be "${instance}".`) }
}

const windowError = (
  at: Date,
  { from, name = "within the life of the bundle", until }: UsageWindow,
): string | undefined =>
  isBefore(at, from) || !isBefore(at, until)
    ? `must be ${name}: from ${from.toISOString()} on, before ${until.toISOString()}`
    : undefined

/** Validates a use for its meter. */
export const checkUse = (
  event: ParsedEvent,
  meter: Meter | undefined,
  window: OfflineUse["window"],
): CountableEvent | RejectedEvent =>
  meter === undefined
    ? { id: event.id, outcome: unknownEntitlement(event) }
    : checkMetered(event, meter, windowError(event.timestamp, window))

/**
 * Posts usage that has happened: neither the cap nor a missing grant rejects it. Its poster `holds` a part of the limit for it, and
 * credits pay what is above that. An account above its cap is marked, so that the event of the cap is emitted.
 */
export const postPastCap = (
  account: Account,
  event: ReportedEvent,
  options: PostOptions,
  holds: BigDecimal.BigDecimal,
): ReturnType<typeof post> => {
  const posted = post(account, event, { ...options, setAside: { held: holds, credits: [] } })
  if (posted.rejection !== undefined) return posted
  const limit = limitFor(account.meter)
  const exceeds = rejectionReason(limit, netOf(account), netOf(posted.account), zero) === "cap"
  return exceeds ? { account: withCapExceeded(posted.account) } : posted
}

/** Whether one of the events is a correction, which lowers what was counted. */
export const hasCorrection = (events: ReadonlyArray<CountableEvent>): boolean =>
  events.some(({ meter, value }) => methodOf(meter) === "SUM" && BigDecimal.isNegative(value))

/** By how much a ledger raised a total. */
export interface Growth extends TotalKey {
  readonly quantity: string
}

/** By how much accounts have grown. Only what can be reserved is compared with allowances. */
export const growthsOf = (accounts: ReadonlyArray<Account>): ReadonlyArray<Growth> =>
  accounts.flatMap(({ meter, period, stored, total }) => {
    const { entitlementId, instanceId } = meter
    const quantity = BigDecimal.subtract(total.value, stored.total.value)
    return isConsumable(meter) && !BigDecimal.isZero(quantity)
      ? [{ instanceId, entitlementId, periodStart: period.start, quantity: BigDecimal.format(quantity) }]
      : []
  })

/** A period of a meter. */
export interface MeterPeriod {
  readonly meter: Meter
  readonly period: Period
}

/** The different periods of uses, by the slugs of their entitlements. */
export const periodsOf = (
  meters: ReadonlyMap<string, Meter>,
  uses: ReadonlyArray<ParsedEvent>,
): ReadonlyArray<MeterPeriod> => {
  const periods = new Map<string, MeterPeriod>()
  for (const { entitlement, timestamp } of uses) {
    const meter = meters.get(entitlement)
    if (meter === undefined) continue
    const period = meterPeriodAt(meter, timestamp)
    periods.set(`${entitlement} ${period.start.getTime()}`, { meter, period })
  }
  return [...periods.values()]
}

/** The greatest allowance of a period, of all that touch it; `undefined` if none does. */
const greatestAllowance = ({ meter, period }: MeterPeriod, allowances: ReadonlyArray<Allowance>) =>
  allowances
    .filter(
      ({ entitlement, validFrom, validUntil }) =>
        entitlement === meter.entitlement &&
        isBefore(period.start, validUntil) &&
        (period.end === null || isBefore(validFrom, period.end)),
    )
    .map(({ quantity }) => storedDecimal(quantity))
    .reduce<BigDecimal.BigDecimal | undefined>(
      (greatest, quantity) => (greatest === undefined ? quantity : BigDecimal.max(greatest, quantity)),
      undefined,
    )

/** What ledgers brought above the greatest allowance of each period. Periods without allowance have no entry. */
export const overAllowances = (
  periods: ReadonlyArray<MeterPeriod>,
  allowances: ReadonlyArray<Allowance>,
  broughtIn: (period: MeterPeriod) => string | undefined,
): ReadonlyArray<OverAllowance> =>
  periods.flatMap((each) => {
    const allowed = greatestAllowance(each, allowances)
    if (allowed === undefined) return []
    const over = BigDecimal.subtract(storedDecimal(broughtIn(each) ?? "0"), allowed)
    return BigDecimal.isGreaterThan(over, zero)
      ? [{ entitlement: each.meter.entitlement, periodStart: each.period.start, quantity: amountOf(over) }]
      : []
  })
