/** Decisions about licenses. Pure. */
import { BigDecimal, Predicate } from "effect"
import type { EntitlementType } from "../entitlements/Model.ts"
import { decimalOfAmount, isAmount, MAX_DIGITS, unlimited } from "../../kernel/values/Decimal.ts"
import type { GrantValue, License } from "./Model.ts"

type Candidate = Pick<License, "version" | "isDefault" | "lifecycleState">

/**
 * What a family resolves to: its default, else its highest published version (contract, section 5). It resolves to no
 * version that is not published, and so perhaps to none.
 */
export const currentVersion = <Version extends Candidate>(versions: ReadonlyArray<Version>): Version | undefined => {
  const published = versions.filter((version) => version.lifecycleState === "PUBLISHED")
  return (
    published.find((version) => version.isDefault) ??
    published.toSorted((one, other) => Number(other.version) - Number(one.version))[0]
  )
}

const LONGEST_SLUG = 100
const RANDOM_SUFFIX = 7

/**
 * The slug that a version after the first suggests. A long family slug is cut, so that the version's own, even with a
 * random suffix, has no more than the 100 characters of every slug.
 */
export const slugOfVersion = (familySlug: string, version: number): string => {
  const ending = `-v${version}`
  const beginning = familySlug.slice(0, LONGEST_SLUG - RANDOM_SUFFIX - ending.length)
  return `${beginning.replace(/-+$/, "")}${ending}`
}

/** Why a license cannot be archived, in the order in which the caller is told (interface specification, section 3). */
export const archiveRefusal = (license: Candidate): "not-published" | "default" | undefined => {
  if (license.lifecycleState !== "PUBLISHED") return "not-published"
  return license.isDefault ? "default" : undefined
}

/** How many digits the number has, written out without an exponent. */
const digitsOf = (value: BigDecimal.BigDecimal): number => {
  const { value: digits, scale } = BigDecimal.normalize(BigDecimal.abs(value))
  const length = digits.toString().length
  return scale < 0 ? length - scale : Math.max(length, scale)
}

const faultOfNumber = (value: GrantValue): string | undefined => {
  if (!isAmount(value)) return "is a number, because the entitlement is"
  const decimal = decimalOfAmount(value)
  if (BigDecimal.isNegative(decimal) && !BigDecimal.equals(decimal, unlimited))
    return "is at least 0, or -1 for unlimited"
  return digitsOf(decimal) > MAX_DIGITS ? `has at most ${MAX_DIGITS} digits` : undefined
}

/** What is wrong with the value as a grant of such an entitlement. */
export const faultOfValue = (type: EntitlementType, value: GrantValue): string | undefined => {
  switch (type) {
    case "NUMBER":
      return faultOfNumber(value)
    case "BOOLEAN":
      return Predicate.isBoolean(value) ? undefined : "is true or false, because the entitlement is"
    case "CONFIG":
      return Predicate.isObject(value) && !isAmount(value)
        ? undefined
        : "is an object, because the entitlement is a configuration"
  }
}

/** What is wrong with the overage: only an amount can be passed. */
export const faultOfOverage = (type: EntitlementType, overagePercent: number): string | undefined =>
  type === "NUMBER" || overagePercent === 0 ? undefined : "is for entitlements of the type NUMBER only"
