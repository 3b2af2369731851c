/** The entitlements of an instance as flags: the rule by which the service and products evaluate them. */
import { answer } from "./Answers.ts"
import type { Claims } from "./Model.ts"
import { configurationAt } from "./Terms.ts"

/** What the key of such a flag begins with; the slug follows. No other flag has it. */
export const ENTITLEMENT_PREFIX = "entitlement."

/** An entitlement and the answer to its check. Amounts are the nearest numbers, `null` where nothing is counted. */
interface CheckedEntitlement {
  readonly slug: string
  readonly type: "NUMBER" | "BOOLEAN" | "CONFIG"
  /** The granted object of a `CONFIG`, else `null`. */
  readonly configuration: Readonly<Record<string, unknown>> | null
  readonly allowed: boolean
  readonly reason: string
  readonly limit: number | null
  readonly usage: number | null
  readonly remaining: number | null
  readonly overage: number | null
  readonly currentPeriodEnd: string | null
}

/** The result of an evaluation, as OFREP defines it. */
export interface EntitlementEvaluation {
  readonly key: string
  readonly value?: unknown
  readonly reason: "TARGETING_MATCH"
  readonly metadata: Readonly<Record<string, string | number | boolean>>
}

// Outside the license term, nothing remains of its grants.
const WITHOUT_ACCESS: ReadonlyArray<string> = ["NOT_GRANTED", "LICENSE_NOT_STARTED", "LICENSE_EXPIRED"]

// A configuration that is not granted has no value. OFREP defines this as "use the default in the code".
const valueOf = ({ allowed, configuration, reason, remaining, type }: CheckedEntitlement): { value?: unknown } => {
  if (type === "BOOLEAN") return { value: allowed }
  if (type === "NUMBER") return { value: WITHOUT_ACCESS.includes(reason) ? 0 : (remaining ?? 0) }
  return allowed && configuration !== null ? { value: configuration } : {}
}

/** Evaluates an entitlement: access, the remaining amount or the configuration. The metadata gives the reason. */
export const entitlementFlag = (checked: CheckedEntitlement): EntitlementEvaluation => {
  const { allowed, currentPeriodEnd, limit, overage, reason, slug, usage } = checked
  const figures = Object.entries({ limit, usage, overage }).flatMap(([name, figure]) =>
    figure === null ? [] : [[name, figure] as const],
  )
  return {
    key: `${ENTITLEMENT_PREFIX}${slug}`,
    ...valueOf(checked),
    reason: "TARGETING_MATCH",
    metadata: {
      allowed,
      checkReason: reason,
      ...Object.fromEntries(figures),
      ...(currentPeriodEnd === null ? {} : { currentPeriodEnd }),
    },
  }
}

const numberOf = (text: string | null): number | null => (text === null ? null : Number(text))

/** Evaluates an entitlement by the claims of a snapshot. `undefined` if they do not list it. */
export const entitlementFlagAt = (claims: Claims, slug: string, at: Date): EntitlementEvaluation | undefined => {
  const entitlement = claims.entitlements.find((one) => one.slug === slug)
  const [checked] = answer(claims, [{ entitlement: slug }], at).checks
  if (entitlement === undefined || checked === undefined) return undefined
  return entitlementFlag({
    ...checked,
    slug,
    type: entitlement.type,
    configuration: configurationAt(entitlement, at.getTime()),
    limit: numberOf(checked.limit),
    usage: numberOf(checked.usage),
    remaining: numberOf(checked.remaining),
    overage: numberOf(checked.overage),
  })
}
