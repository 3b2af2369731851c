/**
 * Semantic versions (semver.org 2.0.0) of any size: numbers are compared as digits, because build numbers made of a date and a
 * counter are longer than a JavaScript number holds.
 */
import { isText } from "./Unknown.ts"

// No released version is longer, and parsing takes time for each character.
const MAX_VERSION_LENGTH = 256

/** A version without its build, which does not count in comparisons. */
interface Version {
  /** Major, minor and patch, in digits. */
  readonly core: ReadonlyArray<string>
  /** The identifiers of a pre-release; none for a release. */
  readonly prerelease: ReadonlyArray<string>
}

const VERSION = /^([^-+]*)(?:-([^+]*))?(?:\+(.*))?$/s
const NUMBER = /^(?:0|[1-9]\d*)$/
const DIGITS = /^\d+$/
const IDENTIFIER = /^[0-9A-Za-z-]+$/

const isPrereleaseIdentifier = (text: string): boolean =>
  IDENTIFIER.test(text) && (!DIGITS.test(text) || NUMBER.test(text))

/** Parses a semantic version of at most 256 characters; `undefined` if it is none. */
export const parseVersion = (value: unknown): Version | undefined => {
  if (!isText(value) || value.length > MAX_VERSION_LENGTH) return undefined
  const [, numbers = "", identifiers, build] = VERSION.exec(value) ?? []
  const core = numbers.split(".")
  const prerelease = identifiers?.split(".") ?? []
  const isValid =
    core.length === 3 &&
    core.every((text) => NUMBER.test(text)) &&
    prerelease.every(isPrereleaseIdentifier) &&
    (build?.split(".") ?? []).every((text) => IDENTIFIER.test(text))
  return isValid ? { core, prerelease } : undefined
}

const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

// Without leading zeros the longer number is the greater one.
const byNumber = (one: string, other: string): number => one.length - other.length || byText(one, other)

// Numbers come before other identifiers, which are in the order of ASCII.
const byIdentifier = (one: string, other: string): number => {
  const [isNumber, isOtherNumber] = [DIGITS.test(one), DIGITS.test(other)]
  if (isNumber && isOtherNumber) return byNumber(one, other)
  return isNumber ? -1 : isOtherNumber ? 1 : byText(one, other)
}

/** By the first items that differ. A list that begins another one comes before it. */
const byItems = (
  order: (one: string, other: string) => number,
  list: ReadonlyArray<string>,
  others: ReadonlyArray<string>,
): number => {
  for (const [index, one] of list.entries()) {
    const other = others[index]
    const found = other === undefined ? 1 : order(one, other)
    if (found !== 0) return found
  }
  return list.length - others.length
}

/** The precedence of versions: negative if the first is lower, positive if it is higher. */
export const comparePrecedence = (one: Version, other: Version): number => {
  const byCore = byItems(byNumber, one.core, other.core)
  if (byCore !== 0) return byCore
  // A release comes after its pre-releases.
  const [isRelease, isOtherRelease] = [one.prerelease.length === 0, other.prerelease.length === 0]
  if (isRelease || isOtherRelease) return Number(isRelease) - Number(isOtherRelease)
  return byItems(byIdentifier, one.prerelease, other.prerelease)
}
