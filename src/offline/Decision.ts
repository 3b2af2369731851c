/** Decides by the claims of a valid bundle whether a product may use an entitlement. */
import { capOf, decimalOf, textOf, UNLIMITED } from "./values/Decimal.ts"
import type { Claims, Decision, DecisionRequest } from "./Model.ts"
import { periodAt } from "./Periods.ts"
import { isRecord, millisOf, millisOrNow, own } from "./values/Unknown.ts"

const answer = (allowed: boolean, reason: Decision["reason"], remaining: string | null = null): Decision => ({
  allowed,
  reason,
  remaining,
})

const NOT_GRANTED = answer(false, "NOT_GRANTED")

const grantedIf = (holds: boolean): Decision => (holds ? answer(true, "GRANTED") : NOT_GRANTED)

/** How much of the usage at issuance counts: all in its own period, nothing in another one. In doubt it counts. */
const usedAtIssue = (claims: Claims, entitlement: unknown, at: number): bigint | undefined => {
  const period = periodAt(claims, String(own(entitlement, "period")), new Date(at))
  const isOther = Math.abs(millisOf(period?.start) - millisOf(own(entitlement, "usedFrom"))) > 0
  return isOther ? 0n : decimalOf(own(entitlement, "used"))
}

const withinLimit = (limit: bigint, cap: bigint, used: bigint, requested: bigint): Decision => {
  const after = used + requested
  const reason = after <= limit ? "GRANTED" : after <= cap ? "SOFT_LIMIT" : "LIMIT_REACHED"
  return answer(after <= cap, reason, textOf(used < limit ? limit - used : 0n))
}

const decideNumber = (claims: Claims, entitlement: unknown, request: DecisionRequest): Decision => {
  const used = decimalOf(request.used ?? 0)
  const requested = decimalOf(request.requested ?? 1)
  if (used === undefined || requested === undefined || used < 0n || requested < 0n)
    return answer(false, "INVALID_REQUEST")

  const given = own(entitlement, "allowance") ?? undefined
  const allowance = decimalOf(given)
  if (given !== undefined)
    return allowance === undefined ? NOT_GRANTED : withinLimit(allowance, allowance, used, requested)

  const limit = decimalOf(own(entitlement, "limit"))
  if (limit === UNLIMITED) return answer(true, "UNLIMITED", "-1")
  const before = usedAtIssue(claims, entitlement, millisOrNow(request.at))
  if (limit === undefined || before === undefined) return NOT_GRANTED
  const cap = capOf(limit, decimalOf(own(entitlement, "overagePercent")) ?? 0n)
  return withinLimit(limit, cap, before + used, requested)
}

/**
 * Decides without a service, by a bundle that was just verified as `VALID`. The cap holds only as far as this product
 * alone uses the instance, unless the entitlement has an allowance. Never throws.
 */
export const decide = (claims: Claims, request: DecisionRequest): Decision => {
  try {
    const entitlement = claims.entitlements.find(({ slug }) => slug === request.entitlement)
    const value: unknown = own(entitlement, "value")
    if (entitlement?.type === "NUMBER") return decideNumber(claims, entitlement, request)
    return grantedIf(
      entitlement?.type === "BOOLEAN" ? value === true : entitlement?.type === "CONFIG" && isRecord(value),
    )
  } catch {
    return NOT_GRANTED
  }
}
