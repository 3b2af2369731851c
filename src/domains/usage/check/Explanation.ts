/** Explains the answer of a check by everything that it was decided on. Pure. */
import { BigDecimal } from "effect"
import { amountOf, decimalText, one } from "../../../kernel/values/Decimal.ts"
import { accessEndOf, capOf, isUnlimited } from "../rules/Decision.ts"
import { configurationOf } from "../rules/Grants.ts"
import type { CheckSubject, Decision } from "../rules/Decision.ts"
import type { Explanation } from "./Model.ts"
import type { LicenseFacts } from "../rules/Terms.ts"
import { limitOf } from "../rules/Limits.ts"
import type { CheckedEntitlement, CheckedInstance } from "../rules/Terms.ts"

/** The input of an explanation. */
interface ExplanationInput {
  readonly subject: CheckSubject
  readonly decision: Decision
  readonly instance: CheckedInstance
  readonly facts: LicenseFacts
  /** `undefined` for an unknown entitlement. */
  readonly entitlement: Pick<CheckedEntitlement, "resetPeriod" | "resetAnchor" | "configuration"> | undefined
  /** The requested slug. */
  readonly slug: string
  /** Whether a check that consumes did so; absent for other checks. */
  readonly consumed?: boolean
}

const shownGrantOf = ({ entitlement, subject: { grant } }: ExplanationInput): Explanation["grant"] => {
  if (grant === null) return null
  const { overagePercent, override, value } = grant
  const source =
    override === undefined
      ? ({ source: "LICENSE" } as const)
      : ({ source: "OVERRIDE", by: override.by, at: new Date(override.at), reason: override.reason } as const)
  if (typeof value === "boolean") return { value, overagePercent, ...source }
  if (BigDecimal.isBigDecimal(value)) return { value: amountOf(value), overagePercent, ...source }
  return { value: configurationOf(grant, entitlement?.configuration) ?? {}, overagePercent, ...source }
}

const ruleOf = ({ subject }: ExplanationInput): Explanation["overageRule"] => {
  const limit = subject.entitlement?.type === "NUMBER" ? limitOf(subject.grant) : null
  if (limit === null) return null
  if (isUnlimited(limit.value)) return { kind: "UNLIMITED", limit: -1, cap: -1 }
  return {
    kind: limit.overagePercent === 0 ? "HARD" : "SOFT",
    limit: amountOf(limit.value),
    cap: amountOf(capOf(limit.value, limit.overagePercent)),
  }
}

const licenseName = ({ facts, instance }: ExplanationInput): string =>
  `license "${instance.license}" (version ${facts.version})`

/** What grants or denies: the license, an override, or both. */
const nameOf = (explained: ExplanationInput): string => {
  const override = explained.subject.grant?.override
  if (override === undefined) return licenseName(explained)
  const name = `an override by ${override.by.name}${override.reason === null ? "" : ` ("${override.reason}")`}`
  return override.mode === "ADD" ? `${licenseName(explained)} with ${name}` : name
}

/** The limit in words: what is granted, and how far usage may exceed it. */
const limitText = (explained: ExplanationInput): string => {
  const limit = limitOf(explained.subject.grant)
  if (limit === null) return `${nameOf(explained)} grants nothing`
  const granted = `${nameOf(explained)} grants ${decimalText(limit.value)}`
  return limit.overagePercent === 0
    ? granted
    : `${granted} and allows overage up to ${decimalText(capOf(limit.value, limit.overagePercent))}`
}

const decisionText = (explained: ExplanationInput): string => {
  const { decision, instance, slug, subject } = explained
  const requested = subject.requested ?? one
  const total = decimalText(BigDecimal.sum(BigDecimal.sum(subject.usage, subject.held), requested))
  switch (decision.reason) {
    case "ENTITLEMENT_NOT_FOUND":
      return `Denied: the organization has no entitlement "${slug}".`
    case "LICENSE_NOT_STARTED":
      return `Denied: the license of "${instance.instance}" starts on ${instance.startLicenseDate.toISOString()}.`
    case "LICENSE_EXPIRED":
      return `Denied: the license of "${instance.instance}" ended on ${instance.endLicenseDate?.toISOString() ?? ""}${
        instance.graceDays === 0 ? "" : `, and its grace period on ${accessEndOf(instance)?.toISOString() ?? ""}`
      }.`
    case "NOT_GRANTED":
      return `Denied: ${nameOf(explained)} does not grant "${slug}".`
    case "UNLIMITED":
      return `Allowed: ${nameOf(explained)} grants "${slug}" without a limit.`
    case "IN_GRACE":
      return `Allowed until ${accessEndOf(instance)?.toISOString() ?? ""}, in the grace period: the license of "${instance.instance}" ended on ${instance.endLicenseDate?.toISOString() ?? ""}.`
    case "GRANTED":
      return subject.entitlement?.type === "NUMBER"
        ? `Allowed: with ${decimalText(requested)} more, the total of "${slug}" is ${total}, and ${limitText(explained)}.`
        : `Allowed: ${nameOf(explained)} grants "${slug}".`
    case "SOFT_LIMIT":
      return `Allowed as overage: with ${decimalText(requested)} more, the total of "${slug}" is ${total}, and ${limitText(explained)}.`
    case "LIMIT_REACHED":
      return `Denied: with ${decimalText(requested)} more, the total of "${slug}" would be ${total}, but ${limitText(explained)}.`
  }
}

const figuresText = ({ subject: { entitlement, held, period, usage } }: ExplanationInput): string => {
  if (entitlement?.type !== "NUMBER" || period === null) return ""
  const since = `since ${period.start.toISOString()}`
  const window = period.end === null ? since : `from ${period.start.toISOString()} to ${period.end.toISOString()}`
  return ` Before this, ${decimalText(usage)} were used ${window}, and reservations held ${decimalText(held)}.`
}

const outcomeText = ({ consumed, decision }: ExplanationInput): string => {
  if (consumed === undefined) return ""
  if (consumed) return " It was used."
  return decision.allowed ? " Nothing was used, because another check of the request was denied." : " Nothing was used."
}

/** The explanation of one answer. */
export const explain = (explained: ExplanationInput): Explanation => {
  const { entitlement, facts, instance, subject } = explained
  const isNumber = subject.entitlement?.type === "NUMBER"
  return {
    license: {
      slug: instance.license,
      ...facts,
      startLicenseDate: instance.startLicenseDate,
      endLicenseDate: instance.endLicenseDate,
      graceDays: instance.graceDays,
    },
    grant: shownGrantOf(explained),
    window:
      subject.period === null
        ? null
        : {
            ...subject.period,
            resetPeriod: entitlement?.resetPeriod ?? null,
            resetAnchor: entitlement?.resetAnchor ?? null,
          },
    overageRule: ruleOf(explained),
    held: isNumber ? amountOf(subject.held) : null,
    text: `${decisionText(explained)}${figuresText(explained)}${outcomeText(explained)}`,
  }
}
