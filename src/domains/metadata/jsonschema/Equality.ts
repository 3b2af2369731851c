/** When two JSON values are the same, and whether a number is a multiple of another. Pure. */
import { Predicate } from "effect"

/** A text that two values share exactly if they are equal as JSON: members have no order, `1.0` is `1`. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!Predicate.isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`
}

const decimal = (value: number): { readonly digits: bigint; readonly exponent: number } => {
  const [mantissa = "0", exponent = "0"] = String(value).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** Exact in decimals: 19.99 is a multiple of 0.01. */
export const isMultiple = (value: number, of: number): boolean => {
  const a = decimal(value)
  const b = decimal(of)
  const least = Math.min(a.exponent, b.exponent)
  const scaled = (number: typeof a) => number.digits * 10n ** BigInt(number.exponent - least)
  return scaled(a) % scaled(b) === 0n
}
