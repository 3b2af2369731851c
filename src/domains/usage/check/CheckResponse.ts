/** From what the answer of a check rests on to the answer and its JSON. */
import { decimalIn } from "../../../kernel/values/Decimal.ts"
import { instantText } from "../../../kernel/values/Timestamp.ts"
import { decide, isRunning } from "../rules/Decision.ts"
import { explain } from "./Explanation.ts"
import type { CheckRequest, CheckResult, Standing } from "./Model.ts"
import type { CheckRow } from "../rules/Terms.ts"
import { foundIn, unknownEntitlement } from "../rules/CheckBasis.ts"
import type { Found } from "../rules/CheckBasis.ts"
import type { GivenAnswers } from "./hotpath/AnswerCache.ts"

/** The answer to all checks. */
export interface Answer extends CheckResult {
  /** What may be given again of it. */
  readonly given?: GivenAnswers
}

type Checks = CheckRequest["checks"]

const answersTo = ({ bases, instance }: Found, checks: Checks, at: Date): CheckResult["checks"] =>
  checks.map(({ entitlement: slug, requested }, place) => {
    const { entitlement, grant, held, period, told, usage } = bases[place] ?? unknownEntitlement
    const amount = requested === undefined ? undefined : decimalIn(requested)
    const subject = { entitlement, grant, usage, held, period, requested: amount, instance, at }
    const decision = decide(subject)
    const { facts } = instance
    if (facts === undefined) return { ...decision, entitlement: slug }
    return {
      ...decision,
      entitlement: slug,
      explanation: explain({ subject, decision, instance, facts, entitlement: told, slug }),
    }
  })

const isRequestOf = (checks: Checks, { requested }: GivenAnswers): boolean =>
  checks.every((check, place) => check.requested === requested[place])

/**
 * Answers every check, in the order asked, by `decide`. Where the license's facts were read, it explains. Of what was found an answer
 * depends on the instant by whether the license is running, and on nothing else: periods are found for their instants.
 */
export const answerChecks = (found: Found, checks: Checks, at: Date): Answer => {
  const { instance, license } = found.instance
  if (!isRunning(found.instance, at)) return { instance, license, at, checks: answersTo(found, checks, at) }
  if (found.given === undefined || !isRequestOf(checks, found.given)) {
    found.given = { requested: checks.map(({ requested }) => requested), checks: answersTo(found, checks, at) }
  }
  const { given } = found
  return { instance, license, at, checks: given.checks, given }
}

// Most entitlements of a check have one period.
const textsOrNull = () => {
  let last: Date | null = null
  let text: string | null = null
  return (instant: Date | null): string | null => {
    if (instant !== last) text = instant === null ? null : instantText(instant)
    last = instant
    return text
  }
}

/** Answers as JSON has them, in the order of its schema. Their members are named: looking for instants takes three times as long. */
const answersAsJson = (checks: CheckResult["checks"]) => {
  const startText = textsOrNull()
  const endText = textsOrNull()
  return checks.map((answer) => ({
    entitlement: answer.entitlement,
    allowed: answer.allowed,
    reason: answer.reason,
    limit: answer.limit,
    usage: answer.usage,
    remaining: answer.remaining,
    overage: answer.overage,
    currentPeriodStart: startText(answer.currentPeriodStart),
    currentPeriodEnd: endText(answer.currentPeriodEnd),
    explanation: answer.explanation,
  }))
}

/** The answer as JSON text, in the order of its schema. */
export const checkAsText = ({ at, checks, given, instance, license }: Answer): string => {
  const text = given?.text ?? JSON.stringify(answersAsJson(checks))
  if (given !== undefined) given.text = text
  const names = `"instance":${JSON.stringify(instance)},"license":${JSON.stringify(license)}`
  return `{${names},"at":"${instantText(at)}","checks":${text}}`
}

/** How the instance stands with every entitlement of the rows. */
export const standings = (rows: ReadonlyArray<CheckRow>, at: Date): ReadonlyArray<Standing> => {
  const known = new Map(rows.flatMap((row) => (row.entitlement === null ? [] : [[row.entitlement, row] as const])))
  const slugs = Array.from(known.keys())
  const found = foundIn(rows, slugs, at)
  if (found === undefined) return []
  const { checks } = answerChecks(
    found,
    slugs.map((entitlement) => ({ entitlement })),
    at,
  )
  return checks.flatMap((answer) => {
    const row = known.get(answer.entitlement)
    if (row === undefined) return []
    return [{ type: row.type, configuration: row.type === "CONFIG" ? (row.configuration ?? null) : null, answer }]
  })
}
