/**
 * The check decision: may this instance use this entitlement, now and this much (contract sections 5 and 9, "Check").
 *
 * Quantities are exact decimals; the answer's figures become JavaScript numbers only after every comparison is made.
 */
import { BigDecimal } from "effect"
import { amountOf, hundred, hundredth, one, unlimited, zero } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import type { EntitlementType } from "../../entitlements/Model.ts"
import { contains } from "./Period.ts"
import type { Period } from "./Period.ts"

/** Why a check was answered as it was: the first three allow, the others refuse (contract section 5). */
export const checkReasons = [
  "GRANTED",
  "UNLIMITED",
  "SOFT_LIMIT",
  "LIMIT_REACHED",
  "NOT_GRANTED",
  "ENTITLEMENT_NOT_FOUND",
  "LICENSE_NOT_STARTED",
  "LICENSE_EXPIRED",
] as const

export type CheckReason = (typeof checkReasons)[number]

/** What a license gives of one entitlement (contract section 5, "Licenses"). */
export interface Grant {
  /** A decimal, in the entitlement's units per period, `-1` meaning unlimited; a boolean; or a configuration object. */
  readonly value: BigDecimal.BigDecimal | boolean | Readonly<Record<string, unknown>>
  /** How far usage may pass the limit, in percent of the limit: `0` is a hard limit. */
  readonly overagePercent: number
}

/** How an instance stands with an entitlement, whatever is asked. */
export interface Basis {
  /** `null`: the organization has no entitlement of the slug that was asked for. */
  readonly entitlement: { readonly slug: string; readonly type: EntitlementType } | null
  /** `null`: the instance's license version does not grant the entitlement. */
  readonly grant: Grant | null
  /** What was used in `period`, in the entitlement's units; it counts for `NUMBER` only. */
  readonly usage: BigDecimal.BigDecimal
  /** What reservations keep from `period` for others; it counts for `NUMBER` only. */
  readonly held: BigDecimal.BigDecimal
  /** The usage period that contains the instant, repeated in the answer; `null` where usage is not measured. */
  readonly period: Period | null
}

/** Everything the decision rests on. */
export interface CheckSubject extends Basis {
  /** How much more is asked for: 1 when omitted, and 0 asks "am I within the limit?". Never negative. It counts for `NUMBER` only. */
  readonly requested?: BigDecimal.BigDecimal | undefined
  /** The license runs in `[startLicenseDate, endLicenseDate)`; without an end it runs for ever. */
  readonly instance: { readonly startLicenseDate: Date; readonly endLicenseDate: Date | null }
  /** The instant the question is about. */
  readonly at: Date
}

/** A `NUMBER` entitlement's figures, in its units. */
export interface Figures {
  /** The granted limit, `-1` when unlimited. */
  readonly limit: number
  readonly usage: number
  /** What can still be had: `max(0, limit - usage - held)`, `-1` when unlimited. */
  readonly remaining: number
  /** `max(0, usage - limit)`, `0` when unlimited. */
  readonly overage: number
}

/**
 * The answer to one check. All figures are `null` for `BOOLEAN` and `CONFIG` entitlements and for an unknown one; a
 * `NUMBER` entitlement without a grant has only its `usage`. They describe the state before the request, and they do so
 * whether or not the license is running: `allowed` alone says whether there is access.
 */
export interface Decision {
  readonly allowed: boolean
  readonly reason: CheckReason
  readonly limit: number | null
  readonly usage: number | null
  readonly remaining: number | null
  readonly overage: number | null
  readonly currentPeriodStart: Date | null
  readonly currentPeriodEnd: Date | null
}

/**
 * Decides one check. What nothing allows is refused, and the first sentence that applies is the reason:
 *
 * 1. An entitlement that the organization does not have is refused: `ENTITLEMENT_NOT_FOUND`.
 * 2. Before the license starts, everything is refused: `LICENSE_NOT_STARTED`.
 * 3. From the instant the license ends, everything is refused: `LICENSE_EXPIRED`.
 * 4. What the license does not grant, or grants as `false`, or grants with a value of another type than the
 *    entitlement's, is refused: `NOT_GRANTED`.
 * 5. A boolean `true` and a configuration are allowed: `GRANTED`. For a number:
 * 6. An unlimited grant allows any amount: `UNLIMITED`.
 * 7. What keeps usage and what is held at or under the limit is allowed: `GRANTED`.
 * 8. What keeps them at or under the limit plus `overagePercent` of it is allowed: `SOFT_LIMIT`.
 * 9. Anything more is refused: `LIMIT_REACHED`.
 *
 * The order is part of the product: a caller whose license expired is told so, not that a limit was reached. The rules
 * are contract section 5, "Entitlements, usage, check", and section 9, "Check".
 */
export const decide = (subject: CheckSubject): Decision => {
  const reason = reasonFor(subject)
  const { limit, overage, remaining, usage } = figuresFor(subject)
  return {
    allowed: allows(reason),
    reason,
    limit,
    usage,
    remaining,
    overage,
    currentPeriodStart: subject.period?.start ?? null,
    currentPeriodEnd: subject.period?.end ?? null,
  }
}

/** Whether a check answered with this reason gives access. */
export const allows = (reason: CheckReason): boolean =>
  reason === "GRANTED" || reason === "UNLIMITED" || reason === "SOFT_LIMIT"

/**
 * What a limit, a usage and what is held come to. Use it to describe the state after a consumed check (contract section 9, "Check").
 */
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

/** Whether a limit is the one that means "no limit": `-1`. */
export const isUnlimited = (limit: BigDecimal.BigDecimal): boolean => BigDecimal.equals(limit, unlimited)

/** Whether an amount is at most the limit. */
export const isWithinLimit = (amount: BigDecimal.BigDecimal, limit: BigDecimal.BigDecimal): boolean =>
  BigDecimal.isLessThanOrEqualTo(amount, limit)

/** The limit plus `overagePercent` of it, exactly. */
export const capOf = (limit: BigDecimal.BigDecimal, overagePercent: number): BigDecimal.BigDecimal =>
  BigDecimal.multiply(
    BigDecimal.multiply(limit, BigDecimal.sum(hundred, BigDecimal.fromNumberUnsafe(overagePercent))),
    hundredth,
  )

/** Whether an amount is at most {@link capOf} the limit. */
export const isWithinSoftLimit = (
  amount: BigDecimal.BigDecimal,
  limit: BigDecimal.BigDecimal,
  overagePercent: number,
): boolean => isWithinLimit(amount, capOf(limit, overagePercent))

const reasonFor = (subject: CheckSubject): CheckReason => {
  const { entitlement, grant, instance, at } = subject
  if (entitlement === null) return "ENTITLEMENT_NOT_FOUND"
  if (isBefore(at, instance.startLicenseDate)) return "LICENSE_NOT_STARTED"
  if (instance.endLicenseDate !== null && !isBefore(at, instance.endLicenseDate)) return "LICENSE_EXPIRED"
  if (grant === null || !grantsSomething[entitlement.type](grant.value)) return "NOT_GRANTED"
  if (!isQuantity(grant.value)) return "GRANTED"
  return reasonForAmount(grant.value, grant.overagePercent, amountAsked(subject))
}

/** Whether the license is running at an instant. */
export const isRunning = ({ endLicenseDate, startLicenseDate }: CheckSubject["instance"], at: Date): boolean =>
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

/** What would be used or held if the request were served. */
const amountAsked = ({ held, requested = one, usage }: CheckSubject): BigDecimal.BigDecimal =>
  BigDecimal.sum(BigDecimal.sum(usage, held), requested)

type PartialFigures = Pick<Decision, keyof Figures>

const figuresFor = ({ entitlement, grant, held, usage }: CheckSubject): PartialFigures => {
  if (entitlement?.type !== "NUMBER") return noFigures
  if (grant === null || !isQuantity(grant.value)) return { ...noFigures, usage: amountOf(usage) }
  return figures(grant.value, usage, held)
}

const noFigures: PartialFigures = { limit: null, usage: null, remaining: null, overage: null }

const isQuantity = (value: Grant["value"]): value is BigDecimal.BigDecimal => BigDecimal.isBigDecimal(value)

const isConfiguration = (value: Grant["value"]): boolean => typeof value === "object" && !isQuantity(value)

const grantsSomething: Record<EntitlementType, (value: Grant["value"]) => boolean> = {
  BOOLEAN: (value) => value === true,
  NUMBER: isQuantity,
  CONFIG: isConfiguration,
}

const orZero = (quantity: BigDecimal.BigDecimal): BigDecimal.BigDecimal => BigDecimal.max(quantity, zero)
