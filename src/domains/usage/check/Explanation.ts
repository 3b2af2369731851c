/** Explains the answer of a check by everything that it was decided on. Pure. */
import { BigDecimal } from "effect"
import { amountOf, decimalText, one } from "../../../kernel/values/Decimal.ts"
import { capOf, isUnlimited } from "../rules/Cap.ts"
import { accessEndOf } from "../rules/Decision.ts"
import { leftOf, limitWith, remainingOf } from "../rules/Burn.ts"
import { configurationOf, sourcesAt } from "../rules/Grant.ts"
import type { GrantSource } from "../rules/Grant.ts"
import type { ExplainedEntitlement } from "../rules/CheckBasis.ts"
import type { CheckSubject, Decision, Grant } from "../rules/Decision.ts"
import type { Explanation } from "./Model.ts"
import type { LicenseFacts } from "../rules/Terms.ts"
import { limitOf } from "../rules/Limits.ts"
import type { Limit } from "../rules/Cap.ts"
import type { CheckedInstance } from "../rules/Terms.ts"

/** The input of an explanation. */
interface ExplanationInput {
  readonly subject: CheckSubject
  readonly decision: Decision
  readonly instance: CheckedInstance
  readonly facts: LicenseFacts
  /** `undefined` for an unknown entitlement. */
  readonly entitlement: ExplainedEntitlement | undefined
  /** The requested slug. */
  readonly slug: string
  /** Whether a check that consumes did so; absent for other checks. */
  readonly consumed?: boolean
}

/** The limit that the decision used. */
const decidedLimit = ({ subject: { credits, entitlement, grant } }: ExplanationInput): Limit | null =>
  entitlement?.type === "NUMBER" ? limitWith(limitOf(grant), credits?.active ?? []) : null

const shownCreditsOf = ({ at, credits }: CheckSubject): Pick<Explanation, "credits"> =>
  credits === undefined || credits.active.length === 0
    ? {}
    : {
        credits: credits.active.map((credit) => ({
          id: credit.id,
          amount: amountOf(credit.amount),
          remaining: amountOf(remainingOf(credit, at)),
          priority: credit.priority,
          startsAt: credit.startsAt,
          expiresAt: credit.expiresAt,
          reason: credit.reason ?? null,
        })),
      }

const shownGrantOf = (explained: ExplanationInput): Explanation["grant"] => {
  const { grant } = explained.subject
  if (grant === null) {
    return decidedLimit(explained) === null ? null : { value: 0, overagePercent: 0, source: "CREDIT" }
  }
  const { byAddOn = false, overagePercent, override, value } = grant
  const source =
    override === undefined
      ? ({ source: byAddOn ? "ADD_ON" : "LICENSE" } as const)
      : ({ source: "OVERRIDE", by: override.by, at: new Date(override.at), reason: override.reason } as const)
  const shown = shownValue(value)
  return {
    value: shown ?? configurationOf(grant, explained.entitlement?.configuration) ?? {},
    overagePercent,
    ...source,
  }
}

type ShownSource = Explanation["sources"][number]

/** A value as a response has it; `undefined` for a configuration. */
const shownValue = (value: Grant["value"]): number | boolean | undefined => {
  if (typeof value === "boolean") return value
  return BigDecimal.isBigDecimal(value) ? amountOf(value) : undefined
}

const objectOf = (value: Grant["value"]): Readonly<Record<string, unknown>> =>
  typeof value === "object" && !BigDecimal.isBigDecimal(value) ? value : {}

const shownSourceOf =
  ({ entitlement, instance }: ExplanationInput) =>
  (from: GrantSource): ShownSource => {
    const { source } = from
    const shown = shownValue(from.value)
    if (from.source === "LICENSE") {
      return { source, value: shown ?? entitlement?.configuration ?? {}, license: instance.license }
    }
    const value = shown ?? objectOf(from.value)
    if (from.source === "OVERRIDE") {
      const { at, by, mode, reason } = from.override
      return { source, value, combine: mode, by, at: new Date(at), reason }
    }
    const { at, by, combine, license, quantity, reason } = from.addOn
    return { source, value, combine, quantity, license, by, at: new Date(at), reason }
  }

const shownSourcesOf = (explained: ExplanationInput): Explanation["sources"] =>
  explained.entitlement === undefined
    ? []
    : sourcesAt(explained.entitlement, explained.subject.at).map(shownSourceOf(explained))

const ruleOf = (explained: ExplanationInput): Explanation["overageRule"] => {
  const limit = decidedLimit(explained)
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

const times = (quantity: number): string => (quantity === 1 ? "" : ` (${quantity} times)`)

/** The license, with the add-ons that are in force. */
const soldName = (explained: ExplanationInput): string => {
  const addOns = (
    explained.entitlement === undefined ? [] : sourcesAt(explained.entitlement, explained.subject.at)
  ).flatMap((from) => (from.source === "ADD_ON" ? [`"${from.addOn.license}"${times(from.addOn.quantity)}`] : []))
  if (addOns.length === 0) return licenseName(explained)
  return `${licenseName(explained)} with ${addOns.length === 1 ? "the add-on" : "the add-ons"} ${addOns.join(", ")}`
}

/** What grants or denies: the license with its add-ons, an override, or both. */
const nameOf = (explained: ExplanationInput): string => {
  const override = explained.subject.grant?.override
  if (override === undefined) return soldName(explained)
  const name = `an override by ${override.by.name}${override.reason === null ? "" : ` ("${override.reason}")`}`
  return override.mode === "ADD" ? `${soldName(explained)} with ${name}` : name
}

/** The limit in words: what is granted, how far usage may exceed it, and what credits can pay. */
const limitText = (explained: ExplanationInput): string => {
  const limit = limitOf(explained.subject.grant)
  const active = explained.subject.credits?.active ?? []
  const credits = active.length === 0 ? "" : `, and credits have ${decimalText(leftOf(active))} left`
  if (limit === null) return `${nameOf(explained)} grants nothing${credits}`
  const granted = `${nameOf(explained)} grants ${decimalText(limit.value)}`
  return limit.overagePercent === 0
    ? `${granted}${credits}`
    : `${granted} and allows overage up to ${decimalText(capOf(limit.value, limit.overagePercent))}${credits}`
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

const figuresText = ({ subject: { credits, entitlement, held, period, usage } }: ExplanationInput): string => {
  if (entitlement?.type !== "NUMBER" || period === null) return ""
  const since = `since ${period.start.toISOString()}`
  const window = period.end === null ? since : `from ${period.start.toISOString()} to ${period.end.toISOString()}`
  const paid = credits === undefined ? "" : `, credits had paid ${decimalText(credits.burned)} of it`
  return ` Before this, ${decimalText(usage)} were used ${window}${paid}, and reservations held ${decimalText(held)}.`
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
    sources: shownSourcesOf(explained),
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
    ...shownCreditsOf(subject),
    text: `${decisionText(explained)}${figuresText(explained)}${outcomeText(explained)}`,
  }
}
