/**
 * Amounts have up to 18 digits; a JavaScript number keeps 15. So JSON is read such that a number which would be rounded stays
 * text, and is written as it was. Inside free JSON, such as metadata, it stays a number of its own kind: there a text is
 * something else. Rounded numbers are only for the length of bars.
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

/** A number with more digits than a JavaScript number holds. JSON has all of them. */
export class ExactNumber {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }

  toString(): string {
    return this.digits
  }

  toJSON(): unknown {
    return json.rawJSON === undefined ? Number(this.digits) : json.rawJSON(this.digits)
  }
}

/** The digits of a decimal without sign, point and surrounding zeros: equal for `1.50` and `1.5`. */
const digitsOf = (text: string): string => {
  const [whole = "", fraction = ""] = text.replace(/^-/, "").split(".")
  const decimals = fraction.replace(/0+$/, "")
  return `${whole.replace(/^0+(?=\d)/, "")}${decimals === "" ? "" : `.${decimals}`}`
}

const isRounded = (value: number, source: string): boolean =>
  /^-?\d+(\.\d+)?$/.test(source) && digitsOf(String(value)) !== digitsOf(source)

/** Properties that hold JSON of any shape. Only inside them can a text and a number have different meanings. */
const FREE = new Set(["metadata", "settings", "values", "jsonSchema", "settings_schema", "schema", "data", "previous"])

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** Writes exact numbers as text, except inside free JSON: objects in `value`, and everything in the properties of that kind. */
const withAmounts = (value: unknown): unknown => {
  if (value instanceof ExactNumber) return value.digits
  if (Array.isArray(value)) return value.map(withAmounts)
  if (!isObject(value)) return value
  const isFree = (name: string, member: unknown) =>
    FREE.has(name) || (name === "value" && isObject(member) && !(member instanceof ExactNumber))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isFree(name, member) ? member : withAmounts(member)]),
  )
}

/** Parses JSON of the service without loss: an amount that would be rounded stays text. */
export const parseExact = (text: string): unknown => {
  let isExact = true
  const parsed = json.parse(text, (_key, value, context) => {
    if (typeof value !== "number" || context?.source === undefined || !isRounded(value, context.source)) return value
    isExact = false
    return new ExactNumber(context.source)
  })
  return isExact ? parsed : withAmounts(parsed)
}

/** Whether a text is a number that no JavaScript number holds, as {@link parseExact} leaves it. */
export const isRoundedText = (text: string): boolean => isRounded(Number(text), text)

/** Parses JSON that is sent again: a number that would be rounded is written with all its digits. */
export const parseForBody = (text: string): unknown =>
  json.parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined ? exactNumber(context.source) : value,
  )

/** The JSON object of a text for a body, or `undefined` if the text is something else. */
export const objectForBody = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value = parseForBody(text)
    return isObject(value) && !Array.isArray(value) && !(value instanceof ExactNumber) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** The number of a text for a body. A number that would be rounded is written with all its digits. */
export const exactNumber = (text: string): number => {
  const value = Number(text)
  return Number.isFinite(value) && isRounded(value, text) ? (new ExactNumber(text) as unknown as number) : value
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** A number that was typed, for a body. What is none stays text, so that the service says what is wrong with it. */
export const numberOrText = (text: string): number | string =>
  NUMBER.test(text.trim()) && Number.isFinite(Number(text)) ? exactNumber(text.trim()) : text

/** The notation of dates and numbers. The words are English, so a reader of another language gets an English notation with them. */
export const LOCALE: string | undefined =
  typeof navigator === "undefined" || /^en\b/i.test(navigator.language) ? undefined : "en-GB"

const formatter = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 18 })

/** An amount in the reader's notation. `Intl` writes text exactly. */
export const formatAmount = (amount: Amount): string => formatter.format(amount as Intl.StringNumericLiteral)

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

/** `a + b`, exactly. */
export const sum = (a: Amount, b: Amount): Amount => difference(a, difference(0, b))

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
