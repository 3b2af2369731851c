/**
 * The account of one meter and period: events are posted to it, then it is stored. Pure; `Posting.ts` posts, `LockedLedger` and
 * `OptimisticLedger` open and store accounts.
 */
import { BigDecimal, Schema } from "effect"
import { amountOf } from "../../../kernel/values/Decimal.ts"
import type { AggregationMethod } from "../../entitlements/Model.ts"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { Total, UsageEvent } from "../rules/Aggregation.ts"
import { isUnlimited } from "../rules/Cap.ts"
import type { Limit } from "../rules/Cap.ts"
import { limitOf, newlyCrossed } from "../rules/Limits.ts"
import type { Crossings } from "../rules/Limits.ts"
import { noCredits } from "./burning/MeterCredits.ts"
import type { MeterCredits, PaidUse } from "./burning/MeterCredits.ts"
import type { Meter, UsageEntry, UsageValue } from "./Model.ts"
import { contains } from "../rules/Period.ts"
import type { Period } from "../rules/Period.ts"
import { periodOf } from "../rules/Terms.ts"

/** An event as it arrives, with what is stored along with it. */
export interface ReportedEvent extends UsageEvent {
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly reportedBy: ActorReference
  /** The transaction id of a report, or the id of a CloudEvent. */
  readonly transactionId?: string | undefined
  /** The source of a CloudEvent. */
  readonly source?: string
}

/** An event that was counted, with its position in the order of arrival. */
interface PostedEvent extends ReportedEvent {
  readonly ordinal: number
}

/** Names one total. */
export const TotalKey = Schema.Struct({
  instanceId: Schema.String,
  entitlementId: Schema.String,
  periodStart: Schema.Date,
})
export type TotalKey = typeof TotalKey.Type

export interface Account {
  readonly meter: Meter
  readonly period: Period
  /** What reservations, tranches and allowances hold of the period. */
  readonly held: BigDecimal.BigDecimal
  /** What allowances hold of that. */
  readonly allowed: BigDecimal.BigDecimal
  /** The latest instant of a decision on this account. No later decision uses an earlier instant. */
  readonly decidedAt: Date
  /** What credits have paid of the usage. */
  readonly burned: BigDecimal.BigDecimal
  /** The credits of the meter. Its accounts share them: see {@link setAccount}. */
  readonly credits: MeterCredits
  /** What credits have paid of the period and was not returned; absent if it was not read. */
  readonly paid?: ReadonlyArray<PaidUse>
  /** A decision depended on what was not read. It has to be made again, under locks. */
  readonly isUnsure?: boolean
  /** As it was read, with the location and the version of the row. */
  readonly stored: {
    readonly total: Total
    readonly burned: BigDecimal.BigDecimal
    readonly crossings: Crossings
    readonly location: string
    readonly version: string
  }
  readonly total: Total
  readonly crossings: Crossings
  readonly events: ReadonlyArray<PostedEvent>
  /** The unique keys of the request that the period has counted, and those that this request adds. */
  readonly knownKeys: ReadonlySet<string>
  readonly newKeys: ReadonlySet<string>
}

/** Usage of a meter at an instant, before it is posted. */
export interface MeterUse {
  readonly meter: Meter
  readonly at: Date
  /** What a `UNIQUE_COUNT` counts once. */
  readonly uniqueKey: string | null
  /** Whether it may take away from what is counted, so that credits may get something back. */
  readonly mayReturn?: boolean
  /** The ids of credits that are set aside for it. */
  readonly setAside?: ReadonlyArray<string>
}

/** The use of an event, before it is posted. */
export const useOf = (
  meter: Meter,
  { behavior = "append", timestamp, uniqueKey, value }: Omit<UsageEvent, "behavior"> & Partial<UsageEvent>,
): MeterUse => ({
  meter,
  at: timestamp,
  uniqueKey,
  mayReturn: behavior === "set" || BigDecimal.isNegative(value),
})

/** The key of a meter, by the slugs of its instance and entitlement. */
export const meterName = ({ entitlement, instance }: Pick<Meter, "entitlement" | "instance">): string =>
  JSON.stringify([instance, entitlement])

// A batch has hundreds of instants of the same few meters, and nearly all are in one period.
const lastPeriods = new WeakMap<Meter, { readonly period: Period; readonly name: string }>()

/** Computes the period of an instant. A meter that is not a `NUMBER` has one that never ends. */
export const meterPeriodAt = (meter: Meter, at: Date): Period =>
  periodOf(meter, meter, at) ?? { start: meter.startLicenseDate, end: null }

const lastPeriod = (meter: Meter, at: Date) => {
  const last = lastPeriods.get(meter)
  if (last !== undefined && contains(last.period, at)) return last
  const period = meterPeriodAt(meter, at)
  const key = { instanceId: meter.instanceId, entitlementId: meter.entitlementId, periodStart: period.start }
  const next = { period, name: totalNameOf(key) }
  lastPeriods.set(meter, next)
  return next
}

/** {@link meterPeriodAt}, from a cache. */
export const periodFor = (meter: Meter, at: Date): Period => lastPeriod(meter, at).period

// A batch reports many times for the same few meters, and every response contains the limit.
const limits = new WeakMap<Meter, Limit | null>()

/** The limit of a meter; `null` if no number is granted. */
export const limitFor = (meter: Meter): Limit | null => {
  const cached = limits.get(meter)
  if (cached !== undefined) return cached
  const limit = limitOf(meter.grant)
  limits.set(meter, limit)
  return limit
}

/** The key of a meter's total in the period of an instant. */
export const totalKeyOf = ({ meter, at }: { readonly meter: Meter; readonly at: Date }): TotalKey => ({
  instanceId: meter.instanceId,
  entitlementId: meter.entitlementId,
  periodStart: periodFor(meter, at).start,
})

/** A total's key as text. */
export const totalNameOf = ({ instanceId, entitlementId, periodStart }: TotalKey): string =>
  `${instanceId} ${entitlementId} ${periodStart.getTime()}`

/** The name of the account to which usage of a meter at an instant is posted. */
export const accountName = ({ at, meter }: { readonly meter: Meter; readonly at: Date }): string =>
  lastPeriod(meter, at).name

/** Accounts by {@link accountName}. */
export type Accounts = ReadonlyMap<string, Account>

/** The account of this name, which must have been opened. */
export const accountIn = (accounts: Accounts, name: string): Account => {
  const account = accounts.get(name)
  if (account === undefined) throw new Error("A total is missing")
  return account
}

export const methodOf = ({ aggregationMethod }: Meter): AggregationMethod => aggregationMethod ?? "SUM"

/** What is read beside a total, where it is needed. */
interface OpenedWith {
  readonly credits?: MeterCredits | undefined
  /** What credits have paid of the period. */
  readonly paid?: ReadonlyArray<PaidUse> | undefined
  /** The unique keys of the request that the period has counted. */
  readonly knownKeys?: ReadonlyArray<string> | undefined
}

/** The account of a stored total, before anything is posted to it. */
export const accountOf = (
  meter: Meter,
  period: Period,
  row: Pick<Account, "held" | "allowed" | "decidedAt"> & Account["stored"],
  { credits = noCredits, knownKeys, paid }: OpenedWith = {},
): Account => ({
  meter,
  period,
  held: row.held,
  allowed: row.allowed,
  decidedAt: row.decidedAt,
  stored: row,
  total: row.total,
  burned: row.burned,
  credits,
  ...(paid === undefined ? {} : { paid }),
  crossings: row.crossings,
  events: [],
  knownKeys: new Set(knownKeys),
  newKeys: new Set(),
})

/** The usage that credits have not paid. */
export const netOf = ({ burned, total }: Pick<Account, "burned" | "total">): BigDecimal.BigDecimal =>
  BigDecimal.subtract(total.value, burned)

/** Puts an account among others. Those of its meter get the credits that it leaves. */
export const setAccount = (accounts: Map<string, Account>, name: string, account: Account): void => {
  const isBurned = accounts.get(name)?.credits !== account.credits
  accounts.set(name, account)
  if (!isBurned || account.credits === noCredits) return
  const { entitlementId, instanceId } = account.meter
  for (const [other, { meter, ...own }] of accounts) {
    if (meter.instanceId !== instanceId || meter.entitlementId !== entitlementId) continue
    if (own.credits !== account.credits) accounts.set(other, { ...own, meter, credits: account.credits })
  }
}

/** Whether the account can only be stored under locks: it emits an event, or changes credits. */
export const needsLocks = ({ credits, crossings, isUnsure = false, stored }: Account): boolean =>
  isUnsure || credits.uses.length > 0 || newlyCrossed(stored.crossings, crossings).length > 0

/** Whether the account has changes to store. */
export const isChanged = ({ crossings, events, stored, total }: Account): boolean =>
  events.length > 0 || total !== stored.total || newlyCrossed(stored.crossings, crossings).length > 0

/** The account after usage was rejected because of its cap. */
export const withCapExceeded = (account: Account): Account => ({
  ...account,
  crossings: { ...account.crossings, capExceeded: true },
})

/** Whether its usage is how many hold a lease, so that nothing is reported, consumed or reserved. */
export const isConcurrent = ({ aggregationMethod }: Pick<Meter, "aggregationMethod">): boolean =>
  aggregationMethod === "CONCURRENT"

/** Whether an amount of it can be consumed or reserved. */
export const isConsumable = (meter: Meter): boolean => {
  const method = methodOf(meter)
  return method === "SUM" || method === "COUNT"
}

/** Why nothing is set aside of a meter; `undefined` is an entitlement that the organization does not have. */
export const meterErrorOf = (meter: Meter | undefined): string | undefined => {
  if (meter === undefined) return "must be an entitlement of the organization"
  if (meter.type !== "NUMBER") return `must have the type NUMBER; its type is ${meter.type}`
  return isConsumable(meter) ? undefined : `cannot be reserved, because its aggregation is ${methodOf(meter)}`
}

const truth = (type: "boolean" | "config", granted: boolean): UsageValue => ({
  type,
  value: granted ? 1 : 0,
  event_count: 0,
})

const amountGranted = (meter: Meter): UsageValue => {
  const limit = limitFor(meter)
  if (limit !== null && isUnlimited(limit.value)) return { type: "unlimited", value: -1, event_count: 0 }
  return { type: "number", value: limit === null ? 0 : amountOf(limit.value), event_count: 0 }
}

const licenseValue = (meter: Meter): UsageValue => {
  switch (meter.type) {
    case "NUMBER":
      return amountGranted(meter)
    case "BOOLEAN":
      return truth("boolean", meter.grant?.value === true)
    case "CONFIG":
      return truth("config", meter.grant !== null)
  }
}

const usageValue = ({ type }: Meter, { value, eventCount, voidedCount = 0 }: Total): UsageValue => {
  if (type !== "NUMBER") return truth(type === "BOOLEAN" ? "boolean" : "config", false)
  return { type: "number", value: amountOf(value), event_count: eventCount - voidedCount }
}

/** The usage entry of a meter in a period. */
export const entryOf = (meter: Meter, period: Period, total: Total): UsageEntry => ({
  currentPeriodStart: period.start,
  currentPeriodEnd: period.end,
  entitlementId: meter.entitlementId,
  entitlementName: meter.entitlementName,
  entitlementSlug: meter.entitlement,
  entitlementType: meter.type,
  licenseValue: licenseValue(meter),
  usageValue: usageValue(meter, total),
})
