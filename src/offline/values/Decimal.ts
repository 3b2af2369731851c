/** Exact decimals as whole numbers of the smallest unit. */
import { remembered } from "./Remembered.ts"

const DIGITS = 64

const UNIT = 10n ** BigInt(DIGITS)

const HUNDRED = 100n * UNIT

export const UNLIMITED = -UNIT

/** A limit with an overage in percent of it. */
export const capOf = (limit: bigint, percent: bigint): bigint =>
  percent > 0n ? (limit * (HUNDRED + percent)) / HUNDRED : limit

const DECIMAL = /^(-?)(\d{1,64})(?:\.(\d{1,64}))?$/

const decimalOfText = remembered((text) => {
  const [, sign, whole = "", fraction = ""] = DECIMAL.exec(text) ?? []
  return sign === undefined ? undefined : BigInt(sign + whole + fraction.padEnd(DIGITS, "0"))
})

/** A text, or a number as it is printed. Of other values, a text that is no decimal. */
export const printed = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : ""

/** The decimal of a text or of a number as it is printed, `undefined` if there is none. */
export const decimalOf = (value: unknown): bigint | undefined => decimalOfText(printed(value))

/** The text of a decimal, without zeros at its end. */
export const textOf = (decimal: bigint): string => {
  const whole = decimal / UNIT
  if (whole * UNIT === decimal) return String(whole)
  const digits = String(decimal < 0n ? -decimal : decimal).padStart(DIGITS + 1, "0")
  const fraction = digits.slice(-DIGITS).replace(/0+$/, "")
  return (decimal < 0n ? "-" : "") + digits.slice(0, -DIGITS) + (fraction === "" ? "" : `.${fraction}`)
}
