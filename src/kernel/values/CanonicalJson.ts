/**
 * The canonical text of a JSON document: equal for texts that have the same value, whatever their order of properties,
 * spacing, escapes and spelling of numbers. Numbers are compared by their digits, because doubles would make large ones
 * equal. Pure.
 */
import { parseJsonText } from "./JsonText.ts"

// Typed here because ES2026 adds them.
const json = JSON as unknown as {
  readonly rawJSON: (text: string) => object
  readonly isRawJSON: (value: unknown) => boolean
}

/** Doubles represent distinct numbers of up to this many digits distinctly, unless the exponent is extreme. */
const SAFE_DIGITS = 15
const SAFE_EXPONENT = 290

// No number with a longer exponent is accepted anywhere, and long ones take long to add.
const MAX_EXPONENT_LENGTH = 32

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** A number as its digits, without zeros at both ends, and an exponent: `1.0` and `10e-1` are `1e0`. As a double where that is exact. */
const exactNumber = (value: number, source: string): unknown => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(source) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, "")
  if (digits === "") return 0
  if (exponent.length > MAX_EXPONENT_LENGTH) return json.rawJSON(source)
  let end = digits.length
  // A regular expression would search for the end from each zero.
  while (digits[end - 1] === "0") end--
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - end)
  return end <= SAFE_DIGITS && power < SAFE_EXPONENT && power > -SAFE_EXPONENT
    ? value
    : json.rawJSON(`${sign}${digits.slice(0, end)}e${power}`)
}

// A text without one of these has only numbers that doubles hold.
const MAY_BE_INEXACT = /[\d.]{16}|[eE][+-]?\d{3}/

const parseExact = (text: string): unknown =>
  MAY_BE_INEXACT.test(text)
    ? parseJsonText(text, (_key, value, { source }) =>
        typeof value === "number" && source !== undefined ? exactNumber(value, source) : value,
      )
    : parseJsonText(text)

/** Sorts the properties of all objects by their names. */
const sorted = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || json.isRawJSON(value)) return value
  if (Array.isArray(value)) return value.map(sorted)
  // Without a prototype, `__proto__` is a name like any other.
  const members = Object.create(null) as Record<string, unknown>
  for (const name of Object.keys(value).sort()) members[name] = sorted(Reflect.get(value, name))
  return members
}

/**
 * The canonical text of a JSON text. If a name occurs twice, the last property counts, as for `JSON.parse`. A text that
 * is not JSON, or too deep to be read, is returned as it is.
 */
export const canonicalJson = (text: string): string => {
  try {
    return JSON.stringify(sorted(parseExact(text)))
  } catch {
    return text
  }
}
