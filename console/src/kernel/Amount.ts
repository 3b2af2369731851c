/**
 * Amounts have up to 18 digits; a JavaScript number keeps 15. So JSON is read such that a number which would be rounded stays
 * text, and is written as it was. Rounded numbers are only for the length of bars.
 */

/** A number, or the text of one that no JavaScript number holds. */
export type Amount = number | string

interface JsonWithSource {
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown
  readonly rawJSON?: (text: string) => unknown
}

const json = JSON as unknown as JsonWithSource

/** The digits of a decimal without sign, point and surrounding zeros: equal for `1.50` and `1.5`. */
const digitsOf = (text: string): string => {
  const [whole = "", fraction = ""] = text.replace(/^-/, "").split(".")
  const decimals = fraction.replace(/0+$/, "")
  return `${whole.replace(/^0+(?=\d)/, "")}${decimals === "" ? "" : `.${decimals}`}`
}

const isRounded = (value: number, source: string): boolean =>
  /^-?\d+(\.\d+)?$/.test(source) && digitsOf(String(value)) !== digitsOf(source)

/** Parses JSON without loss: numbers that would be rounded stay text. */
export const parseExact = (text: string): unknown =>
  json.parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && isRounded(value, context.source)
      ? context.source
      : value,
  )

/** Whether a text is a number that no JavaScript number holds, as {@link parseExact} leaves it. */
export const isRoundedText = (text: string): boolean => isRounded(Number(text), text)

/** Parses JSON that is sent again: a number that would be rounded is written with all its digits. */
export const parseForBody = (text: string): unknown =>
  json.parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined ? exactNumber(context.source) : value,
  )

/** The number of a text for a body. A number that would be rounded is written with all its digits. */
export const exactNumber = (text: string): number => {
  const value = Number(text)
  return Number.isFinite(value) && isRounded(value, text) && json.rawJSON !== undefined
    ? (json.rawJSON(text) as number)
    : value
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** A number that was typed, for a body. What is none stays text, so that the service says what is wrong with it. */
export const numberOrText = (text: string): number | string =>
  NUMBER.test(text.trim()) && Number.isFinite(Number(text)) ? exactNumber(text.trim()) : text

const formatter = new Intl.NumberFormat(undefined, { maximumFractionDigits: 18 })
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 })

/** An amount in the reader's notation. `Intl` writes text exactly. */
export const formatAmount = (amount: Amount): string => formatter.format(amount as Intl.StringNumericLiteral)

/** A share of one, such as 0.8, as a percentage. */
export const formatShare = (share: number): string => percent.format(share)

/** For bars and comparisons only. */
export const approximate = (amount: Amount): number => Number(amount)

/** An amount of text as a decimal of 18 places, for exact differences. */
const scaled = (amount: Amount): bigint | undefined => {
  const text = typeof amount === "number" ? decimalText(amount) : amount
  const match = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign = "", whole = "0", fraction = ""] = match
  const value = BigInt(whole + fraction.padEnd(18, "0"))
  return sign === "-" ? -value : value
}

const decimalText = (value: number): string => {
  const text = String(value)
  return text.includes("e") ? value.toFixed(18).replace(/\.?0+$/, "") : text
}

/** `a - b`, exactly. */
export const difference = (a: Amount, b: Amount): Amount => {
  const [left, right] = [scaled(a), scaled(b)]
  if (left === undefined || right === undefined) return approximate(a) - approximate(b)
  const result = left - right
  const digits = (result < 0n ? -result : result).toString().padStart(19, "0")
  const text = `${result < 0n ? "-" : ""}${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/\.?0+$/, "")
  const value = Number(text)
  return isRounded(value, text) ? text : value
}
