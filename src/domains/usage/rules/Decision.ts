/**
 * The check decision: may this instance use this entitlement, now and this much.
 *
 * Quantities are exact decimals. The figures of the response become JavaScript numbers only after all comparisons.
 */
import { BigDecimal } from "effect"
import { amountOf, one, zero } from "../../../kernel/values/Decimal.ts"
import { DAY_MS, isBefore, nearestWritable } from "../../../kernel/values/Timestamp.ts"
import type { EntitlementType } from "../../entitlements/Model.ts"
import type { AppliedOverride } from "../../instances/overrides/Model.ts"
import { figuresWith, leftOf, limitWith, pay } from "./Burn.ts"
import type { Credit, Standing } from "./Burn.ts"
import { isUnlimited, isWithinLimit, isWithinSoftLimit } from "./Cap.ts"
import { contains } from "./Period.ts"
import type { Period } from "./Period.ts"

/** The reasons of a check: the first four allow, the others deny. */
export const checkReasons = [
  "GRANTED",
  "UNLIMITED",
  "SOFT_LIMIT",
  "IN_GRACE",
  "LIMIT_REACHED",
  "NOT_GRANTED",
  "ENTITLEMENT_NOT_FOUND",
  "LICENSE_NOT_STARTED",
  "LICENSE_EXPIRED",
] as const

export type CheckReason = (typeof checkReasons)[number]

/** What an instance is granted of one entitlement. */
export interface Grant {
  /** A decimal in the entitlement's units per period, `-1` for unlimited; a boolean; or a configuration object. */
  readonly value: BigDecimal.BigDecimal | boolean | Readonly<Record<string, unknown>>
  /** How far usage may exceed the limit, in percent of the limit: `0` is a hard limit. */
  readonly overagePercent: number
  /** Whether add-ons make it what it is, and no override does. */
  readonly byAddOn?: true
  /** The override that it follows from, if one is in force. */
  readonly override?: AppliedOverride
}

/** What credits have to do with a period. */
export interface PeriodCredits {
  /** What they have paid of its usage. */
  readonly burned: BigDecimal.BigDecimal
  /** Those that are active at the instant, in the order in which they burn. */
  readonly active: ReadonlyArray<Credit>
}

/** The facts about an instance and an entitlement that every decision needs. */
export interface Basis {
  /** `null`: the organization has no entitlement of the requested slug. */
  readonly entitlement: { readonly slug: string; readonly type: EntitlementType } | null
  /** `null`: no license version, add-on or override grants it. */
  readonly grant: Grant | null
  /** The usage in `period`, in the entitlement's units. Only a `NUMBER` has any. */
  readonly usage: BigDecimal.BigDecimal
  /** What reservations hold of `period`. Only a `NUMBER` has any. */
  readonly held: BigDecimal.BigDecimal
  /** The usage period that contains the instant; `null` where usage is not measured. */
  readonly period: Period | null
  /** Absent where no credit is active and none has paid anything of the period. */
  readonly credits?: PeriodCredits | undefined
}

/** A license is running in `[startLicenseDate, endLicenseDate)`, then in grace for its days of grace. Without an end it never expires. */
export interface Term {
  readonly startLicenseDate: Date
  readonly endLicenseDate: Date | null
  readonly graceDays: number
}

/** Everything that a decision depends on. */
export interface CheckSubject extends Basis {
  /**
   * How much more is requested: 1 if absent; 0 asks whether usage is within the limit. Never negative. Only a `NUMBER`
   * uses it.
   */
  readonly requested?: BigDecimal.BigDecimal | undefined
  /** The term of the license. */
  readonly instance: Term
  /** The instant of the check. */
  readonly at: Date
}

/** A `NUMBER` entitlement's figures, in its units. */
interface Figures {
  /** The granted limit, `-1` if unlimited. */
  readonly limit: number
  readonly usage: number
  /** What is still available: `max(0, limit - usage - held)`, with what credits have left; `-1` if unlimited. */
  readonly remaining: number
  /** `max(0, usage - limit)` of the usage that credits have not paid, `0` if unlimited. */
  readonly overage: number
  /** What active credits have left; absent without any. */
  readonly credits?: number
}

/**
 * The decision of one check. All figures are `null` for `BOOLEAN`, `CONFIG` and unknown entitlements. A `NUMBER`
 * without a grant has only its `usage`. The figures describe the state before the request, whether or not the license
 * is running: only `allowed` says whether there is access.
 */
export interface Decision {
  readonly allowed: boolean
  readonly reason: CheckReason
  readonly limit: number | null
  readonly usage: number | null
  readonly remaining: number | null
  readonly overage: number | null
  readonly credits?: number
  readonly currentPeriodStart: Date | null
  readonly currentPeriodEnd: Date | null
}

/**
 * Decides one check. The default is to deny. The first rule that applies is the reason:
 *
 * 1. An entitlement that the organization does not have is denied: `ENTITLEMENT_NOT_FOUND`.
 * 2. Before the license starts, everything is denied: `LICENSE_NOT_STARTED`.
 * 3. From the instant when the license and its grace period end, everything is denied: `LICENSE_EXPIRED`.
 * 4. An entitlement is denied if the license does not grant it, grants `false`, or grants a value of another type:
 *    `NOT_GRANTED`.
 * 5. A boolean `true` and a configuration are allowed: `GRANTED`. For a number:
 * 6. An unlimited grant allows any amount: `UNLIMITED`.
 * 7. A request is allowed if usage, reservations and the request are within the limit, or credits pay the rest: `GRANTED`. An active
 *    credit grants what nothing else does, with a limit of 0.
 * 8. It is allowed if they are within the limit plus `overagePercent` of it: `SOFT_LIMIT`.
 * 9. Anything more is denied: `LIMIT_REACHED`.
 *
 * What is allowed after the end of the license, in its grace period, has the reason `IN_GRACE` instead.
 *
 * The order is part of the product: the reason of an expired license is the expiry, not a reached limit.
 */
export const decide = (subject: CheckSubject): Decision => {
  const reason = reasonFor(subject)
  const { credits, limit, overage, remaining, usage } = figuresFor(subject)
  return {
    allowed: allows(reason),
    reason,
    limit,
    usage,
    remaining,
    overage,
    ...(credits === undefined ? {} : { credits }),
    currentPeriodStart: subject.period?.start ?? null,
    currentPeriodEnd: subject.period?.end ?? null,
  }
}

/** Whether this reason allows access. */
export const allows = (reason: CheckReason): boolean =>
  reason === "GRANTED" || reason === "UNLIMITED" || reason === "SOFT_LIMIT" || reason === "IN_GRACE"

/** The figures of a limit, a usage and what reservations hold. After a consumed check they describe the new state. */
export const figures = (
  limit: BigDecimal.BigDecimal,
  usage: BigDecimal.BigDecimal,
  held: BigDecimal.BigDecimal,
): Figures => {
  const used = amountOf(usage)
  if (isUnlimited(limit)) return { limit: -1, usage: used, remaining: -1, overage: 0 }
  return {
    limit: amountOf(limit),
    usage: used,
    remaining: amountOf(orZero(BigDecimal.subtract(limit, BigDecimal.sum(usage, held)))),
    overage: amountOf(orZero(BigDecimal.subtract(usage, limit))),
  }
}

const reasonFor = (subject: CheckSubject): CheckReason => {
  const { entitlement, instance, at } = subject
  if (entitlement === null) return "ENTITLEMENT_NOT_FOUND"
  const term = termReasonAt(instance, at)
  if (term !== null && !allows(term)) return term
  const reason = reasonByGrant(entitlement.type, subject)
  return term !== null && allows(reason) ? term : reason
}

/** What the term of a license says of an instant: a reason to deny, `IN_GRACE`, or `null` while the license is running. */
export const termReasonAt = (term: Term, at: Date): "LICENSE_NOT_STARTED" | "LICENSE_EXPIRED" | "IN_GRACE" | null => {
  if (isBefore(at, term.startLicenseDate)) return "LICENSE_NOT_STARTED"
  if (!isEnded(term, at)) return null
  return graceEndAt(term, at) === null ? "LICENSE_EXPIRED" : "IN_GRACE"
}

const reasonByGrant = (type: EntitlementType, subject: CheckSubject): CheckReason => {
  const { credits, grant } = subject
  if (type === "NUMBER" && credits !== undefined) {
    return pay(standingOf(subject, credits), subject.requested ?? one, credits.active).reason
  }
  if (grant === null || !isGranted(type, grant)) return "NOT_GRANTED"
  if (!isQuantity(grant.value)) return "GRANTED"
  return reasonForAmount(grant.value, grant.overagePercent, amountAfter(subject))
}

/**
 * When access ends: at the end of the grace period. `null` if the license never ends. Earlier releases stored terms whose
 * grace period passes the year 9999: it ends with that year, because readers parse no later one.
 */
export const accessEndOf = ({ endLicenseDate, graceDays }: Omit<Term, "startLicenseDate">): Date | null =>
  endLicenseDate === null ? null : nearestWritable(endLicenseDate.getTime() + graceDays * DAY_MS)

/** The end of the grace period at an instant in it; `null` at any other instant. */
export const graceEndAt = (term: Term, at: Date): Date | null => {
  if (!isEnded(term, at)) return null
  const end = accessEndOf(term)
  return end !== null && isBefore(at, end) ? end : null
}

const isEnded = ({ endLicenseDate }: Term, at: Date): boolean =>
  endLicenseDate !== null && !isBefore(at, endLicenseDate)

/** Whether the license is running at an instant, and not in grace. */
export const isRunning = ({ endLicenseDate, startLicenseDate }: Term, at: Date): boolean =>
  contains({ start: startLicenseDate, end: endLicenseDate }, at)

const reasonForAmount = (
  limit: BigDecimal.BigDecimal,
  overagePercent: number,
  amount: BigDecimal.BigDecimal,
): CheckReason => {
  if (isUnlimited(limit)) return "UNLIMITED"
  if (isWithinLimit(amount, limit)) return "GRANTED"
  if (isWithinSoftLimit(amount, limit, overagePercent)) return "SOFT_LIMIT"
  return "LIMIT_REACHED"
}

/** What would be used and held after the request. */
const amountAfter = ({ held, requested = one, usage }: CheckSubject): BigDecimal.BigDecimal =>
  BigDecimal.sum(BigDecimal.sum(usage, held), requested)

/** The standing that credits pay beside. */
const standingOf = ({ grant, held, usage }: Basis, { burned }: PeriodCredits): Standing => ({
  limit: grant !== null && isQuantity(grant.value) ? { ...grant, value: grant.value } : null,
  usage,
  burned,
  held,
})

type PartialFigures = Pick<Decision, keyof Figures>

const figuresFor = (subject: CheckSubject): PartialFigures => {
  const { credits, entitlement, grant, held, usage } = subject
  if (entitlement?.type !== "NUMBER") return noFigures
  if (credits !== undefined) return figuresBeside(standingOf(subject, credits), credits)
  if (grant === null || !isQuantity(grant.value)) return { ...noFigures, usage: amountOf(usage) }
  return figures(grant.value, usage, held)
}

/** The figures of a limit and credits. Those after a consumed check describe the new state. */
export const figuresBeside = (standing: Standing, { active }: PeriodCredits): PartialFigures => {
  const limit = limitWith(standing.limit, active)
  const usage = amountOf(standing.usage)
  if (limit === null) return { ...noFigures, usage }
  const credits = active.length === 0 ? {} : { credits: amountOf(leftOf(active)) }
  if (isUnlimited(limit.value)) return { limit: -1, usage, remaining: -1, overage: 0, ...credits }
  const { overage, remaining } = figuresWith(limit, standing, active)
  return { limit: amountOf(limit.value), usage, remaining: amountOf(remaining), overage: amountOf(overage), ...credits }
}

const noFigures: PartialFigures = { limit: null, usage: null, remaining: null, overage: null }

const isQuantity = (value: Grant["value"]): value is BigDecimal.BigDecimal => BigDecimal.isBigDecimal(value)

const isConfiguration = (value: Grant["value"]): boolean => typeof value === "object" && !isQuantity(value)

const grantsSomething: Record<EntitlementType, (value: Grant["value"]) => boolean> = {
  BOOLEAN: (value) => value === true,
  NUMBER: isQuantity,
  CONFIG: isConfiguration,
}

/** Whether a grant has a value of the entitlement's type: `true`, a number, which may be 0, or a configuration. */
export const isGranted = (type: EntitlementType, { value }: Grant): boolean => grantsSomething[type](value)

const orZero = (quantity: BigDecimal.BigDecimal): BigDecimal.BigDecimal => BigDecimal.max(quantity, zero)
