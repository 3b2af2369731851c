/**
 * What checks that are asked again need not work out again: products ask the same of the same instance all day, and mostly nothing
 * was used in between. What the database tells decides. Only if it tells what it told the last two times is the answer the same
 * (`docs/adr/0009-cached-answers.md`).
 */
import { recent } from "../../../../kernel/concurrency/LruCache.ts"
import { isSameInstant } from "../../../../kernel/values/Timestamp.ts"
import type { Found } from "../../rules/CheckBasis.ts"
import type { CheckResult } from "../Model.ts"
import type { Catalogs, UsageCheck } from "./CatalogCache.ts"
import type { CheckQuestion, UsageRow } from "./Repo.ts"

/** Answers that are given again as long as the same is found. */
export interface GivenAnswers {
  /** What was requested of each entitlement. */
  readonly requested: ReadonlyArray<number | undefined>
  readonly checks: CheckResult["checks"]
  /** Their JSON, once they were written. */
  text?: string
}

/** A check whose catalog is known. */
export interface KnownCheck {
  readonly name: string
  readonly usage: UsageCheck
  /** What the database told of it last; `null` before it has told anything. */
  told: ReadonlyArray<UsageRow> | null
  /** What that comes to, once it was told twice: what changes each time is not worth keeping. */
  found: Found | null
}

// Of some 0.8 KB each.
const MOST_KEPT = 50_000

/** A check of one entitlement keeps three times as much as each further one adds. */
const sizeOf = ({ usage }: KnownCheck): number => 2 + usage.asked.length

// Ids of organizations have one length, and no name that is asked for holds a NUL.
const nameOf = ({ entitlements, instance, organizationId }: CheckQuestion): string =>
  `${organizationId}${instance}\u0000${entitlements.join("\u0000")}`

const tellsTheSame = (one: UsageRow, other: UsageRow | undefined): boolean =>
  one.used === other?.used &&
  one.held === other.held &&
  one.licenseId === other.licenseId &&
  one.catalogVersion === other.catalogVersion &&
  isSameInstant(one.startLicenseDate, other.startLicenseDate) &&
  isSameInstant(one.endLicenseDate, other.endLicenseDate)

const tellTheSame = (some: ReadonlyArray<UsageRow>, others: ReadonlyArray<UsageRow>): boolean =>
  some.length === others.length && some.every((one, place) => tellsTheSame(one, others[place]))

/** The memory of one process, over what it remembers of catalogs. It forgets what was not asked for the longest. */
export const makeRecalls = (catalogs: Catalogs, mostKept = MOST_KEPT) => {
  const checks = recent(mostKept, sizeOf)
  return {
    /** The check as it was asked last, or as it is asked now; nothing if not all that it asks for is known. */
    knownCheckOf: (question: CheckQuestion): KnownCheck | undefined => {
      const name = nameOf(question)
      const known = checks.get(name)
      if (known !== undefined && catalogs.isLeft(known.usage, question)) return known
      const usage = catalogs.usageCheckOf(question)
      return usage && { name, usage, told: null, found: null }
    },

    /** How the instance stands by the answers to what was asked for; nothing if they are of another catalog. */
    recall: (check: KnownCheck, instance: string, answers: ReadonlyArray<UsageRow>): Found | undefined => {
      const { name, told, usage } = check
      const isAsBefore = told !== null && tellTheSame(answers, told)
      if (isAsBefore && check.found !== null) return check.found
      const found = catalogs.recall(usage, instance, answers)
      if (found === undefined) {
        checks.delete(name)
        return undefined
      }
      if (told === null) checks.set(name, check)
      check.told = answers
      check.found = isAsBefore ? found : null
      return found
    },
  }
}
