/**
 * Semantic versions (semver.org 2.0.0) of any size: numbers are compared as digits. Effect's `SemVer` reads only numbers
 * below 2^53, although build numbers made of a date and a counter are longer. Pure.
 */
import { Option, Order, Predicate } from "effect"

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

/** Parses a semantic version of at most 256 characters. */
export const parseVersion = (value: unknown): Option.Option<Version> => {
  if (!Predicate.isString(value) || value.length > MAX_VERSION_LENGTH) return Option.none()
  const [, numbers = "", identifiers, build] = VERSION.exec(value) ?? []
  const core = numbers.split(".")
  const prerelease = identifiers?.split(".") ?? []
  const isValid =
    core.length === 3 &&
    core.every((text) => NUMBER.test(text)) &&
    prerelease.every(isPrereleaseIdentifier) &&
    (build?.split(".") ?? []).every((text) => IDENTIFIER.test(text))
  return isValid ? Option.some({ core, prerelease }) : Option.none()
}

// Without leading zeros the longer number is the greater one.
const byNumber = Order.combine(
  Order.mapInput(Order.Number, (digits: string) => digits.length),
  Order.String,
)

// Numbers come before other identifiers, which are in the order of ASCII.
const byIdentifier: Order.Order<string> = (one, other) => {
  const [isNumber, isOtherNumber] = [DIGITS.test(one), DIGITS.test(other)]
  if (isNumber && isOtherNumber) return byNumber(one, other)
  return isNumber ? -1 : isOtherNumber ? 1 : Order.String(one, other)
}

// A release comes after its pre-releases.
const byPrerelease = Order.combine(
  Order.mapInput(Order.Boolean, (identifiers: ReadonlyArray<string>) => identifiers.length === 0),
  Order.Array(byIdentifier),
)

/** The precedence of versions. */
export const byPrecedence: Order.Order<Version> = Order.combine(
  Order.mapInput(Order.Array(byNumber), ({ core }: Version) => core),
  Order.mapInput(byPrerelease, ({ prerelease }: Version) => prerelease),
)
