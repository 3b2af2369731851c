/** Maps the entitlements of an instance to flags. Pure. */
import { nearestNumber } from "../../../kernel/values/Decimal.ts"
import type { Standing } from "../../usage/check/Model.ts"
import { ENTITLEMENT_PREFIX } from "../Model.ts"
import type { Evaluation } from "./Model.ts"

// Outside the license term, nothing remains of its grants.
const isWithoutAccess = ({ reason }: Standing["answer"]): boolean =>
  reason === "NOT_GRANTED" || reason === "LICENSE_NOT_STARTED" || reason === "LICENSE_EXPIRED"

// A configuration that is not granted has no value. OFREP defines this as "use the default in the code".
const valueOf = ({ answer, configuration, type }: Standing): { readonly value?: unknown } => {
  if (type === "BOOLEAN") return { value: answer.allowed }
  if (type === "NUMBER") return { value: isWithoutAccess(answer) ? 0 : nearestNumber(answer.remaining ?? 0) }
  return answer.allowed && configuration !== null ? { value: configuration } : {}
}

const figuresOf = ({ limit, overage, usage }: Standing["answer"]): Record<string, number> =>
  Object.fromEntries(
    Object.entries({ limit, usage, overage }).flatMap(([name, figure]) =>
      figure === null ? [] : [[name, nearestNumber(figure)] as const],
    ),
  )

/** Evaluates an entitlement: access, the remaining amount or the configuration. The metadata gives the reason. */
export const entitlementFlag = (standing: Standing): Evaluation => {
  const { answer } = standing
  return {
    key: `${ENTITLEMENT_PREFIX}${answer.entitlement}`,
    ...valueOf(standing),
    reason: "TARGETING_MATCH",
    metadata: {
      allowed: answer.allowed,
      checkReason: answer.reason,
      ...figuresOf(answer),
      ...(answer.currentPeriodEnd === null ? {} : { currentPeriodEnd: answer.currentPeriodEnd.toISOString() }),
    },
  }
}
