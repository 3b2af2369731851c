/** Equality of JSON values, and multiples of numbers. Pure. */
import { Predicate } from "effect"

/** The canonical text of a JSON value. Two values have the same text if and only if they are equal as JSON. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!Predicate.isObject(value)) return JSON.stringify(value)
  const properties = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${properties.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`
}

const decimal = (value: number): { readonly digits: bigint; readonly exponent: number } => {
  const [mantissa = "0", exponent = "0"] = String(value).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** Whether a number is a multiple of another, with exact decimal arithmetic: 19.99 is a multiple of 0.01. */
export const isMultiple = (value: number, of: number): boolean => {
  const a = decimal(value)
  const b = decimal(of)
  const exponent = Math.min(a.exponent, b.exponent)
  const scaled = (number: typeof a) => number.digits * 10n ** BigInt(number.exponent - exponent)
  return scaled(a) % scaled(b) === 0n
}
