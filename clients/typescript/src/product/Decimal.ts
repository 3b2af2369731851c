/** Exact decimals as texts, and JSON that keeps all their digits: a JavaScript number would round them. */

/** An amount. A text is a decimal such as `"0.5"`; a number is read as it is printed. */
export type Amount = string | number | bigint

const DECIMAL = /^(-?)(\d{1,64})(?:\.(\d{1,64}))?$/
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

/** The decimal of a JSON number, without exponent and without zeros at its ends. `undefined` if there is none. */
const plainOf = (text: string): string | undefined => {
  const [, sign, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? []
  if (sign === undefined) return undefined
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  const shown = point < 0 ? "0".repeat(-point) + digits : digits.padEnd(point, "0")
  const before = shown.slice(0, Math.max(0, point)).replace(/^0+/, "") || "0"
  const after = shown.slice(Math.max(0, point)).replace(/0+$/, "")
  const plain = after === "" ? before : `${before}.${after}`
  return plain === "0" ? plain : sign + plain
}

/** The decimal of an amount in its shortest form. Throws `RangeError` if there is none. */
export const decimalOf = (amount: Amount): string => {
  const isText = typeof amount === "string" && DECIMAL.test(amount)
  const isNumber = typeof amount === "bigint" || (typeof amount === "number" && Number.isFinite(amount))
  const plain = isText || isNumber ? plainOf(String(amount)) : undefined
  if (plain === undefined) throw new RangeError(`${JSON.stringify(String(amount))} is not a decimal`)
  return plain
}

/** How many digits a decimal has before and after its point. */
const digitsOf = (decimal: string): number => decimal.replace(/^-?0*/, "").replace(".", "").length

/** The maximum digits of an amount, as the service counts them. */
const MAX_DIGITS = 18

/** The decimal of an amount that the service can count. Throws `RangeError` if it cannot. */
export const amountOf = (amount: Amount): string => {
  const decimal = decimalOf(amount)
  if (digitsOf(decimal) > MAX_DIGITS) throw new RangeError(`An amount has at most ${MAX_DIGITS} digits: ${decimal}`)
  return decimal
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** Parses JSON. Numbers become their decimal texts. Throws `SyntaxError`. */
export const parseExactly = (text: string): unknown => {
  JSON.parse(text)
  return JSON.parse(text.replaceAll(TOKEN, (token) => (token.startsWith('"') ? token : `"${plainOf(token) ?? token}"`)))
}
