/**
 * The decision of releases: may this instance have this release now. The list of releases, deployments and dry runs all ask here, so
 * that what one allows, no other refuses. Pure.
 */
import { BigDecimal } from "effect"
import type { EntitlementType } from "../../entitlements/Model.ts"
import type { ReleaseReason } from "../../releases/Model.ts"
import { allows as allowsCheck, isGranted, termReasonAt } from "../rules/Decision.ts"
import type { Grant, Term } from "../rules/Decision.ts"
import { grantOf } from "../rules/Grant.ts"
import type { ReleaseFacts, RequiredTerms } from "./Model.ts"

/** Everything that a decision depends on. */
export interface ReleaseSubject {
  /** `null`: there is none of the requested slug. */
  readonly release: Pick<ReleaseFacts, "offered" | "releasedAt" | "withdrawnAt"> | null
  /** The term of the license, and the end of the maintenance. */
  readonly instance: Term & Pick<ReleaseFacts, "endMaintenanceDate">
  /** The required entitlements that the instance is not granted. */
  readonly missing: ReadonlyArray<string>
  /** The instant of the decision. */
  readonly at: Date
}

/** Whether an instance may have a release, and the first rule that applies. */
interface ReleaseDecision {
  readonly allowed: boolean
  readonly reason: ReleaseReason
}

const reasonFor = ({ at, instance, missing, release }: ReleaseSubject): ReleaseReason => {
  if (release === null) return "RELEASE_NOT_FOUND"
  if (!release.offered) return "NOT_OFFERED"
  if (release.withdrawnAt !== null) return "WITHDRAWN"
  const term = termReasonAt(instance, at)
  if (term !== null && !allowsCheck(term)) return term
  if (missing.length > 0) return "NOT_GRANTED"
  const { endMaintenanceDate } = instance
  if (endMaintenanceDate !== null && release.releasedAt > endMaintenanceDate) return "AFTER_MAINTENANCE"
  return term ?? "GRANTED"
}

/** Whether this reason allows an instance to have a release. */
const allows = (reason: ReleaseReason): boolean => reason === "GRANTED" || reason === "IN_GRACE"

/** Decides one release. The default is to deny, and the order of the reasons is part of the product. */
export const decideRelease = (subject: ReleaseSubject): ReleaseDecision => {
  const reason = reasonFor(subject)
  return { allowed: allows(reason), reason }
}

/** Whether a grant gives something at all. A check of a limit of 0 that requests nothing is allowed, a release is not. */
const givesSomething = (type: EntitlementType, grant: Grant | null): boolean =>
  grant !== null && isGranted(type, grant) && !(BigDecimal.isBigDecimal(grant.value) && BigDecimal.isZero(grant.value))

const missingOf = (required: ReadonlyArray<RequiredTerms>, at: Date): ReadonlyArray<string> =>
  required.flatMap((terms) => (givesSomething(terms.type, grantOf(terms, at)) ? [] : [terms.entitlement]))

/** A decision with the facts that it was made on. */
export interface DecidedRelease extends ReleaseDecision {
  readonly facts: ReleaseFacts
  readonly missing: ReadonlyArray<string>
}

/** Decides by the facts about an instance and a release. */
export const decideByFacts = (facts: ReleaseFacts, at: Date): DecidedRelease => {
  const missing = missingOf(facts.required, at)
  return { ...decideRelease({ release: facts, instance: facts, missing, at }), facts, missing }
}

const day = (at: Date | null): string => at?.toISOString().slice(0, 10) ?? ""

/** The reason of a decision as a sentence. */
export const explanationOf = ({ facts, missing, reason }: DecidedRelease): string => {
  const { endLicenseDate, endMaintenanceDate, instance, releasedAt, startLicenseDate, version, withdrawnReason } = facts
  switch (reason) {
    case "RELEASE_NOT_FOUND":
      return `There is no release "${version}".`
    case "NOT_OFFERED":
      return `${version} is not offered to customers.`
    case "WITHDRAWN":
      return `${version} was withdrawn on ${day(facts.withdrawnAt)}${withdrawnReason === null ? "." : `: ${withdrawnReason}`}`
    case "LICENSE_NOT_STARTED":
      return `The license of ${instance} starts on ${day(startLicenseDate)}.`
    case "LICENSE_EXPIRED":
      return `The license of ${instance} ended on ${day(endLicenseDate)}.`
    case "NOT_GRANTED":
      return `${version} requires ${missing.join(", ")}, which the license of ${instance} does not grant.`
    case "AFTER_MAINTENANCE":
      return `${version} was released on ${day(releasedAt)}. The maintenance of ${instance} ended on ${day(endMaintenanceDate)}.`
    case "IN_GRACE":
      return `The license of ${instance} ended on ${day(endLicenseDate)}. ${version} is allowed until its grace period ends.`
    case "GRANTED":
      return `${instance} may have ${version}.`
  }
}
