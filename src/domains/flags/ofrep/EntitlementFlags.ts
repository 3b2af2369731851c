/** Maps the entitlements of an instance to flags. Pure. */
import { nearestNumber } from "../../../kernel/values/Decimal.ts"
import { entitlementFlag } from "../../../offline/EntitlementFlags.ts"
import type { Standing } from "../../usage/check/Model.ts"
import type { Evaluation } from "./Model.ts"

type Amount = Standing["answer"]["limit"]

const numberOf = (amount: Amount): number | null => (amount === null ? null : nearestNumber(amount))

/** Evaluates an entitlement, as products do by their snapshots. */
export const flagOfStanding = ({ answer, configuration, type }: Standing): Evaluation =>
  entitlementFlag({
    slug: answer.entitlement,
    type,
    configuration,
    allowed: answer.allowed,
    reason: answer.reason,
    limit: numberOf(answer.limit),
    usage: numberOf(answer.usage),
    remaining: numberOf(answer.remaining),
    overage: numberOf(answer.overage),
    currentPeriodEnd: answer.currentPeriodEnd?.toISOString() ?? null,
  })
