/** From the basis of a check to its response and the response's JSON. Pure. */
import { decimalOfAmount } from "../../../kernel/values/Decimal.ts"
import { instantText } from "../../../kernel/values/Timestamp.ts"
import { decide, graceEndAt } from "../rules/Decision.ts"
import { configurationOf } from "../rules/Grant.ts"
import { explain } from "./Explanation.ts"
import type { CheckRequest, CheckResult, Standing } from "./Model.ts"
import type { CheckedInstance, CheckRow } from "../rules/Terms.ts"
import { checkBasisOf, unknownEntitlement } from "../rules/CheckBasis.ts"
import type { CheckBasis } from "../rules/CheckBasis.ts"

type Checks = CheckRequest["checks"]

/** Answers every check by `decide`, in the order of the request. It explains if the license's facts were read. */
export const answersTo = ({ bases, instance }: CheckBasis, checks: Checks, at: Date): CheckResult["checks"] =>
  checks.map(({ entitlement: slug, requested }, position) => {
    const { credits, entitlement, explained, grant, held, period, usage } = bases[position] ?? unknownEntitlement
    const amount = requested === undefined ? undefined : decimalOfAmount(requested)
    const subject = { entitlement, grant, usage, held, period, credits, requested: amount, instance, at }
    const decision = decide(subject)
    const { facts } = instance
    if (facts === undefined) return { ...decision, entitlement: slug }
    return {
      ...decision,
      entitlement: slug,
      explanation: explain({ subject, decision, instance, facts, entitlement: explained, slug }),
    }
  })

/** The response to a check. */
export const checkResultOf = (basis: CheckBasis, checks: Checks, at: Date): CheckResult => {
  const { instance, license } = basis.instance
  return { instance, license, at, graceEndsAt: graceEndAt(basis.instance, at), checks: answersTo(basis, checks, at) }
}

// Most entitlements of a check have the same period.
const textsOrNull = () => {
  let last: Date | null = null
  let text: string | null = null
  return (instant: Date | null): string | null => {
    if (instant !== last) text = instant === null ? null : instantText(instant)
    last = instant
    return text
  }
}

/**
 * Serializes the answers of a check in the order of their schema. It names their properties: searching them for dates
 * takes three times as long.
 */
export const answersAsText = (answers: CheckResult["checks"]): string => {
  const startText = textsOrNull()
  const endText = textsOrNull()
  return JSON.stringify(
    answers.map((answer) => ({
      entitlement: answer.entitlement,
      allowed: answer.allowed,
      reason: answer.reason,
      limit: answer.limit,
      usage: answer.usage,
      remaining: answer.remaining,
      overage: answer.overage,
      currentPeriodStart: startText(answer.currentPeriodStart),
      currentPeriodEnd: endText(answer.currentPeriodEnd),
      credits: answer.credits,
      explanation: answer.explanation,
    })),
  )
}

/** Puts serialized answers into the text of a response. */
export const responseText = (
  { instance, license }: Pick<CheckedInstance, "instance" | "license">,
  at: Date,
  graceEndsAt: Date | null,
  answers: string,
): string => {
  const names = `"instance":${JSON.stringify(instance)},"license":${JSON.stringify(license)}`
  const end = graceEndsAt === null ? "null" : `"${instantText(graceEndsAt)}"`
  return `{${names},"at":"${instantText(at)}","graceEndsAt":${end},"checks":${answers}}`
}

/** The response as JSON text, in the order of its schema. */
export const checkAsText = (result: CheckResult): string =>
  responseText(result, result.at, result.graceEndsAt, answersAsText(result.checks))

/** The standing of the instance with every entitlement of the rows. */
export const standings = (rows: ReadonlyArray<CheckRow>, at: Date): ReadonlyArray<Standing> => {
  const known = new Map(rows.flatMap((row) => (row.entitlement === null ? [] : [[row.entitlement, row] as const])))
  const slugs = Array.from(known.keys())
  const basis = checkBasisOf(rows, slugs, at)
  if (basis === undefined) return []
  const answers = answersTo(
    basis,
    slugs.map((entitlement) => ({ entitlement })),
    at,
  )
  return answers.flatMap((answer, position) => {
    const row = known.get(answer.entitlement)
    if (row === undefined) return []
    const grant = basis.bases[position]?.grant ?? null
    const configuration = row.type === "CONFIG" ? configurationOf(grant, row.configuration) : null
    const isSwitch = row.type === "BOOLEAN" && typeof grant?.value === "boolean"
    return [
      { type: row.type, configuration, granted: isSwitch ? grant.value : (configuration ?? answer.limit), answer },
    ]
  })
}
