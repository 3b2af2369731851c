/**
 * JSON numbers without loss of digits. A JavaScript number holds about 16 digits, amounts have 18. A number that would
 * lose digits therefore keeps its text, on the way from the request to a decimal and from there to the response.
 *
 * The types call both forms `number`, because both are JSON numbers. Do not calculate with them: {@link
 * decimalOfAmount} converts them to decimals, {@link amountOf} converts the results back.
 */
import { BigDecimal, Effect, Option, Predicate, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { parseJsonText } from "./JsonText.ts"

export const zero = BigDecimal.fromBigInt(0n)
export const one = BigDecimal.fromBigInt(1n)
export const hundred = BigDecimal.fromBigInt(100n)
export const hundredth = BigDecimal.make(1n, 2)

/** The limit that means "no limit". */
export const unlimited = BigDecimal.fromBigInt(-1n)

/** The maximum digits of an amount, before and after its point together. */
export const MAX_DIGITS = 18

const LARGEST = 10n ** BigInt(MAX_DIGITS)

/** Whether the number, written without an exponent, has at most {@link MAX_DIGITS} digits. */
export const isStorable = (value: BigDecimal.BigDecimal): boolean => {
  if (value.scale === 0 && value.value < LARGEST && value.value > -LARGEST) return true
  const { scale, value: digits } = BigDecimal.normalize(value)
  const length = digits.toString().replace("-", "").length
  return length <= MAX_DIGITS && scale <= MAX_DIGITS && length - scale <= MAX_DIGITS
}

/** Whether the number is an integer. */
export const isWhole = (value: BigDecimal.BigDecimal): boolean => BigDecimal.normalize(value).scale <= 0

// More digits than an amount may have are read, so that the error can say so.
const NUMERIC = /^[+-]?\d{1,64}(?:\.\d{1,64})?(?:[eE][+-]?\d{1,3})?$/

/** The decimal of a JSON number or a numeric text, with all digits that were sent; `undefined` if it is neither. */
export const parseDecimal = (value: unknown): BigDecimal.BigDecimal | undefined => {
  if (isAmount(value)) return decimalOfAmount(value)
  return typeof value === "string" && NUMERIC.test(value)
    ? BigDecimal.fromStringUnsafe(value.replace(/^\+/, ""))
    : undefined
}

/** A raw JSON value, which `JSON.stringify` writes unchanged. */
interface NumberText {
  readonly rawJSON: string
}

// Typed here because ES2026 adds them. API clients may run on older engines, where all numbers are JavaScript numbers.
const json = JSON as unknown as {
  readonly rawJSON: (text: string) => NumberText
  readonly isRawJSON?: (value: unknown) => value is NumberText
}

const isNumberText = (value: unknown): value is NumberText => json.isRawJSON?.(value) === true

/** Whether a value is a JSON number with any number of digits. */
export const isAmount = (value: unknown): value is number => Number.isFinite(value) || isNumberText(value)

/** The schema of an amount in a response. The OpenAPI documents and clients see a number. */
export const Amount = Schema.Any.check(
  Schema.makeFilter(isAmount, { expected: "a finite number", toJsonSchema: () => ({ type: "number" }) }),
) as unknown as Schema.Codec<number>

const WHOLE = /^-?\d+$/

/** Parses a decimal. Most amounts are integers, and the fast path for them takes a fifth of the time. */
export const decimalOfText = (text: string): Option.Option<BigDecimal.BigDecimal> =>
  WHOLE.test(text) ? Option.some(BigDecimal.fromBigInt(BigInt(text))) : BigDecimal.fromString(text)

/** Parses the text of a `numeric` column. */
export const storedDecimal = (text: string): BigDecimal.BigDecimal => Option.getOrThrow(decimalOfText(text))

/** {@link storedDecimal}; zero if there is none. */
export const decimalOrZero = (text: string | null | undefined): BigDecimal.BigDecimal =>
  text === null || text === undefined ? zero : storedDecimal(text)

/** Converts a JSON number to a decimal. */
export const decimalOfAmount = (amount: number): BigDecimal.BigDecimal => {
  if (Number.isSafeInteger(amount)) return BigDecimal.fromBigInt(BigInt(amount))
  return isNumberText(amount) ? BigDecimal.fromStringUnsafe(amount.rawJSON) : BigDecimal.fromNumberUnsafe(amount)
}

/** The nearest JavaScript number. */
export const nearestNumber = (amount: number): number => (isNumberText(amount) ? Number(amount.rawJSON) : amount)

const MAX_ZEROS = 100

/** Formats a decimal. Uses an exponent only for more than a hundred zeros. */
export const decimalText = (decimal: BigDecimal.BigDecimal): string => {
  const { scale, value } = BigDecimal.normalize(decimal)
  if (Math.abs(scale) > MAX_ZEROS) return BigDecimal.format(decimal)
  const digits = (value < 0n ? -value : value).toString()
  const sign = value < 0n ? "-" : ""
  if (scale <= 0) return sign + digits + "0".repeat(-scale)
  const padded = digits.padStart(scale + 1, "0")
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

// A JavaScript number represents any 15 digits exactly.
const SAFE_DIGITS = 15

const SAFE_BOUND = 10n ** BigInt(SAFE_DIGITS)

/** Converts a decimal to a JSON number. */
export const amountOf = (decimal: BigDecimal.BigDecimal): number => {
  if (decimal.value < SAFE_BOUND && decimal.value > -SAFE_BOUND) {
    return decimal.scale === 0 ? Number(decimal.value) : BigDecimal.toNumberUnsafe(decimal)
  }
  const text = decimalText(decimal)
  return String(Number(text)) === text ? Number(text) : (json.rawJSON(text) as unknown as number)
}

// More digits cannot be stored. One more digit after them is enough to keep the number larger.
const MAX_PARSED_DIGITS = 64

/** Removes trailing zeros of the fraction and truncates it to the digits that can be stored. */
const shortened = (source: string): string => {
  const point = source.indexOf(".")
  if (point === -1) return source
  let end = source.length
  while (source[end - 1] === "0") end--
  if (end === point + 1) return source.slice(0, point)
  return end > MAX_PARSED_DIGITS && point < MAX_PARSED_DIGITS
    ? `${source.slice(0, MAX_PARSED_DIGITS)}1`
    : source.slice(0, end)
}

const EXPONENT = /^(-?[\d.]+)[eE]([+-]?\d+)$/

// A JavaScript number has no greater exponent. Decimals with greater ones take long to compare.
const MAX_EXPONENT = 400

// A number that is not zero and has more digits than can be stored, however many these are.
const TOO_SMALL = `1e-${MAX_EXPONENT}`

const exactWithExponent = (value: number, mantissa: string, exponent: number): unknown => {
  const digits = shortened(mantissa)
  if (!/[1-9]/.test(digits)) return value
  if (Math.abs(exponent) > MAX_EXPONENT || digits.length > MAX_PARSED_DIGITS + 1) return json.rawJSON(TOO_SMALL)
  const decimal = BigDecimal.fromStringUnsafe(`${digits}e${exponent}`)
  return BigDecimal.equals(decimal, BigDecimal.fromNumberUnsafe(value)) ? value : json.rawJSON(decimalText(decimal))
}

// Numbers too large to be stored remain JavaScript numbers.
const exact = (value: number, source: string): unknown => {
  if (!Number.isFinite(value)) return value
  const [, mantissa, exponent] = EXPONENT.exec(source) ?? []
  if (mantissa !== undefined) return exactWithExponent(value, mantissa, Number(exponent))
  if (source.length <= SAFE_DIGITS) return value
  const text = shortened(source)
  return String(value) === text || text.length > MAX_PARSED_DIGITS + 1 ? value : json.rawJSON(text)
}

// A text that matches none of them contains no number of more than 15 digits and none with an exponent. One expression for
// both takes twice as long.
const MANY_DIGITS = /[\d.]{16}/
const LIKE_AN_EXPONENT = /\d[eE][+-]?\d/
// What ids such as `0198-1e11` do not match.
const ENDS_IN_EXPONENT = /\d[eE][+-]?\d+(?:[\s,\]}]|$)/

/** Whether a JSON text may contain a number that a JavaScript number does not hold, or that cannot be stored. */
export const mayLoseDigits = (text: string): boolean =>
  MANY_DIGITS.test(text) || (LIKE_AN_EXPONENT.test(text) && ENDS_IN_EXPONENT.test(text))

/** Parses JSON. Numbers keep all their digits. */
export const parseJson = (text: string): unknown =>
  mayLoseDigits(text)
    ? parseJsonText(text, (_key, value, { source }) =>
        typeof value === "number" && source !== undefined ? exact(value, source) : value,
      )
    : parseJsonText(text)

/** The path of an amount in a payload, by property names. An array on the path stands for all its items. */
type PropertyPath = ReadonlyArray<string>

const withDigits = (payload: unknown, sent: unknown, path: PropertyPath): unknown => {
  if (Array.isArray(payload)) {
    return payload.map((item, index) => withDigits(item, Array.isArray(sent) ? sent[index] : undefined, path))
  }
  const [name, ...rest] = path
  if (name === undefined) return typeof payload === "number" && isNumberText(sent) ? sent : payload
  if (!Predicate.isObject(payload) || !Predicate.isObject(sent)) return payload
  if (!Object.hasOwn(payload, name) || !Object.hasOwn(sent, name)) return payload
  return { ...payload, [name]: withDigits(Reflect.get(payload, name), Reflect.get(sent, name), rest) }
}

/** Restores the digits that were sent in the amounts of a decoded payload. Most payloads are returned unchanged. */
export const withSentDigits = <A>(
  payload: A,
  ...paths: ReadonlyArray<PropertyPath>
): Effect.Effect<A, never, HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.map(Effect.orDie(request.text), (text) => {
      if (!mayLoseDigits(text)) return payload
      const sent = parseJson(text)
      return paths.reduce<unknown>((restored, path) => withDigits(restored, sent, path), payload) as A
    }),
  )
