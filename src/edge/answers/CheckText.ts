/** The text of a check that the edge answers: byte for byte that of the service, but for the instant. Pure. */
import { responseText } from "../../domains/usage/check/CheckResponse.ts"
import type { CheckRequest } from "../../domains/usage/check/Model.ts"
import { amountOf, decimalOfAmount, decimalText, storedDecimal } from "../../kernel/values/Decimal.ts"
import type { LocalAnswers } from "../../local/index.ts"
import type { Claims } from "../../offline/Model.ts"
import type { Check } from "../../offline/Terms.ts"

/** The checks of a request, with all digits that were sent. */
export const checksOf = ({ checks }: CheckRequest): ReadonlyArray<Check> =>
  checks.map(({ entitlement, requested }) =>
    requested === undefined || Number.isSafeInteger(requested)
      ? { entitlement, requested }
      : { entitlement, requested: decimalText(decimalOfAmount(requested)) },
  )

const amount = (text: string | null): number | null => (text === null ? null : amountOf(storedDecimal(text)))

/** Reasons of the service, for those that only local clients have: readers of its answers know no others. */
const reasonOf = ({ allowed, reason }: LocalAnswers["checks"][number]): string => {
  if (reason === "SNAPSHOT_EXPIRED") return "LICENSE_EXPIRED"
  if (reason === "SERVICE_AWAY") return allowed ? "GRANTED" : "LIMIT_REACHED"
  return reason
}

/** The response. `time` is that of the service, in milliseconds. */
export const checkText = ({ instance, license }: Claims, answers: LocalAnswers, time: number): string => {
  const { at, checks, graceEndsAt } = answers
  return responseText(
    { instance: instance.slug, license: license.slug },
    at === null ? new Date(time) : new Date(at),
    graceEndsAt === null ? null : new Date(graceEndsAt),
    JSON.stringify(
      checks.map((check) => ({
        entitlement: check.entitlement,
        allowed: check.allowed,
        reason: reasonOf(check),
        limit: amount(check.limit),
        usage: amount(check.usage),
        remaining: amount(check.remaining),
        overage: amount(check.overage),
        currentPeriodStart: check.currentPeriodStart,
        currentPeriodEnd: check.currentPeriodEnd,
      })),
    ),
  )
}
