/** What an override says, and its validation. Pure. */
import { BigDecimal, Equal } from "effect"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { decimalOfAmount, isAmount } from "../../../kernel/values/Decimal.ts"
import type { EntitlementType } from "../../entitlements/Model.ts"
import type { Override, PutOverride } from "./Model.ts"

/** What an override says. */
export type OverrideTerms = Pick<Override, "mode" | "value" | "overagePercent" | "startsAt" | "endsAt" | "reason">

/** What a request says. Without a start, it means that of an override in force, otherwise now. */
export const sentTerms = (
  { endsAt = null, mode, overagePercent = null, reason = null, startsAt, value }: PutOverride,
  current: OverrideTerms | null,
  at: Date,
): OverrideTerms => {
  const inForce = current !== null && current.startsAt <= at
  return { mode, value, overagePercent, reason, endsAt, startsAt: startsAt ?? (inForce ? current.startsAt : at) }
}

/** The terms of an override that replaces the current one. It starts now if the current one has started already. */
export const replacingTerms = (terms: OverrideTerms, current: OverrideTerms | null, at: Date): OverrideTerms =>
  current !== null && current.startsAt <= at && isSameTime(terms.startsAt, current.startsAt)
    ? { ...terms, startsAt: at }
    : terms

const isSameTime = (one: Date | null, other: Date | null): boolean => one?.getTime() === other?.getTime()

const isSameValue = (one: Override["value"], other: Override["value"]): boolean =>
  isAmount(one) && isAmount(other)
    ? BigDecimal.equals(decimalOfAmount(one), decimalOfAmount(other))
    : Equal.equals(one, other)

/** Whether two overrides say the same. */
export const isSame = (one: OverrideTerms, other: OverrideTerms): boolean =>
  one.mode === other.mode &&
  isSameValue(one.value, other.value) &&
  one.overagePercent === other.overagePercent &&
  one.reason === other.reason &&
  isSameTime(one.startsAt, other.startsAt) &&
  isSameTime(one.endsAt, other.endsAt)

/** Validation errors of the mode and the times. `at` is the time of the request. */
export const overrideErrors = (
  type: EntitlementType,
  { endsAt, mode, startsAt, value }: OverrideTerms,
  at: Date,
): ReadonlyArray<ValidationError> => [
  ...(mode === "ADD" && type !== "NUMBER"
    ? [{ location: "body.mode", message: `must be SET: the entitlement has the type ${type}`, value: mode }]
    : []),
  ...(mode === "ADD" && isAmount(value) && BigDecimal.isNegative(decimalOfAmount(value))
    ? [{ location: "body.value", message: "must be at least 0 with the mode ADD", value }]
    : []),
  ...(startsAt < at
    ? [{ location: "body.startsAt", message: "must not be in the past; omit it to start now", value: startsAt }]
    : []),
  ...(endsAt !== null && endsAt <= startsAt
    ? [{ location: "body.endsAt", message: "must be after startsAt and in the future", value: endsAt }]
    : []),
]
