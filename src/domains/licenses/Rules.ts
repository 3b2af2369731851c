/** Rules of licenses. Pure. */
import { BigDecimal, Predicate } from "effect"
import type { EntitlementType } from "../entitlements/Model.ts"
import { decimalOfAmount, isAmount, MAX_DIGITS, unlimited } from "../../kernel/values/Decimal.ts"
import { isAddOn } from "./Model.ts"
import type { Combine, GrantValue, Kind, License } from "./Model.ts"

export const PASSES_LAST_YEAR =
  "must end within the year 9999 for each instance of the license; an end date of null never ends"

type Candidate = Pick<License, "version" | "isDefault" | "lifecycleState">

/**
 * The version that a family resolves to: its default, otherwise its highest published version. Returns `undefined` if
 * no version is published.
 */
export const currentVersion = <Version extends Candidate>(versions: ReadonlyArray<Version>): Version | undefined => {
  const published = versions.filter((version) => version.lifecycleState === "PUBLISHED")
  return (
    published.find((version) => version.isDefault) ??
    published.toSorted((left, right) => Number(right.version) - Number(left.version))[0]
  )
}

const MAX_SLUG_LENGTH = 100
const SUFFIX_LENGTH = 7

/**
 * The default slug of a version after the first. Truncates a long family slug, so that the result fits into 100
 * characters even with a random suffix.
 */
export const slugOfVersion = (familySlug: string, version: number): string => {
  const ending = `-v${version}`
  const beginning = familySlug.slice(0, MAX_SLUG_LENGTH - SUFFIX_LENGTH - ending.length)
  return `${beginning.replace(/-+$/, "")}${ending}`
}

/** Why a license cannot be archived. The state is checked before the default. */
export const archiveRejection = (license: Candidate): "not-published" | "default" | undefined => {
  if (license.lifecycleState !== "PUBLISHED") return "not-published"
  return license.isDefault ? "default" : undefined
}

/** The number of digits of the value, written without an exponent. */
const digitsOf = (value: BigDecimal.BigDecimal): number => {
  const { value: digits, scale } = BigDecimal.normalize(BigDecimal.abs(value))
  const length = digits.toString().length
  return scale < 0 ? length - scale : Math.max(length, scale)
}

const numberError = (value: GrantValue): string | undefined => {
  if (!isAmount(value)) return "must be a number: the entitlement has the type NUMBER"
  const decimal = decimalOfAmount(value)
  if (BigDecimal.isNegative(decimal) && !BigDecimal.equals(decimal, unlimited))
    return "must be at least 0, or -1 for unlimited"
  return digitsOf(decimal) > MAX_DIGITS ? `must have at most ${MAX_DIGITS} digits` : undefined
}

/** The validation message if the value does not fit the type of the entitlement. */
export const valueError = (type: EntitlementType, value: GrantValue): string | undefined => {
  switch (type) {
    case "NUMBER":
      return numberError(value)
    case "BOOLEAN":
      return Predicate.isBoolean(value) ? undefined : "must be true or false: the entitlement has the type BOOLEAN"
    case "CONFIG":
      return Predicate.isObject(value) && !isAmount(value)
        ? undefined
        : "must be an object: the entitlement has the type CONFIG"
  }
}

/** The validation message if the type cannot have an overage. Only numbers can be exceeded. */
export const overageError = (type: EntitlementType, overagePercent: number | null): string | undefined =>
  type === "NUMBER" || overagePercent === 0 || overagePercent === null
    ? undefined
    : "must be 0 unless the entitlement has the type NUMBER"

/** The validation message if a family has versions of the other kind: all of them are add-ons, or none is. */
export const kindError = (family: Kind, version: Kind): string | undefined => {
  if (isAddOn(family) === isAddOn(version)) return undefined
  return isAddOn(family)
    ? "must be ADD_ON, as all versions of the family are"
    : "must not be ADD_ON, because other versions of the family are licenses"
}

/** The validation message if an add-on has days of grace: it lasts as long as the license of its instance. */
export const graceError = (license: Kind & Pick<License, "graceDays">): string | undefined =>
  isAddOn(license) && license.graceDays !== 0 ? "must be 0 with the type ADD_ON" : undefined

/** How an add-on can change what is granted of each type. The first one is the default. */
const combines: Readonly<Record<EntitlementType, readonly [Combine, ...Array<Combine>]>> = {
  NUMBER: ["ADD", "MAX", "SET"],
  BOOLEAN: ["MAX", "SET"],
  CONFIG: ["SET"],
}

/** How an add-on changes what is granted, if its grant does not say so. */
export const defaultCombine = (type: EntitlementType): Combine => combines[type][0]

/** The validation message if a grant of this license cannot combine so. */
export const combineError = (
  license: Kind,
  type: EntitlementType,
  combine: Combine | undefined,
): string | undefined => {
  if (combine === undefined) return undefined
  if (!isAddOn(license)) return "must be omitted: the license has not the type ADD_ON"
  return combines[type].includes(combine)
    ? undefined
    : `must be ${combines[type].join(" or ")}: the entitlement has the type ${type}`
}

/** The validation message if a grant of this license must state its overage. */
export const statedError = (license: Kind, overagePercent: number | null): string | undefined =>
  overagePercent === null && !isAddOn(license) ? "must be a number: only add-ons can state none" : undefined
